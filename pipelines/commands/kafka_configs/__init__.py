"""kafka-configs: limits and configs of clients, in the words of Kafka's own tool."""

import sys

from pipelines.commands.call import Call
from pipelines.commands.options import Command

from .options import OPTIONS


def run(call: Call) -> int:
    """Show or change them."""
    from . import answers

    def complain(line: str) -> None:
        print(line, file=sys.stderr)

    return answers.run(call.arguments, say=print, complain=complain)


COMMAND = Command(
    name="kafka-configs",
    help="List and alter quotas and client configs, as kafka-configs.sh does",
    options=OPTIONS,
    # A password of SCRAM stands among the words that Kafka's own tool takes.
    takes_secrets=True,
    run=run,
)
