"""What all clients of a proxy have in common: who answers what, and what is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pipelines.bridge.handlers import RequestHandlers
from pipelines.bridge.protocol.api_keys import (
    GET_TELEMETRY_SUBSCRIPTIONS,
    PUSH_TELEMETRY,
    ServedApis,
    index_apis,
)
from pipelines.bridge.protocol.requests import API_VERSIONS_API
from pipelines.bridge.protocol.sasl import SASL_AUTHENTICATE_API, SASL_HANDSHAKE_API

from .api_versions import Versions
from .line import Care
from .telemetry_gate import TelemetryGate
from .versions import FETCH, KNOWN_VERSIONS, PRODUCE

READ_APIS = index_apis(API_VERSIONS_API, SASL_HANDSHAKE_API, SASL_AUTHENTICATE_API)
"""Passed on, and read: they say who the client is."""
_TELEMETRY = frozenset({GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyRules:
    """What all clients of a proxy have in common."""

    handlers: RequestHandlers
    own_keys: frozenset[int]
    """API keys that the bridge answers instead of the broker."""
    gate: TelemetryGate
    has_sasl: bool
    """Whether brokers want clients to authenticate by SASL."""
    claim_name: str
    """Claim of a bearer token that names the principal."""
    now_s: Callable[[], float]
    """A clock that never steps back, in seconds."""
    answer_later: Callable[[Callable[[], None]], object]
    """Calls something when a push must be answered."""
    note_late: Callable[[], None]
    """Counts a reply that could not wait for the telemetry Kafka."""
    note_failure: Callable[[Exception], None]
    """Tells of a handler that has failed."""

    @property
    def own_apis(self) -> ServedApis:
        """What the bridge answers."""
        apis = self.handlers.apis
        return {key: apis[key] for key in self.own_keys}

    def cares(self) -> Mapping[int, Care]:
        """Return what requests need, by API key."""
        rewritten = dict.fromkeys(KNOWN_VERSIONS, Care.REWRITE)
        del rewritten[FETCH]
        read = dict.fromkeys((*READ_APIS, *self.own_keys), Care.READ)
        return {**rewritten, PRODUCE: Care.PRODUCE, **read}

    def own_versions(self) -> tuple[tuple[int, Versions], ...]:
        """Return the API keys that the bridge answers, with their versions."""
        return tuple(
            (key, (api.versions.start, api.versions.stop - 1))
            for key, api in sorted(self.own_apis.items())
        )


def choose_own_keys(
    handlers: RequestHandlers, *, push_config_key: int | None, serves_telemetry: bool
) -> frozenset[int]:
    """Return the API keys that the bridge answers instead of the brokers.

    Args:
        handlers: What the bridge serves.
        push_config_key: API key of PushConfig; None where it is not served.
        serves_telemetry: Whether telemetry goes to the bridge and not to the brokers.
    """
    wanted = _TELEMETRY if serves_telemetry else frozenset()
    if push_config_key is not None:
        wanted |= {push_config_key}
    return wanted & frozenset(handlers.apis)
