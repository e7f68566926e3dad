"""The commands and their options, as data; `__main__.py` makes one parser of them."""

# Longer than 400 lines: the table of all commands is one.

import argparse
from dataclasses import replace

from pipelines.admin import client_metrics_options
from pipelines.demo import MAX_CLIENTS, MIN_CLIENTS
from pipelines.settings.keys import MAX_PORT
from pipelines.settings.listener_records import SCRAM_MECHANISMS
from udfs.sensitive.sensitive_key_rules import CONFIG_TYPE_NAMES

from .client_config_questions import ACTIONS
from .command_options import (
    DATE,
    ENV,
    MOMENT,
    SET,
    VERBOSE,
    Command,
    flag,
    one_of,
    option,
    whole_number,
)
from .command_parser import CommandParser

CLIENT_TYPES = ("producer", "consumer", "share-consumer", "admin")
USAGE_EXAMPLES = """\
examples:
  ./spark-submit.sh demo
  ./spark-submit.sh client_telemetry_to_delta --env cluster --master spark://host:7077
  ./spark-submit.sh sql "select * from clients"
  ./spark-submit.sh notebook notebooks/clients_overview.py
"""

ACCEPT_DATA_LOSS = flag(
    "--accept-data-loss",
    "go on behind records that Kafka no longer has; quarantine says which they were",
)

