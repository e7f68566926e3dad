"""client_wire_configs_to_delta: configurations seen by the proxy to a Delta table."""

from functools import partial

from .call import Call
from .streaming_jobs import run_job, streaming_command


def run(call: Call) -> int:
    """Run it until it ends."""
    from pipelines.jobs.wire_configs import job
    from pipelines.settings.loading import load_config_catalogs

    start = partial(job.run, catalogs=load_config_catalogs())
    return run_job(call, job.LEDGER, start)


COMMAND = streaming_command(
    "client_wire_configs_to_delta",
    "job: configurations seen by the proxy to a Delta table",
    run,
)
