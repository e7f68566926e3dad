"""quotas: which limits apply to a client and why, and what a change would do."""

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

ACTIONS = ("explain", "what-if", "history", "plan", "apply", "top")
EXPLAIN, WHAT_IF, HISTORY, PLAN, APPLY, TOP = ACTIONS


def run(call: Call) -> int:
    """Print what was asked; 1 where a plan and the cluster differ."""
    from .questions import read_question

    asked = read_question(call.arguments)
    if asked.action == APPLY:
        from .applying import apply_plan

        return apply_plan(call, asked, print)
    if asked.action == PLAN:
        from .plan_files import read_plan

        read_plan(str(asked.file))  # a wrong file is refused before Spark starts
    from .answers import QuotaCommand

    settings = call.read_settings()
    with call.session("quotas") as spark:
        command = QuotaCommand(spark, settings, datetime.now(tz=UTC), print)
        return command.answer(asked)


_KEY = option(
    "--key",
    "Only this quota key; may be repeated",
    default=[],
    action="append",
    metavar="KEY",
)
_FILE = option(
    "--file",
    "YAML list of {entity_path: …, quotas: {KEY: VALUE}} with all quotas",
    required=True,
    metavar="FILE",
)
_SETTINGS = (ENV, CONFIG, SET)
_COMMON = (
    _KEY,
    option("--cluster-id", "ID of the cluster, if there are several", metavar="ID"),
    flag("--json", "Print JSON"),
    *_SETTINGS,
)


COMMAND = Command(
    name="quotas",
    help="Explain, compare and alter client quotas, and list clients near a limit",
    actions=(
        Action(
            name=EXPLAIN,
            help="Print which quotas apply to a client and why",
            options=(
                option("--user", "User, as alice or User:alice", metavar="NAME"),
                option("--client-id", "Client ID of that user", metavar="ID"),
                option(
                    "--ip",
                    "Address for connection_creation_rate (default: the client's)",
                    metavar="ADDRESS",
                ),
                option(
                    "--at",
                    "Time of the answer: 2026-03-01 or 2026-03-01T06:00 (default: now)",
                    type=MOMENT,
                    metavar="TIME",
                ),
                *_COMMON,
            ),
        ),
        Action(
            name=WHAT_IF,
            help="Print which clients a change of quotas would affect",
            options=(
                option(
                    "--alter",
                    "Set users/alice:producer_byte_rate=1024; may be repeated",
                    default=[],
                    action="append",
                    metavar="ENTITY:KEY=VALUE",
                ),
                option(
                    "--remove",
                    "Remove users/alice:producer_byte_rate; may be repeated",
                    default=[],
                    action="append",
                    metavar="ENTITY:KEY",
                ),
                *_COMMON,
            ),
        ),
        Action(
            name=HISTORY,
            help="Print when quotas were set",
            options=(
                option(
                    "--entity",
                    "Only this entity, as users/alice/clients/<default>",
                    metavar="ENTITY",
                ),
                option(
                    "--from",
                    "Only changes at or after this time",
                    dest="start",
                    type=MOMENT,
                    metavar="TIME",
                ),
                option(
                    "--to",
                    "Only changes before this time",
                    dest="end",
                    type=MOMENT,
                    metavar="TIME",
                ),
                *_COMMON,
            ),
        ),
        Action(
            name=PLAN,
            help="Print how a file and the cluster differ; exit code 1 if they do",
            options=(_FILE, *_COMMON),
        ),
        Action(
            name=APPLY,
            help="Alter the quotas of the cluster as a file defines them",
            options=(
                _FILE,
                _KEY,
                flag("--dry-run", "Print the alterations, and alter nothing"),
                flag("--prune", "Remove quotas that the file does not contain"),
                option(
                    "--bootstrap-server",
                    "Servers of the cluster (default: the clients' cluster of conf/)",
                    metavar="SERVERS",
                ),
                option(
                    "--command-config",
                    "Properties of a Java client for --bootstrap-server",
                    metavar="FILE",
                ),
                *_SETTINGS,
            ),
        ),
        Action(
            name=TOP,
            help="Print the limits that clients use most",
            options=_COMMON,
        ),
    ),
    takes_spark_options=True,
    run=run,
)
