"""Commands: a file a command, its options beside what it does.

Importing this imports no Spark, nor what a command alone needs.
"""

import argparse
from dataclasses import replace

from . import (
    bridge,
    client_configs_to_delta,
    client_telemetry_to_delta,
    client_wire_configs_to_delta,
    compact_tables,
    configs,
    demo,
    explain_rule,
    kafka,
    kafka_client_metrics,
    notebook,
    purge_secrets,
    push_config,
    replay_pushes,
    scram_credential,
    settings,
    shell,
    sql,
)
from .options import VERBOSE, CommandParser

USAGE_EXAMPLES = """\
examples:
  ./spark-submit.sh demo
  ./spark-submit.sh client_telemetry_to_delta --env cluster --master spark://host:7077
  ./spark-submit.sh sql "select * from clients"
  ./spark-submit.sh notebook notebooks/clients_overview.py
"""


COMMANDS = tuple(
    module.COMMAND
    for module in (
        demo,
        kafka,
        bridge,
        scram_credential,
        explain_rule,
        client_telemetry_to_delta,
        client_configs_to_delta,
        client_wire_configs_to_delta,
        replay_pushes,
        compact_tables,
        sql,
        configs,
        purge_secrets,
        shell,
        notebook,
        kafka_client_metrics,
        push_config,
        settings,
    )
)
"""In the order of the help."""
COMMANDS_BY_NAME = {
    command.name: replace(command, options=(*command.options, VERBOSE))
    for command in COMMANDS
}


def parse_words(words: list[str]) -> argparse.Namespace:
    """Read the words of one command; ends the process where they are wrong."""
    arguments, unknown = build_parser().parse_known_args(words)
    parser: CommandParser = arguments.parser
    if parser.is_kafka_tool:
        # Kafka's tools pass over words that are no options.
        unknown = [word for word in unknown if word.startswith("-")]
    if unknown:
        told = len(unknown) if parser.takes_secrets else " ".join(unknown)
        parser.error(f"unrecognized arguments: {told}")
    return arguments


def build_parser() -> CommandParser:
    """Return the parser of all commands."""
    parser = CommandParser(
        prog="./spark-submit.sh",
        description="kafka-clientele: which clients use this cluster, and how.",
        epilog=USAGE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="command")
    for command in COMMANDS_BY_NAME.values():
        epilog = (
            "Any option of spark-submit may be added, --master among them."
            if command.takes_spark_options
            else None
        )
        subparser = subparsers.add_parser(
            command.name,
            help=command.help,
            description=command.help,
            epilog=epilog,
            allow_abbrev=False,
        )
        subparser.is_kafka_tool = command.is_kafka_tool
        subparser.takes_secrets = command.takes_secrets
        subparser.set_defaults(parser=subparser)
        for one in command.options:
            subparser.add_argument(one.name, **one.arguments)
    return parser
