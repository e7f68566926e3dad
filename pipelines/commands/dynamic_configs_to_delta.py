"""dynamic_configs_to_delta: dynamic client configs to Delta tables."""

from functools import partial

from .call import Call
from .streaming_jobs import run_job, streaming_command


def run(call: Call) -> int:
    """Run it until it ends."""
    from pipelines.jobs.dynamic_configs import job
    from pipelines.settings.loading import load_config_catalogs

    start = partial(job.run, catalogs=load_config_catalogs())
    return run_job(call, job.LEDGER, start)


COMMAND = streaming_command(
    "dynamic_configs_to_delta",
    "job: dynamic client configs, and which clients can take them, to Delta tables",
    run,
)
