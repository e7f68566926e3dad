"""What can come next in an authentication, and the rules of one listener."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from pipelines.bridge.protocol.api_keys import API_VERSIONS, ServedApis, index_apis
from pipelines.bridge.protocol.requests import Request
from pipelines.bridge.protocol.sasl import SASL_HANDSHAKE_API

from .mechanisms import Check, Mechanism


class State(Enum):
    """Where one connection stands."""

    begun = "begun"
    """ApiVersions or SaslHandshake may come."""
    versions_told = "versions_told"
    """SaslHandshake must come."""
    tokens = "tokens"
    checking = "checking"
    """A Check is under way; no frame may be given."""
    done = "done"
    expired = "expired"
    """The session is over; only SaslHandshake goes on."""
    refused = "refused"


@dataclass(frozen=True, slots=True)
class Answer:
    """Write this and go on."""

    reply: bytes


@dataclass(frozen=True, slots=True)
class PassOn:
    """A request that the bridge's own handlers answer (ApiVersions)."""

    request: Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """Write this; from here on the client is this principal."""

    reply: bytes
    principal: str
    lifetime_ms: int | None
    """Milliseconds until the session is over; None for never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """After a delay write this, if anything, and close."""

    reason: str
    """For the log: names the rule, and no value."""
    reply: bytes = b""
    is_failed_authentication: bool = False
    """Whether credentials were refused, rather than the protocol broken."""


Step = Answer | PassOn | Check | Accepted | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslRules:
    """What the connections of one listener have in common."""

    apis: ServedApis
    """Every API that is served; to read ApiVersions."""
    mechanisms: tuple[str, ...]
    start: Callable[[str], Mechanism]
    """Begins one authentication by a mechanism."""
    now_ms: Callable[[], int]
    """Milliseconds since 1970-01-01T00:00:00Z."""
    max_reauth_ms: int
    """Longest session; 0 for no limit but the credential's."""
    readable: ServedApis = field(init=False)
    """What may be read before tokens."""

    def __post_init__(self) -> None:
        first = index_apis(self.apis[API_VERSIONS], SASL_HANDSHAKE_API)
        object.__setattr__(self, "readable", first)
