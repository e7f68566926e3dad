"""client_wire_configs_to_delta: configurations seen by the proxy to a Delta table."""

from functools import partial

from .call import Call
from .options import Command
from .streaming_jobs import OPTIONS, check, run_stream


def run(call: Call) -> int:
    """Run it until it ends."""
    from pipelines.jobs.wire_configs import job
    from pipelines.settings.loading import load_config_catalogs

    start = partial(job.run, catalogs=load_config_catalogs())
    return run_stream(call, job.LEDGER, start)


COMMAND = Command(
    name="client_wire_configs_to_delta",
    help="job: configurations seen by the proxy to a Delta table",
    options=OPTIONS,
    takes_spark_options=True,
    is_job=True,
    check=check,
    run=run,
)
