"""check_tables: what great-expectations says of the tables."""

from datetime import UTC, datetime
from pathlib import Path

from .call import Call
from .options import CONFIG, DATE, ENV, SET, Command, flag, option


def check(call: Call) -> None:
    """Refuse dates that contradict each other, and names of no table."""
    from pipelines.quality.suites import CONTRACTS

    arguments = call.arguments
    if arguments.all and arguments.since:
        arguments.parser.error("--all and --since are two different answers")
    for name in arguments.table:
        if name not in CONTRACTS:
            arguments.parser.error(
                f"there is no table {name}; there are {', '.join(sorted(CONTRACTS))}"
            )


def run(call: Call) -> int:
    """Check, print what fails, and say by the exit code whether anything does."""
    from pipelines.quality import check as checks
    from pipelines.quality.results import format_run

    arguments, settings = call.arguments, call.read_settings()
    request = checks.Request(
        tables=tuple(arguments.table),
        since=arguments.since and arguments.since.date(),
        is_all=arguments.all,
        html=Path(arguments.html) if arguments.html else None,
    )
    with call.session("check_tables") as spark:
        done = checks.run(spark, settings, datetime.now(tz=UTC), request)
    print(format_run(done.outcomes))
    return 1 if done.failures else 0


COMMAND = Command(
    name="check_tables",
    help="job: Check the expectations of the tables; exit code 1 if one fails",
    options=(
        option(
            "--table",
            "Table to check; may be repeated (default: all)",
            default=[],
            action="append",
            metavar="NAME",
        ),
        option(
            "--since",
            "First date (default: the newest of each table)",
            type=DATE,
            metavar="DATE",
        ),
        flag("--all", "Check all dates"),
        option(
            "--html",
            "Write the Data Docs of great-expectations to a directory",
            metavar="FOLDER",
        ),
        ENV,
        CONFIG,
        SET,
    ),
    takes_spark_options=True,
    is_job=True,
    check=check,
    run=run,
)
