"""client_traffic_to_delta: what clients behind the proxy use, to a table."""

from functools import partial

from .call import Call
from .streaming_jobs import PreparedJob, streaming_command


def prepare(_call: Call) -> PreparedJob:
    """Import it, and read what it needs."""
    from pipelines.jobs.traffic import job
    from pipelines.settings.loading import load_config_catalogs

    start = partial(job.run, catalogs=load_config_catalogs())
    return PreparedJob(job.LEDGER, start)


COMMAND = streaming_command(
    "client_traffic_to_delta",
    "job: Write the traffic of the proxy's clients to a Delta table",
    prepare,
)
