"""The keys of conf/ that every job over a topic of Kafka has."""

from dataclasses import dataclass
from typing import Any

from .keys import key

MAX_WAIT_MS = 3_600_000
"""Longest that records may wait for others: an hour."""
_TRIGGER = "Shortest time between two micro-batches of a continuous run."
_MOST_RECORDS = "Records in one micro-batch, at most."


def checkpoint_key(job: str, *, newest: str) -> Any:
    """Declare the key of a job's own checkpoint location.

    Args:
        newest: The table that a new folder goes on behind.
    """
    return key(
        "Folder of the query's progress. A new folder on existing tables goes on after "
        f"the newest record that {newest} holds.",
        default=f"data/checkpoints/{job}",
    )


def record_bytes_key(default: int = 1_048_576) -> Any:
    """Declare the key that bounds the records a job reads."""
    return key(
        "Largest value of a record; a larger one goes to quarantine.",
        unit="bytes",
        low=1024,
        high=2**30,
        default=default,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamJobSettings:
    """A job that reads a topic in micro-batches."""

    checkpoint_location: str = key("Folder of the query's progress.")
    starting_offsets: str = key(
        "Where a first run without tables begins.",
        choices=("earliest", "latest"),
        default="earliest",
    )
    trigger_interval_ms: int = key(_TRIGGER, unit="ms", default=10_000)
    max_offsets_per_trigger: int = key(_MOST_RECORDS, low=1, default=10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryJobSettings(StreamJobSettings):
    """The job client_telemetry_to_delta."""

    checkpoint_location: str = checkpoint_key(
        "client_telemetry_to_delta", newest="client_pushes"
    )
    trigger_interval_ms: int = key(_TRIGGER, unit="ms", default=2_000)
    max_offsets_per_trigger: int = key(_MOST_RECORDS, low=1, default=50_000)
    max_decompressed_bytes: int = key(
        "Largest push after decompression; a larger one goes to quarantine.",
        unit="bytes",
        low=1024,
        high=2**30,
        default=16_777_216,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficJobSettings(StreamJobSettings):
    """The job client_traffic_to_delta."""

    checkpoint_location: str = checkpoint_key(
        "client_traffic_to_delta", newest="client_traffic"
    )
    max_record_bytes: int = record_bytes_key()


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicConfigJobSettings(StreamJobSettings):
    """The job dynamic_configs_to_delta."""

    checkpoint_location: str = checkpoint_key(
        "dynamic_configs_to_delta", newest="dynamic_client_config_changes"
    )
    max_record_bytes: int = record_bytes_key()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterJobSettings(StreamJobSettings):
    """The job cluster_metadata_to_delta."""

    checkpoint_location: str = checkpoint_key(
        "cluster_metadata_to_delta", newest="cluster_changes"
    )
    max_record_bytes: int = record_bytes_key()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsSettings:
    """The command jobs, which runs all of these in one process.

    A micro-batch has a price of its own, so that where little comes, few and larger
    ones are cheap.
    """

    min_records: int = key(
        "So many new records of a topic begin a micro-batch at once; fewer wait.",
        low=1,
        default=1_000,
    )
    max_wait_ms: int = key(
        "Longest time that pushed metrics wait to become so many; 0: they do not.",
        unit="ms",
        low=0,
        high=MAX_WAIT_MS,
        default=20_000,
    )
    max_config_wait_ms: int = key(
        "The same of all else, which changes rarely and is dearer: configurations, "
        "counts of traffic, and what is so in the cluster.",
        unit="ms",
        low=0,
        high=MAX_WAIT_MS,
        default=300_000,
    )
