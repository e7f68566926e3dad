"""refresh_quotas: effective_quotas brought up to date, for cron."""

from datetime import UTC, datetime

from .call import Call
from .options import CONFIG, ENV, SET, Command


def run(call: Call) -> int:
    """Refresh, and print what was changed."""
    from pipelines.jobs.quotas import job

    settings = call.read_settings()
    with call.session(job.JOB_NAME) as spark:
        done = job.refresh(spark, settings, datetime.now(tz=UTC))
        print(
            f"effective_quotas: {done.changed} rows are new or changed, {done.gone} "
            f"are gone"
        )
    return 0


COMMAND = Command(
    name="refresh_quotas",
    help="job: Calculate the effective quotas of recent clients",
    options=(ENV, CONFIG, SET),
    takes_spark_options=True,
    is_job=True,
    run=run,
)
