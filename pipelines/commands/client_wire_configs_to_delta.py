"""client_wire_configs_to_delta: configurations seen by the proxy to a Delta table."""

from functools import partial

from .call import Call
from .streaming_jobs import PreparedJob, streaming_command


def prepare(_call: Call) -> PreparedJob:
    """Import it, and read what it needs."""
    from pipelines.jobs.wire_configs import job
    from pipelines.settings.loading import load_config_catalogs

    start = partial(job.run, catalogs=load_config_catalogs())
    return PreparedJob(job.LEDGER, start)


COMMAND = streaming_command(
    "client_wire_configs_to_delta",
    "job: Write configurations inferred by the proxy to a Delta table",
    prepare,
)
