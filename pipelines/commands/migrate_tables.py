"""migrate_tables: tables of an older release become those of this one."""

from pipelines.tables.contract import TableContract
from pipelines.tables.registry import ALL_CONTRACTS

from .call import Call
from .options import CONFIG, ENV, SET, Command, flag, option

_CONTRACTS = {contract.name: contract for contract in ALL_CONTRACTS}


def _choose(call: Call) -> list[TableContract]:
    """Return the contracts of the tables that are meant, each once."""
    named = call.arguments.table or sorted(_CONTRACTS)
    return [_CONTRACTS[name] for name in dict.fromkeys(named)]


def run(call: Call) -> int:
    """Migrate, and print what was done."""
    from pipelines.jobs.migrate import job

    settings = call.read_settings()
    with call.session("migrate_tables") as spark:
        job.run(
            spark,
            settings,
            _choose(call),
            is_dry_run=call.arguments.dry_run,
            say=print,
        )
    return 0


COMMAND = Command(
    name="migrate_tables",
    help="job: Migrate tables of an older release, without rewriting rows",
    options=(
        option(
            "--table",
            "Only this table; may be repeated (default: all)",
            choices=sorted(_CONTRACTS),
            action="append",
            metavar="NAME",
        ),
        flag("--dry-run", "Print what would be done, and change nothing"),
        ENV,
        CONFIG,
        SET,
    ),
    takes_spark_options=True,
    is_job=True,
    run=run,
)
