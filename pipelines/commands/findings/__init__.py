"""findings: what is wrong with clients, since when, and what to set."""

from pipelines.commands.call import Call
from pipelines.commands.options import (
    CONFIG,
    ENV,
    MOMENT,
    SET,
    Action,
    Command,
    flag,
    option,
)

LIST, CHECK = ACTIONS = ("list", "check")
SEVERITIES = ("error", "warning", "advice")
CLIENT_TYPES = ("producer", "consumer", "share_consumer", "admin", "streams")


def run(call: Call) -> int:
    """Print findings; 1 where an error is among them."""
    words = call.arguments
    if words.action == CHECK:
        from .checking import check

        return check(call, print)
    from .answers import answer

    return answer(call, print)


_COMMON = (flag("--json", "Print JSON"), ENV, CONFIG, SET)


COMMAND = Command(
    name="findings",
    help="Print problems of clients and what to set; exit code 1 for an error",
    actions=(
        Action(
            name=LIST,
            help="Print the findings of the table client_findings",
            options=(
                option("--client-id", "Only this client ID", metavar="ID"),
                option(
                    "--principal", "Only this principal, as User:alice", metavar="NAME"
                ),
                option("--rule", "Only this rule", metavar="NAME"),
                option(
                    "--since",
                    "Only findings opened or closed since 2026-03-01T06:00, in UTC",
                    type=MOMENT,
                    metavar="TIME",
                ),
                option("--severity", "Only this severity", choices=SEVERITIES),
                flag("--closed", "Include closed findings"),
                flag("--silenced", "Include silenced findings"),
                flag("--rules", "Print how many clients each rule covered instead"),
                *_COMMON,
            ),
        ),
        Action(
            name=CHECK,
            help="Evaluate the rules against one file of client properties",
            options=(
                option(
                    "--properties",
                    "Properties of a Java client or librdkafka",
                    required=True,
                    metavar="FILE",
                ),
                option(
                    "--client-type",
                    "Type of the client",
                    required=True,
                    choices=CLIENT_TYPES,
                ),
                option(
                    "--software",
                    "Client software (default: apache-kafka-java, newest release)",
                    metavar="NAME[=VERSION]",
                ),
                *_COMMON,
            ),
        ),
    ),
    default_action=LIST,
    takes_spark_options=True,
    run=run,
)
