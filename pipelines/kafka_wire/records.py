"""Records for a topic that is written by transactions."""

from typing import NamedTuple


class WrittenRecord(NamedTuple):
    """One record to write."""

    key: bytes
    value: bytes | None
    """None is a tombstone."""
    headers: tuple[tuple[str, bytes], ...] = ()


class TopicFault(Exception):
    """Raised when records may be missing in a topic; the text is Kafka's error."""
