"""brokers: what the brokers of a cluster run, where they differ, what changed."""

from argparse import Namespace
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
    whole_number,
)

LIST, DRIFT, CHECK, HISTORY = ACTIONS = ("list", "drift", "check", "history")
_MAX_BROKER = 2**31 - 1


def run(call: Call) -> int:
    """Answer a question; 1 where brokers differ or break a constraint."""
    _check(call.arguments)
    from .answers import BrokerCommand

    settings = call.read_settings()
    with call.session("brokers") as spark:
        command = BrokerCommand(
            spark, settings, call.arguments, print, datetime.now(tz=UTC)
        )
        return command.answer()


def _check(arguments: Namespace) -> None:
    """End the process with the usage where the words do not fit together."""
    bounds = (arguments.min, arguments.max, arguments.value)
    start, end = arguments.start, arguments.end
    if arguments.action == CHECK and all(one is None for one in bounds):
        arguments.parser.error("check needs --min, --max or --value")
    if start and end and start >= end:
        arguments.parser.error("--to must be later than --from")


_COMMON = (
    option(
        "--broker",
        "Only this broker; may be repeated",
        type=whole_number(0, _MAX_BROKER),
        action="append",
        default=[],
        metavar="ID",
    ),
    option("--cluster-id", "ID of the cluster, if there are several", metavar="ID"),
    flag("--json", "Print JSON"),
    ENV,
    CONFIG,
    SET,
)


COMMAND = Command(
    name="brokers",
    help="Print the brokers of a cluster, their differences and their history",
    actions=(
        Action(name=LIST, help="Print the brokers and what they run", options=_COMMON),
        Action(
            name=DRIFT,
            help="Print configs in which live brokers differ; exit code 1 if any does",
            options=(
                option("--key", "Only this config", metavar="KEY"),
                flag("--all", "Include configs that name a broker"),
                *_COMMON,
            ),
        ),
        Action(
            name=CHECK,
            help="Print live brokers whose static config breaks a constraint",
            options=(
                option("--key", "Config to check", required=True, metavar="KEY"),
                option("--min", "Minimum number", type=float, metavar="NUMBER"),
                option("--max", "Maximum number", type=float, metavar="NUMBER"),
                option("--value", "Only allowed value", metavar="TEXT"),
                *_COMMON,
            ),
        ),
        Action(
            name=HISTORY,
            help="Print what happened to the brokers",
            options=(
                option(
                    "--from",
                    "From this time on: 2026-03-01 or 2026-03-01T06:00, in UTC",
                    dest="start",
                    type=MOMENT,
                    metavar="TIME",
                ),
                option(
                    "--to",
                    "Before this time",
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
