"""quotas: which limits apply to a client and why, and what a change would do."""

from datetime import UTC, datetime

from pipelines.commands.call import Call
from pipelines.commands.options import CONFIG, ENV, MOMENT, SET, Command, flag, option

ACTIONS = ("explain", "what-if", "history", "plan", "apply", "top")
EXPLAIN, WHAT_IF, HISTORY, PLAN, APPLY, TOP = ACTIONS


def run(call: Call) -> int:
    """Print what was asked; 1 where a plan and the cluster differ."""
    from .questions import read_question

    asked = read_question(call.arguments)
    if asked.action == APPLY:
        from .applying import apply_plan

        return apply_plan(call, asked, print)
    from .answers import QuotaCommand

    settings = call.read_settings()
    with call.session("quotas") as spark:
        command = QuotaCommand(spark, settings, datetime.now(tz=UTC), print)
        return command.answer(asked)


COMMAND = Command(
    name="quotas",
    help="explain the quotas of a client, or say what a change would do to whom",
    options=(
        option(
            "action",
            "explain: what applies to a client, and why; what-if: which clients a "
            "change would concern; history: what was set when; plan: how a file and "
            "the cluster differ; apply: alter the cluster, so that they do not; top: "
            "who is nearest to a limit, as the proxy has counted",
            choices=ACTIONS,
        ),
        option("--user", "explain: a user, alice or User:alice", metavar="NAME"),
        option("--client-id", "explain: a client.id", metavar="ID"),
        option(
            "--ip",
            "explain: an address, for connection_creation_rate (default: those that "
            "the client came from)",
            metavar="ADDRESS",
        ),
        option(
            "--key",
            "only this quota key; may be repeated",
            default=[],
            action="append",
            metavar="KEY",
        ),
        option(
            "--at",
            "explain: this moment instead of now: 2026-03-01 or 2026-03-01T06:00, UTC "
            "unless it says otherwise",
            type=MOMENT,
            metavar="TIME",
        ),
        option(
            "--remove",
            "what-if: a quota that goes, as users/alice:producer_byte_rate; may be "
            "repeated",
            default=[],
            action="append",
            metavar="ENTITY:KEY",
        ),
        option(
            "--entity",
            "history: only this entity, as users/alice/clients/<default>",
            metavar="ENTITY",
        ),
        option(
            "--from",
            "history: changes from this moment on only",
            dest="start",
            type=MOMENT,
            metavar="TIME",
        ),
        option(
            "--to",
            "history: changes before this moment only",
            dest="end",
            type=MOMENT,
            metavar="TIME",
        ),
        option(
            "--file",
            "plan and apply: YAML, a list of {entity_path: …, quotas: {KEY: VALUE}}; "
            "all quotas that there are to be",
            metavar="FILE",
        ),
        flag("--dry-run", "apply: alter nothing, print what would be altered"),
        flag("--prune", "apply: remove quotas that the file does not name, too"),
        option(
            "--bootstrap-server",
            "apply: the cluster (default: the clients' one of conf/)",
            metavar="SERVERS",
        ),
        option(
            "--command-config",
            "apply: properties of a Java client for that server: security, SASL, TLS",
            metavar="FILE",
        ),
        option("--cluster-id", "which cluster, where there are several", metavar="ID"),
        flag("--json", "print JSON"),
        ENV,
        CONFIG,
        option(
            "--set",
            "what-if: a quota that comes or changes, as "
            "users/alice:producer_byte_rate=1024; else override one key, as "
            "section.key=value; may be repeated",
            **{name: value for name, value in SET.arguments.items() if name != "help"},
        ),
    ),
    takes_spark_options=True,
    run=run,
)
