"""demo: everything, on this machine."""

from pipelines.demo import MAX_CLIENTS, MIN_CLIENTS

from .call import Call
from .options import Command, flag, option, whole_number


def run(call: Call) -> int:
    """Run it to its end."""
    from pipelines.demo.run import Demo

    from .session import INTERPRETED

    demo = Demo(
        duration_seconds=call.arguments.duration,
        client_count=call.arguments.clients,
        is_kept=call.arguments.keep,
        java=call.java,
    )
    return demo.run(call.session("demo", more=INTERPRETED))


COMMAND = Command(
    name="demo",
    help="run everything on this machine: Kafka, bridge, clients, job, summary",
    options=(
        option(
            "--duration",
            "seconds that the clients run, at least (default: 15)",
            type=whole_number(0),
            default=15,
            metavar="SECONDS",
        ),
        option(
            "--clients",
            "Kafka clients, half producers and half consumers (default: 6)",
            type=whole_number(MIN_CLIENTS, MAX_CLIENTS),
            default=6,
            metavar="COUNT",
        ),
        flag("--keep", "keep everything running after the summary, until Ctrl-C"),
    ),
    run=run,
)
