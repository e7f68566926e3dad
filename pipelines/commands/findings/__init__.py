"""findings: what is wrong with clients, since when, and what to set."""

from pipelines.commands.call import Call
from pipelines.commands.options import CONFIG, ENV, MOMENT, SET, Command, flag, option

CHECK = "check"
SEVERITIES = ("error", "warning", "advice")
CLIENT_TYPES = ("producer", "consumer", "share_consumer", "admin", "streams")


def run(call: Call) -> int:
    """Print findings; 1 where an error is among them."""
    words = call.arguments
    if words.action == CHECK:
        from .checking import check

        return check(call, print)
    if words.properties or words.client_type or words.software:
        words.parser.error("--properties, --client-type and --software go with check")
    from .answers import answer

    return answer(call, print)


COMMAND = Command(
    name="findings",
    help="print what is wrong with clients, since when, and what to set, the most "
    "severe first; exit code 1 where an error is among it",
    options=(
        option(
            "action",
            "check: what rules say of one file of properties, before anything is "
            "deployed; none: what the tables hold",
            nargs="?",
            choices=(CHECK,),
        ),
        option("--client-id", "only of this client.id", metavar="ID"),
        option("--principal", "only of this principal, as User:alice", metavar="NAME"),
        option("--rule", "only of this rule", metavar="NAME"),
        option(
            "--since",
            "only what began, or with --closed ended, since this moment: 2026-03-01 or "
            "2026-03-01T06:00, UTC unless it says otherwise",
            type=MOMENT,
            metavar="TIME",
        ),
        option("--severity", "only of this severity", choices=SEVERITIES),
        flag("--closed", "what is over as well"),
        flag("--silenced", "what is silenced as well"),
        flag("--rules", "print of how many clients each rule was asked instead"),
        option(
            "--properties",
            "check: properties of a Java client, or of librdkafka",
            metavar="FILE",
        ),
        option("--client-type", "check: what the client is", choices=CLIENT_TYPES),
        option(
            "--software",
            "check: what the client is made with, as apache-kafka-java=3.9.2 or "
            "librdkafka (default: apache-kafka-java; of the newest release that "
            "conf/config_catalog/ has)",
            metavar="NAME[=VERSION]",
        ),
        flag("--json", "print JSON"),
        ENV,
        CONFIG,
        SET,
    ),
    takes_spark_options=True,
    run=run,
)
