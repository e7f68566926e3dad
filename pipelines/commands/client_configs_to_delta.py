"""client_configs_to_delta: pushed configurations to Delta tables."""

from functools import partial

from .call import Call
from .streaming_jobs import PreparedJob, streaming_command


def prepare(call: Call) -> PreparedJob:
    """Import it, and read what it needs."""
    from pipelines.jobs.configs import job
    from pipelines.settings.loading import load_client_type_keys, load_config_catalogs
    from pipelines.settings.retention import load_retention
    from pipelines.tables.configs import CLIENT_CONFIG_HISTORY

    location = call.read_settings().maintain_tables.retention_location
    kept = load_retention(location).of(CLIENT_CONFIG_HISTORY.name)
    start = partial(
        job.run,
        catalogs=load_config_catalogs(),
        client_type_keys=load_client_type_keys(),
        kept_closed_days=kept.closed_days,
    )
    return PreparedJob(job.LEDGER, start)


COMMAND = streaming_command(
    "client_configs_to_delta",
    "job: Write pushed configurations to Delta tables",
    prepare,
)
