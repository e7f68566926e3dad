"""compact_tables: few files of past dates."""

from datetime import UTC, datetime, timedelta

from pipelines.time_ranges import midnight

from .call import Call
from .options import CONFIG, DATE, ENV, SET, Command, option

DAYS_TO_COMPACT = timedelta(days=7)
"""Of a date that is done already little more is read than the log says."""


def check(call: Call) -> None:
    """Say which dates are meant where nobody has."""
    arguments = call.arguments
    arguments.end = arguments.end or midnight(datetime.now(tz=UTC).date())
    arguments.start = arguments.start or arguments.end - DAYS_TO_COMPACT
    if arguments.start >= arguments.end:
        arguments.parser.error("--to must be later than --from")


def run(call: Call) -> int:
    """Compact, and print what was done."""
    from pipelines.jobs.compact import job
    from pipelines.time_ranges import TimeRange

    span = TimeRange(call.arguments.start, call.arguments.end)
    settings = call.read_settings()
    with call.session("compact_tables") as spark:
        print(job.format_result(job.run(spark, settings, span), span))
    return 0


COMMAND = Command(
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
        CONFIG,
        SET,
    ),
    takes_spark_options=True,
    is_job=True,
    check=check,
    run=run,
)
