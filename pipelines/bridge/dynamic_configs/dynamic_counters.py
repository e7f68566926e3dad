"""What a bridge has counted about dynamic client configs; numbers only."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class DynamicConfigCounters:
    """Counts since the start, and what is so now."""

    is_enabled: bool = False
    is_loaded: bool = False
    """Whether all that was in the topic at the start has been read."""
    entities: int = 0
    """Entities with a config, now."""
    registrations: int = 0
    """Versions of clients' software whose supported keys are known, now."""
    unknown_values: Counter[str] = field(default_factory=Counter)
    """Values that are set, and that this bridge's file of keys does not take, by key:
    another bridge has another file."""
    unreadable_records: Counter[str] = field(default_factory=Counter)
    """Records of the topic that were passed over, by reason."""
    altered_keys: int = 0
    """Keys that admins have set or removed here, committed and read back."""
    failed_alterations: int = 0
    """Requests that Kafka did not take in time, or at all."""
    lost_registrations: int = 0
    """Not written: above a limit, or Kafka did not take them. Clients register again
    at their next start."""
    faults: int = 0
    """Times that the topic could not be read or written."""
