"""purge_secrets: what rules hide now leaves the tables."""

from .call import Call
from .options import CONFIG, ENV, SET, Command, flag


def run(call: Call) -> int:
    """Purge, and print what was found and what cannot be reached."""
    from pipelines.jobs.purge import job

    settings = call.read_settings()
    with call.session("purge_secrets") as spark:
        job.run(spark, settings, is_dry_run=call.arguments.dry_run, say=print)
    return 0


COMMAND = Command(
    name="purge_secrets",
    help="job: Remove configuration values that rules hide now; stop their jobs first",
    options=(
        flag("--dry-run", "Print what would be removed, and change nothing"),
        ENV,
        CONFIG,
        SET,
    ),
    takes_spark_options=True,
    is_job=True,
    run=run,
)
