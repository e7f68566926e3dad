"""replay_pushes: stored pushes, decoded again."""

from .call import Call
from .options import CONFIG, ENV, MOMENT, SET, Command, flag, option


def check(call: Call) -> None:
    """Refuse a range without a moment in it."""
    if call.arguments.start >= call.arguments.end:
        call.arguments.parser.error("--to must be later than --from")


def run(call: Call) -> int:
    """Replay, and print what was found."""
    from pipelines.jobs.replay import job
    from pipelines.jobs.replay.results import format_result
    from pipelines.time_ranges import TimeRange

    is_dry_run = call.arguments.dry_run
    span = TimeRange(call.arguments.start, call.arguments.end)
    settings = call.read_settings()
    with call.session("replay_pushes") as spark:
        result = job.run(spark, settings, span, is_dry_run=is_dry_run)
        print(format_result(result, span, is_dry_run=is_dry_run))
    return 0


COMMAND = Command(
    name="replay_pushes",
    help="job: Decode stored pushes again after a fix of the decoder",
    options=(
        option(
            "--from",
            "Start of the time range: 2026-03-01 or 2026-03-01T06:00, in UTC",
            dest="start",
            type=MOMENT,
            required=True,
            metavar="TIME",
        ),
        option(
            "--to",
            "End of the time range, exclusive",
            dest="end",
            type=MOMENT,
            required=True,
            metavar="TIME",
        ),
        flag("--dry-run", "Print the differences, and change nothing"),
        ENV,
        CONFIG,
        SET,
    ),
    takes_spark_options=True,
    is_job=True,
    check=check,
    run=run,
)
