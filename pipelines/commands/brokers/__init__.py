"""brokers: what the brokers of a cluster run, where they differ, what changed."""

from argparse import Namespace

from pipelines.commands.call import Call
from pipelines.commands.options import (
    CONFIG,
    ENV,
    MOMENT,
    SET,
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
        command = BrokerCommand(spark, settings, call.arguments, print)
        return command.answer()


def _check(arguments: Namespace) -> None:
    """End the process with the usage where the words do not fit together."""
    action, parser = arguments.action, arguments.parser
    bounds = (arguments.min, arguments.max, arguments.value)
    has_bounds = any(one is not None for one in bounds)
    faults = (
        (
            action == CHECK and not (arguments.key and has_bounds),
            "check needs --key, and --min, --max or --value",
        ),
        (action != CHECK and has_bounds, "--min, --max and --value belong to check"),
        (
            action not in {CHECK, DRIFT} and arguments.key,
            "--key belongs to drift and check",
        ),
        (
            action != HISTORY and (arguments.start or arguments.end),
            "--from and --to belong to history",
        ),
        (
            arguments.start and arguments.end and arguments.start >= arguments.end,
            "--to must be later than --from",
        ),
        (arguments.all and action != DRIFT, "--all belongs to drift"),
    )
    for is_fault, text in faults:
        if is_fault:
            parser.error(text)


COMMAND = Command(
    name="brokers",
    help="print brokers of a cluster: what they run, differ in, break, and were",
    options=(
        option(
            "action",
            "list: brokers; drift: configs in which live brokers differ; check: live "
            "brokers whose static config breaks a constraint; history: what happened",
            choices=ACTIONS,
        ),
        option(
            "--broker",
            "only this broker; may be repeated",
            type=whole_number(0, _MAX_BROKER),
            action="append",
            default=[],
            metavar="ID",
        ),
        option("--key", "drift, check: this config", metavar="KEY"),
        option("--min", "check: the least number", type=float, metavar="NUMBER"),
        option("--max", "check: the greatest number", type=float, metavar="NUMBER"),
        option("--value", "check: the only value", metavar="TEXT"),
        option(
            "--from",
            "history: from this moment on: 2026-03-01 or 2026-03-01T06:00, UTC unless "
            "it says otherwise",
            dest="start",
            type=MOMENT,
            metavar="TIME",
        ),
        option(
            "--to",
            "history: before this moment",
            dest="end",
            type=MOMENT,
            metavar="TIME",
        ),
        flag("--all", "drift: configs that name a broker as well"),
        option("--cluster-id", "the cluster, where tables hold several", metavar="ID"),
        flag("--json", "print JSON"),
        ENV,
        CONFIG,
        SET,
    ),
    takes_spark_options=True,
    run=run,
)
