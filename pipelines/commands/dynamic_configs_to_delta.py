"""dynamic_configs_to_delta: dynamic client configs to Delta tables."""

from functools import partial

from .call import Call
from .streaming_jobs import PreparedJob, streaming_command


def prepare(_call: Call) -> PreparedJob:
    """Import it, and read what it needs."""
    from pipelines.jobs.dynamic_configs import job
    from pipelines.settings.loading import load_config_catalogs

    start = partial(job.run, catalogs=load_config_catalogs())
    return PreparedJob(job.LEDGER, start)


COMMAND = streaming_command(
    "dynamic_configs_to_delta",
    "job: Write dynamic client configs and their clients to Delta tables",
    prepare,
)
