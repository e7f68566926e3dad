"""client_configs_to_delta: pushed configurations to Delta tables."""

from functools import partial

from .call import Call
from .options import Command
from .streaming_jobs import OPTIONS, check, run_stream


def run(call: Call) -> int:
    """Run it until it ends."""
    from pipelines.jobs.configs import job
    from pipelines.settings.loading import load_client_type_keys, load_config_catalogs

    start = partial(
        job.run,
        catalogs=load_config_catalogs(),
        client_type_keys=load_client_type_keys(),
    )
    return run_stream(call, job.LEDGER, start)


COMMAND = Command(
    name="client_configs_to_delta",
    help="job: pushed configurations to Delta tables",
    options=OPTIONS,
    takes_spark_options=True,
    is_job=True,
    check=check,
    run=run,
)
