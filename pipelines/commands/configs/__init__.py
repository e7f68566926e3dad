"""configs: what clients run with, what differs, and how it came."""

from datetime import UTC, datetime

from pipelines.commands.call import Call
from pipelines.commands.options import CONFIG, ENV, MOMENT, SET, Command, flag, option
from pipelines.commands.push_config import CLIENT_TYPES

from .questions import ACTIONS, read_question


def run(call: Call) -> int:
    """Print configurations of clients."""
    from .answers import ConfigCommand

    asked = read_question(call.arguments)
    settings = call.read_settings()
    with call.session("configs") as spark:
        command = ConfigCommand(spark, settings, datetime.now(tz=UTC), print)
        command.answer(call.arguments.action, asked)
    return 0


COMMAND = Command(
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
        CONFIG,
        SET,
    ),
    takes_spark_options=True,
    run=run,
)
