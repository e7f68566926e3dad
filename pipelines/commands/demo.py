"""demo: everything, on this machine."""

from pipelines.demo import MAX_CLIENTS, MIN_CLIENTS
from pipelines.errors import InvalidSetting

from .call import Call
from .options import Command, flag, option, whole_number

DURATION_S, SITE_DURATION_S, CLIENTS = 15, 120, 6
_SITE_LEAST_S = 30


def _check(call: Call) -> None:
    """Refuse words that exclude each other.

    Raises: InvalidSetting.
    """
    if call.arguments.site and call.arguments.clients is not None:
        raise InvalidSetting(
            "--site has twelve clients of its own: leave out --clients"
        )
    seconds = call.arguments.duration
    if call.arguments.site and seconds is not None and seconds < _SITE_LEAST_S:
        raise InvalidSetting(
            f"--duration: --site needs at least {_SITE_LEAST_S} seconds, so that each "
            f"client pushes its metrics three times, got {seconds}"
        )
    if call.arguments.mend and not call.arguments.site:
        raise InvalidSetting("--mend goes with --site")


def run(call: Call) -> int:
    """Run it to its end."""
    from .session import INTERPRETED

    _check(call)

    session = call.session("demo", more=INTERPRETED)
    seconds = call.arguments.duration
    if call.arguments.site:
        from pipelines.demo.site import Site

        site = Site(
            duration_seconds=SITE_DURATION_S if seconds is None else seconds,
            is_mended=call.arguments.mend,
            is_kept=call.arguments.keep,
            java=call.java,
        )
        return site.run(session)
    from pipelines.demo.run import Demo

    demo = Demo(
        duration_seconds=DURATION_S if seconds is None else seconds,
        client_count=call.arguments.clients or CLIENTS,
        is_kept=call.arguments.keep,
        java=call.java,
    )
    return demo.run(session)


COMMAND = Command(
    name="demo",
    help="Run Kafka, bridge, clients and jobs on this machine, and print a summary",
    options=(
        option(
            "--duration",
            f"Minimum run time of the clients (default: {DURATION_S}; --site: "
            f"{SITE_DURATION_S}, 30 or more)",
            type=whole_number(0),
            metavar="SECONDS",
        ),
        option(
            "--clients",
            f"Kafka clients, half producers and half consumers (default: {CLIENTS})",
            type=whole_number(MIN_CLIENTS, MAX_CLIENTS),
            metavar="COUNT",
        ),
        flag(
            "--site",
            "Run a sample fleet: 3 brokers and 12 clients, 6 of them misconfigured",
        ),
        flag("--mend", "With --site: fix the six clients, then run again"),
        flag("--keep", "Keep everything running after the summary until Ctrl-C"),
    ),
    needs_checkout=True,
    run=run,
)
