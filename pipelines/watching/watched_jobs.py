"""The streaming jobs, as far as who looks at them from outside must know them.

Their own modules bring Spark; a test compares what they say with this.
"""

from dataclasses import dataclass

from pipelines.settings.records import Settings
from pipelines.settings.stream_job_settings import StreamJobSettings
from pipelines.settings.watching_settings import STREAMING_JOBS
from pipelines.tables.cluster import CLUSTER_CONTRACTS
from pipelines.tables.configs import CLIENT_CONFIG_CONTRACTS
from pipelines.tables.contract import TableContract
from pipelines.tables.dynamic_configs import DYNAMIC_CONFIG_CONTRACTS
from pipelines.tables.telemetry import QUARANTINE, TELEMETRY_CONTRACTS
from pipelines.tables.traffic import CLIENT_TRAFFIC
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedJob:
    """One streaming job."""

    name: str
    """Of its command, and of its section of settings."""
    topic_key: str
    """Of its topic, in [topics]."""
    contracts: tuple[TableContract, ...]
    """Tables that it writes."""

    def topic(self, settings: Settings) -> str:
        """Return the name of its topic."""
        name: str = getattr(settings.topics, self.topic_key)
        return name

    def checkpoint_location(self, settings: Settings) -> str:
        """Return the folder of its progress."""
        job: StreamJobSettings = getattr(settings, self.name)
        return job.checkpoint_location


_TOPICS_AND_TABLES: tuple[tuple[str, tuple[TableContract, ...]], ...] = (
    ("telemetry", TELEMETRY_CONTRACTS),
    ("configs", (QUARANTINE, *CLIENT_CONFIG_CONTRACTS)),
    ("wire_configs", (QUARANTINE, CLIENT_WIRE_CONFIGS)),
    ("traffic", (QUARANTINE, CLIENT_TRAFFIC)),
    ("cluster", (QUARANTINE, *CLUSTER_CONTRACTS)),
    ("client_configs", (QUARANTINE, *DYNAMIC_CONFIG_CONTRACTS)),
)
WATCHED_JOBS = tuple(
    WatchedJob(name=name, topic_key=topic_key, contracts=contracts)
    for name, (topic_key, contracts) in zip(
        STREAMING_JOBS, _TOPICS_AND_TABLES, strict=True
    )
)
"""In the order of their ports."""
