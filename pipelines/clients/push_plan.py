"""What one handshake is to do."""

from dataclasses import dataclass

from .connection import Software
from .security import Access
from .wire import ConfigEntry


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
