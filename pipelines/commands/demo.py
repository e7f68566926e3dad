"""demo: everything, on this machine."""

import argparse

from pipelines.demo import MAX_CLIENTS, MAX_SAMPLE_CLIENTS, MIN_CLIENTS
from pipelines.errors import InvalidSetting

from .call import Call
from .options import MOMENT, Command, flag, option, whole_number

DURATION_S, SITE_DURATION_S, CLIENTS = 15, 120, 6
SAMPLE_CLIENTS, SAMPLE_HOURS = 1_000, 48
_SITE_LEAST_S = 30
_MIN_HOURS, _MAX_HOURS = 0.1, 720.0


def _parse_hours(text: str) -> float:
    try:
        hours = float(text)
    except ValueError:
        hours = 0.0
    if not _MIN_HOURS <= hours <= _MAX_HOURS:
        raise argparse.ArgumentTypeError(
            f"expected a number from {_MIN_HOURS:g} to {_MAX_HOURS:g}, got {text!r}"
        )
    return hours


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
    clients = call.arguments.clients
    if clients is not None and clients > MAX_CLIENTS and not call.arguments.sample:
        raise InvalidSetting(
            f"--clients: without --sample at most {MAX_CLIENTS}, got {clients}"
        )
    _check_sample(call)


def _check_sample(call: Call) -> None:
    """Refuse words that the sample does not know, or that only it knows.

    Raises: InvalidSetting.
    """
    given = call.arguments
    if not given.sample:
        if given.hours is not None or given.until is not None:
            raise InvalidSetting("--hours and --until go with --sample")
        return
    if given.site or given.keep or given.duration is not None:
        raise InvalidSetting(
            "--sample starts no client: leave out --site, --keep and --duration"
        )


def run(call: Call) -> int:
    """Run it to its end."""
    from .session import INTERPRETED

    _check(call)

    if call.arguments.sample:
        from pipelines.demo.sample import Sample

        sample = Sample(
            clients=call.arguments.clients or SAMPLE_CLIENTS,
            hours=call.arguments.hours or SAMPLE_HOURS,
            until=call.arguments.until,
        )
        return sample.run(call.session("demo", more=INTERPRETED))
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
            f"Kafka clients, half producers and half consumers (default: {CLIENTS}; "
            f"--sample: {SAMPLE_CLIENTS})",
            type=whole_number(MIN_CLIENTS, MAX_SAMPLE_CLIENTS),
            metavar="COUNT",
        ),
        flag(
            "--sample",
            "Write the tables of a sample fleet, without Kafka",
        ),
        option(
            "--hours",
            "With --sample: hours that the data covers, for example 48 or 0.2 "
            f"(default: {SAMPLE_HOURS})",
            type=_parse_hours,
            metavar="HOURS",
        ),
        option(
            "--until",
            "With --sample: end of the data, for example 2026-11-20T12:00:00Z "
            "(default: now)",
            type=MOMENT,
            metavar="TIME",
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
