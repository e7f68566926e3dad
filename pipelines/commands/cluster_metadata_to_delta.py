"""cluster_metadata_to_delta: what a cluster is and was, to Delta tables."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from .call import Call
from .streaming_jobs import PreparedJob, streaming_command

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from pyspark.sql import SparkSession


def prepare(call: Call) -> PreparedJob:
    """Import it; what quotas mean follows where they have changed."""
    from functools import partial

    from pipelines.jobs.cluster import job
    from pipelines.jobs.quotas.job import paced
    from pipelines.settings.loading import load_broker_config_types
    from pipelines.tables.cluster import CLIENT_QUOTAS

    refreshing = paced(call.read_settings(), lambda: datetime.now(tz=UTC))

    def refresh(session: "SparkSession", changed: "AbstractSet[str]") -> None:
        refreshing.after_batch(session, has_changed=CLIENT_QUOTAS.name in changed)

    start = partial(job.run, config_types=load_broker_config_types(), on_change=refresh)
    return PreparedJob(job.LEDGER, start)


COMMAND = streaming_command(
    "cluster_metadata_to_delta",
    "job: Write brokers, configs, subscriptions and quotas to Delta tables",
    prepare,
)
