"""kafka: a throw-away Apache Kafka."""

from pipelines.settings.keys import MAX_PORT

from .call import Call
from .options import Command, option, whole_number


def run(call: Call) -> int:
    """Run it until SIGINT or SIGTERM."""
    from pipelines.embedded.command import run_kafka

    return run_kafka(
        brokers=call.arguments.brokers,
        port=call.arguments.port,
        security_protocol=call.arguments.security,
        java=call.java,
    )


COMMAND = Command(
    name="kafka",
    help="Run a temporary Apache Kafka until Ctrl-C",
    options=(
        option(
            "--brokers",
            "Number of brokers (default: 1)",
            type=whole_number(1),
            default=1,
        ),
        option(
            "--port",
            "Port of the first broker (default: a free port)",
            type=whole_number(0, MAX_PORT),
            default=0,
        ),
        option(
            "--security",
            "Protocol of the clients' listener (default: PLAINTEXT)",
            choices=("PLAINTEXT", "SASL_SSL"),
            default="PLAINTEXT",
        ),
    ),
    needs_checkout=True,
    run=run,
)
