"""What one handshake is to do."""

from dataclasses import dataclass

from .kafka_client.properties import Access
from .push_messages import ConfigEntry, NamedSoftware


@dataclass(frozen=True, slots=True, kw_only=True)
class PushPlan:
    """What is pushed, as whom, to where, and for how long that is tried."""

    access: Access
    software: NamedSoftware
    entries: list[ConfigEntry]
    api_key: int
    timeout_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
