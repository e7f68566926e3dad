"""What all clients of a proxy have in common: who answers what, and what is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kio.schema.errors import ErrorCode

from pipelines.bridge.core.handlers import RequestHandlers
from pipelines.bridge.dynamic_configs.refusals import LOADING, refuse_request
from pipelines.bridge.protocol.api_keys import (
    API_VERSIONS,
    GET_TELEMETRY_SUBSCRIPTIONS,
    PUSH_TELEMETRY,
    ServedApis,
    index_apis,
)
from pipelines.bridge.protocol.client_configs import AlterRequest
from pipelines.bridge.protocol.push_config import write_push_config_response
from pipelines.bridge.protocol.replies import encode_push_reply, encode_reply
from pipelines.bridge.protocol.requests import API_VERSIONS_API, Request
from pipelines.bridge.protocol.sasl import SASL_AUTHENTICATE_API, SASL_HANDSHAKE_API
from pipelines.bridge.proxy.frames.api_versions import Versions
from pipelines.bridge.proxy.frames.line import Care
from pipelines.bridge.proxy.frames.versions import FETCH, KNOWN_VERSIONS, PRODUCE
from pipelines.bridge.proxy.wire.traffic import ClientTraffic
from pipelines.bridge.telemetry.instances import refuse_get
from pipelines.kafka_client.client_configs import DescribeRequest
from pipelines.kafka_wire.messages import encode_body

from .telemetry_gate import TelemetryGate
from .token_owners import Tell


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyRules:
    """What all clients of a proxy have in common."""

    handlers: RequestHandlers
    """Handlers that answer instead of the broker."""
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
    find_owner: Callable[[str, Tell], None]
    """Tells which principal owns a delegation token, at once or later."""
    traffic: ClientTraffic | None = None
    """Counts what clients produce and fetch; None where nobody does."""

    @property
    def read_apis(self) -> ServedApis:
        """What is passed on, and read: it says who the client is."""
        api_versions = self.handlers.apis[API_VERSIONS]
        return index_apis(api_versions, SASL_HANDSHAKE_API, SASL_AUTHENTICATE_API)

    @property
    def own_keys(self) -> frozenset[int]:
        """API keys that the bridge answers; ApiVersions is the broker's."""
        return self.handlers.own_keys

    @property
    def own_apis(self) -> ServedApis:
        """APIs that the bridge answers."""
        apis = self.handlers.apis
        return {key: apis[key] for key in self.own_keys}

    @property
    def answered_apis(self) -> ServedApis:
        """Return own_apis, and ApiVersions for requests that cannot be read."""
        return self.handlers.apis

    def cares(self) -> Mapping[int, Care]:
        """Return what requests need, by API key."""
        rewritten = dict.fromkeys(KNOWN_VERSIONS, Care.REWRITE)
        # The known answers to Fetch hold no addresses, as most of those to Produce.
        data = {FETCH: Care.FETCH, PRODUCE: Care.PRODUCE}
        read = dict.fromkeys((*self.read_apis, *self.own_keys), Care.READ)
        return {**rewritten, **data, **read}

    def own_versions(self) -> tuple[tuple[int, Versions], ...]:
        """Return the API keys that the bridge answers, with their versions.

        ApiVersions is among them where it may carry a client instance id.
        """
        apis = dict(self.own_apis)
        api_versions = self.handlers.apis[API_VERSIONS]
        if self.is_own_api_versions(api_versions.versions[-1]):
            apis[API_VERSIONS] = api_versions
        return tuple(
            (key, (api.versions.start, api.versions.stop - 1))
            for key, api in sorted(apis.items())
        )

    def is_own_api_versions(self, api_version: int) -> bool:
        """Say whether only the bridge knows a version of ApiVersions."""
        known = self.handlers.apis[API_VERSIONS].versions
        return API_VERSIONS_API.versions.stop <= api_version < known.stop


def refuse(request: Request) -> bytes:
    """Return the reply that a client understands as: later."""
    if isinstance(request.body, AlterRequest | DescribeRequest):
        return refuse_request(request, LOADING)
    error = ErrorCode.throttling_quota_exceeded
    if request.api_key == PUSH_TELEMETRY:
        return encode_push_reply(request.correlation_id, error)
    if request.api_key == GET_TELEMETRY_SUBSCRIPTIONS:
        return encode_reply(request, encode_body(refuse_get(error)))
    return encode_reply(request, write_push_config_response(error.value, None))