COMMANDS = (
    Command(
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
    ),
    Command(
        name="kafka",
        help="run a throw-away Apache Kafka until Ctrl-C",
        options=(
            option(
                "--brokers", "brokers (default: 1)", type=whole_number(1), default=1
            ),
            option(
                "--port",
                "port of the first broker (default: a free one)",
                type=whole_number(0, MAX_PORT),
                default=0,
            ),
            option(
                "--security",
                "protocol of the clients' listener (default: PLAINTEXT)",
                choices=("PLAINTEXT", "SASL_SSL"),
                default="PLAINTEXT",
            ),
        ),
    ),
    Command(
        name="bridge",
        help="run the endpoint that clients push their telemetry to",
        options=(ENV, SET),
    ),
    Command(
        name="scram-credential",
        help="make a line of authentication.credentials_location of a read password",
        options=(
            option("--name", "name of the user", required=True, metavar="USER"),
            option(
                "--mechanism",
                "what its clients use, where it is not PLAIN (default: SCRAM-SHA-512)",
                choices=SCRAM_MECHANISMS,
                default=SCRAM_MECHANISMS[-1],
            ),
            option(
                "--iterations",
                "work of a guess, and of a login: 4096 to 16384 (default: 8192)",
                type=int,
                default=8_192,
                metavar="COUNT",
            ),
            option(
                "--output",
                "file that the line is added to; a new one is its owner's alone "
                "(default: the line is printed)",
                metavar="FILE",
            ),
        ),
    ),
    Command(
        name="explain-rule",
        help="say which rule decides a configuration entry, why, and what it does",
        takes_secrets=True,
        options=(
            option("--key", "configuration key", required=True, metavar="KEY"),
            option(
                "--type",
                f"its type: {', '.join(CONFIG_TYPE_NAMES)} (default: STRING)",
                type=one_of(CONFIG_TYPE_NAMES),
                default="STRING",
                metavar="TYPE",
            ),
            option(
                "--value",
                "-: read a value from the standard input; it is never printed",
                type=one_of(("-",)),
                metavar="-",
            ),
            option(
                "--software",
                "client_software_name of the client (default: apache-kafka-java)",
                default="apache-kafka-java",
                metavar="NAME",
            ),
            ENV,
            SET,
        ),
    ),
    Command(
        name="client_telemetry_to_delta",
        help="job: pushed metrics to Delta tables",
        options=(
            ENV,
            SET,
            flag("--once", "take what is there now, then stop"),
            flag("--continuous", "go on until stopped (the default)"),
            ACCEPT_DATA_LOSS,
        ),
        takes_spark_options=True,
    ),
    Command(
        name="client_configs_to_delta",
        help="job: pushed configurations to Delta tables",
        options=(
            ENV,
            SET,
            flag("--once", "take what is there now, then stop"),
            flag("--continuous", "go on until stopped (the default)"),
            ACCEPT_DATA_LOSS,
        ),
        takes_spark_options=True,
    ),
    Command(
        name="client_wire_configs_to_delta",
        help="job: configurations seen by the proxy to a Delta table",
        options=(
            ENV,
            SET,
            flag("--once", "take what is there now, then stop"),
            flag("--continuous", "go on until stopped (the default)"),
            ACCEPT_DATA_LOSS,
        ),
        takes_spark_options=True,
    ),
    Command(
        name="replay_pushes",
        help="job: decode stored pushes again, after a fix of the decoder",
        options=(
            option(
                "--from",
                "first moment that a push was received at: 2026-03-01 or "
                "2026-03-01T06:00, UTC unless it says otherwise",
                dest="start",
                type=MOMENT,
                required=True,
                metavar="TIME",
            ),
            option(
                "--to",
                "the moment after the last one",
                dest="end",
                type=MOMENT,
                required=True,
                metavar="TIME",
            ),
            flag("--dry-run", "say what differs, and change nothing"),
            ENV,
            SET,
        ),
        takes_spark_options=True,
    ),
    Command(
        name="compact_tables",
        help="job: few large files for the many of past dates, clustered by client",
        options=(
            option(
                "--from",
                "first date (default: seven days ago)",
                dest="start",
                type=DATE,
                metavar="DATE",
            ),
            option(
                "--to",
                "the date after the last one (default: today in UTC)",
                dest="end",
                type=DATE,
                metavar="DATE",
            ),
            ENV,
            SET,
        ),
        takes_spark_options=True,
    ),
    Command(
        name="sql",
        help="print the result of a SQL query over the tables",
        options=(
            option("query", "the query"),
            ENV,
            SET,
            option(
                "--limit",
                "most rows to print (default: 1000 at a terminal, else all)",
                type=whole_number(0),
            ),
            option(
                "--format",
                "table; csv: RFC 4180 with a header, null is empty and an empty text "
                'is ""; json: one object a line, bytes as base64 (default: table, '
                "whose cells are cut at a terminal only)",
                choices=("table", "csv", "json"),
                default="table",
            ),
        ),
        takes_spark_options=True,
    ),
    Command(
        name="configs",
        help="print configurations of clients: now, what differs, or how it came",
        options=(
            option(
                "action",
                "describe: what clients run with; diff: of one client at two moments, "
                "of two clients, or, of one client alone, where its live instances "
                "disagree; history: each value and its time",
                choices=ACTIONS,
            ),
            option(
                "--client-id",
                "client.id; twice for diff of two clients",
                default=[],
                action="append",
                metavar="ID",
            ),
            option(
                "--client-instance-id",
                "client instance id, as Kafka prints it; may be repeated",
                default=[],
                action="append",
                metavar="ID",
            ),
            option("--principal", "only of this principal, as User:alice"),
            option(
                "--client-type",
                f"only of this type: {', '.join((*CLIENT_TYPES, 'streams'))}",
                choices=(*CLIENT_TYPES, "streams"),
                metavar="TYPE",
            ),
            option(
                "--key",
                "only this configuration key; may be repeated",
                default=[],
                action="append",
                metavar="KEY",
            ),
            option(
                "--at",
                "describe, diff of two clients: this moment instead of now: 2026-03-01 "
                "or 2026-03-01T06:00, UTC unless it says otherwise",
                type=MOMENT,
                metavar="TIME",
            ),
            option(
                "--from",
                "diff: the first moment; history: values that ended later only",
                dest="start",
                type=MOMENT,
                metavar="TIME",
            ),
            option(
                "--to",
                "diff: the second moment (default: now); history: values that began "
                "before only",
                dest="end",
                type=MOMENT,
                metavar="TIME",
            ),
            flag("--all", "describe: defaults as well, also those nobody pushed"),
            flag("--json", "print JSON"),
            ENV,
            SET,
        ),
        takes_spark_options=True,
    ),
    Command(
        name="purge-secrets",
        help="job: take out of the tables of client configurations what the rules for "
        "sensitive entries hide now; stop client_configs_to_delta before",
        options=(flag("--dry-run", "say what is found, and change nothing"), ENV, SET),
        takes_spark_options=True,
    ),
    Command(
        name="shell",
        help="open a PySpark shell with the tables registered",
        options=(ENV, SET),
        takes_spark_options=True,
    ),
    Command(
        name="notebook",
        help="run a notebook and write it as an HTML page",
        options=(
            option("path", "notebook in Databricks source format"),
            ENV,
            SET,
            option("--output", "the page (default: data/NAME.html)"),
            option(
                "--widget",
                "value of a widget, as name=value; may be repeated",
                default=[],
                action="append",
                metavar="NAME=VALUE",
            ),
        ),
        takes_spark_options=True,
    ),
    Command(
        name="kafka-client-metrics",
        help="subscriptions of a cluster, in the words of kafka-client-metrics.sh",
        options=tuple(
            option(name, text, metavar=value, action="append", default=[])
            if value
            else flag(name, text)
            for name, value, text in client_metrics_options.OPTIONS
        ),
        is_kafka_tool=True,
    ),
    Command(
        name="push-config",
        help="push a file of properties as a Java client would",
        options=(
            option(
                "--properties",
                "the client's properties, with its bootstrap.servers",
                required=True,
                metavar="FILE",
            ),
            option(
                "--client-type",
                f"what the client is: {', '.join(CLIENT_TYPES)}",
                required=True,
                choices=CLIENT_TYPES,
                metavar="TYPE",
            ),
            option(
                "--command-config",
                "properties of the connection, where it is not the client's own",
                metavar="FILE",
            ),
        ),
    ),
    Command(
        name="settings",
        help="print the settings in force",
        options=(ENV, SET, flag("--reference", "print the page of all keys instead")),
    ),
)
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
