"""What one handshake is to do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .dynamic_values import Settled
from .kafka_client.properties import Access
from .push_messages import ConfigEntry, NamedSoftware


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a client asks of its dynamic configs."""

    api_key: int
    supported_configs: tuple[str, ...] | None
    """The keys to register; None registers nothing."""
    settle: Callable[[Mapping[str, str]], Settled]
    """Makes a configuration of what the cluster has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PushPlan:
    """What is asked and pushed, as whom, to where, and for how long that is tried."""

    access: Access
    software: NamedSoftware
    entries: list[ConfigEntry]
    """What is pushed where nothing dynamic stands over it."""
    api_key: int
    timeout_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    is_pushing: bool = True
    """Whether PushConfig is wanted at all."""
    question: Question | None = None
    """None: dynamic configs are not asked for."""

    @property
    def api_keys(self) -> set[int]:
        """The requests of which a node must serve one, to be of any use."""
        pushed = {self.api_key} if self.is_pushing else set()
        return pushed if self.question is None else pushed | {self.question.api_key}
