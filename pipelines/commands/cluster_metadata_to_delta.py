"""cluster_metadata_to_delta: what a cluster is and was, to Delta tables."""

from functools import partial

from .call import Call
from .streaming_jobs import run_job, streaming_command


def run(call: Call) -> int:
    """Run it until it ends."""
    from pipelines.jobs.cluster import job
    from pipelines.settings.loading import load_broker_config_types

    start = partial(job.run, config_types=load_broker_config_types())
    return run_job(call, job.LEDGER, start)


COMMAND = streaming_command(
    "cluster_metadata_to_delta",
    "job: brokers, configs, subscriptions and quotas of a cluster to Delta tables",
    run,
)
