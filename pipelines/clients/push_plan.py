"""What one handshake is to do."""

from dataclasses import dataclass

from .kafka_client.blocking_link import Software
from .kafka_client.messages import ConfigEntry
from .kafka_client.properties import Access


@dataclass(frozen=True, slots=True, kw_only=True)
class PushPlan:
    """What is pushed, as whom, to where, and for how long that is tried."""

    access: Access
    software: Software
    entries: list[ConfigEntry]
    api_key: int
    timeout_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
