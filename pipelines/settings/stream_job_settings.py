"""The keys of conf/ that every job over a topic of Kafka has."""

from dataclasses import dataclass

from .keys import key


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamJobSettings:
    """A job that reads a topic in micro-batches."""

    checkpoint_location: str = key("Folder of the query's progress.")
    starting_offsets: str = key(
        "Where a first run without tables begins.", choices=("earliest", "latest")
    )
    trigger_interval_ms: int = key(
        "Shortest time between two micro-batches of a continuous run.", unit="ms"
    )
    max_offsets_per_trigger: int = key("Most records in one micro-batch.", low=1)
