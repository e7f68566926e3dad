"""compact_tables: as maintain_tables was called, with compaction alone."""

import sys
from datetime import UTC, date, datetime, timedelta

from pipelines.time_ranges import midnight

from .call import Call
from .options import CONFIG, DATE, ENV, SET, Command, option

DAYS_TO_COMPACT = timedelta(days=7)
"""Of a date that is done already little more is read than the log says."""
DEPRECATED = (
    "compact_tables goes with the next release: maintain_tables compacts, and more; "
    "see docs/operations/maintenance.md"
)


def check(call: Call) -> None:
    """Say which dates are meant where nobody has."""
    arguments = call.arguments
    arguments.end = arguments.end or midnight(datetime.now(tz=UTC).date())
    arguments.start = arguments.start or arguments.end - DAYS_TO_COMPACT
    if arguments.start >= arguments.end:
        arguments.parser.error("--to must be later than --from")


def run(call: Call) -> int:
    """Compact the tables of telemetry, and print what was done."""
    from pipelines.jobs.maintain import job
    from pipelines.jobs.maintain.context import Request
    from pipelines.jobs.maintain.results import COMPACTION
    from pipelines.tables.telemetry import CLIENT_METRICS, CLIENT_PUSHES, QUARANTINE

    from .maintain_tables import list_ledgers

    print(DEPRECATED, file=sys.stderr)
    request = Request(
        tables=[one.name for one in (CLIENT_METRICS, CLIENT_PUSHES, QUARANTINE)],
        actions=(COMPACTION,),
        dates=(_as_date(call.arguments.start), _as_date(call.arguments.end)),
        quiet_minutes=0,
    )
    settings = call.read_settings()
    with call.session("compact_tables") as spark:
        outcome = job.run(spark, settings, request, ledgers=list_ledgers(), say=print)
    return 1 if outcome.has_failed else 0


def _as_date(moment: datetime) -> str:
    day: date = moment.astimezone(UTC).date()
    return day.isoformat()


COMMAND = Command(
    name="compact_tables",
    help="job: Compact tables; removed in the next release, use maintain_tables",
    options=(
        option(
            "--from",
            "First date (default: 7 days ago)",
            dest="start",
            type=DATE,
            metavar="DATE",
        ),
        option(
            "--to",
            "End of the dates, exclusive (default: today in UTC)",
            dest="end",
            type=DATE,
            metavar="DATE",
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
