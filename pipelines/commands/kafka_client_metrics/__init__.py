"""kafka-client-metrics: subscriptions, in the words of Kafka's own tool."""

import sys

from pipelines.commands.call import Call
from pipelines.commands.options import Command, flag, option

from .options import OPTIONS


def run(call: Call) -> int:
    """Show or change them."""
    from . import answers

    arguments = call.arguments
    given = {
        name.removeprefix("--"): getattr(arguments, name.strip("-").replace("-", "_"))
        for name, _, _ in OPTIONS
    }

    def complain(line: str, shows_usage: bool) -> None:  # noqa: FBT001 - of two words
        print(line, file=sys.stderr)
        if shows_usage:
            arguments.parser.print_help(sys.stderr)

    return answers.run(given, say=print, complain=complain)


COMMAND = Command(
    name="kafka-client-metrics",
    help="List and alter subscriptions with the options of kafka-client-metrics.sh",
    options=tuple(
        option(name, text, metavar=value, action="append", default=[])
        if value
        else flag(name, text)
        for name, value, text in OPTIONS
    ),
    is_kafka_tool=True,
    run=run,
)
