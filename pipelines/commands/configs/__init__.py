"""configs: what clients run with, what differs, and how it came."""

from datetime import UTC, datetime

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
from pipelines.commands.push_config import CLIENT_TYPES

from .questions import DESCRIBE, DIFF, HISTORY, read_question


def run(call: Call) -> int:
    """Print configurations of clients."""
    from .answers import ConfigCommand

    asked = read_question(call.arguments)
    settings = call.read_settings()
    with call.session("configs") as spark:
        command = ConfigCommand(spark, settings, datetime.now(tz=UTC), print)
        command.answer(call.arguments.action, asked)
    return 0


_WHICH = (
    option(
        "--client-id",
        "Client ID; give it twice to diff two clients",
        default=[],
        action="append",
        metavar="ID",
    ),
    option(
        "--client-instance-id",
        "Client instance ID, as Kafka prints it; may be repeated",
        default=[],
        action="append",
        metavar="ID",
    ),
    option("--principal", "Only this principal, as User:alice", metavar="NAME"),
    option(
        "--client-type",
        f"Only this type: {', '.join((*CLIENT_TYPES, 'streams'))}",
        choices=(*CLIENT_TYPES, "streams"),
        metavar="TYPE",
    ),
    option(
        "--key",
        "Only this configuration key; may be repeated",
        default=[],
        action="append",
        metavar="KEY",
    ),
)
_AT = option(
    "--at",
    "Time of the answer: 2026-03-01 or 2026-03-01T06:00, in UTC (default: now)",
    type=MOMENT,
    metavar="TIME",
)
_COMMON = (flag("--json", "Print JSON"), ENV, CONFIG, SET)


COMMAND = Command(
    name="configs",
    help="Print configurations of clients: current values, differences and history",
    actions=(
        Action(
            name=DESCRIBE,
            help="Print what clients run with",
            options=(
                *_WHICH,
                _AT,
                flag("--all", "Include defaults, also those that no client pushed"),
                *_COMMON,
            ),
        ),
        Action(
            name=DIFF,
            help="Compare a client at two times, two clients, or a client's instances",
            options=(
                *_WHICH,
                _AT,
                option(
                    "--from",
                    "First time, for one client",
                    dest="start",
                    type=MOMENT,
                    metavar="TIME",
                ),
                option(
                    "--to",
                    "Second time, for one client (default: now)",
                    dest="end",
                    type=MOMENT,
                    metavar="TIME",
                ),
                *_COMMON,
            ),
        ),
        Action(
            name=HISTORY,
            help="Print each value and its time",
            options=(
                *_WHICH,
                option(
                    "--from",
                    "Only values that were valid at or after this time",
                    dest="start",
                    type=MOMENT,
                    metavar="TIME",
                ),
                option(
                    "--to",
                    "Only values that began before this time",
                    dest="end",
                    type=MOMENT,
                    metavar="TIME",
                ),
                *_COMMON,
            ),
        ),
    ),
    takes_spark_options=True,
    run=run,
)
