"""One handler per API key: request in, reply out, now or once Kafka has answered.

What no part of the bridge serves is "not mine": reading it raises UnsupportedRequest.
No sockets and no clock here: what needs them gets them as arguments.
"""

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from kio.schema.metadata.v13.request import MetadataRequest

from pipelines.bridge.protocol.api_keys import ServedApi, ServedApis, index_apis
from pipelines.bridge.protocol.metadata import AdvertisedNode, answer_metadata
from pipelines.bridge.protocol.push_telemetry import (
    RESERVED_INSTANCE_IDS,
    PlainPushReader,
    PushRequest,
)
from pipelines.bridge.protocol.replies import (
    UNKNOWN_SOFTWARE,
    answer_api_versions,
    encode_reply,
    is_valid_software,
    read_error_code,
)
from pipelines.bridge.protocol.requests import API_VERSIONS_API, METADATA_API, Request
from pipelines.bridge.protocol.software import ClientSoftware, split_software_version

from .client_identity import ClientIdentity
from .counters import AnswerCounts
from .instance_metrics import InstanceMetrics
from .records import ConnectionHeaders

WriteReply = Callable[[bytes], None]
"""Takes the whole reply, size and header included; called once per request."""
Body = TypeVar("Body")

ANONYMOUS = "User:ANONYMOUS"


class Holder(Protocol):
    """What can be left unread for a while."""

    def hold_back(self, wait_ms: int, is_lifted: Callable[[], bool]) -> None:
        """Take no more requests for so many milliseconds.

        Args:
            is_lifted: Returns whether the reason for the wait no longer applies.
        """


@dataclass(slots=True, kw_only=True)
class Connection:
    """What is known of one connection."""

    connection_id: int
    identity: ClientIdentity
    headers: ConnectionHeaders | None = None
    """identity as headers; made when first needed, None when out of date."""
    push_reader: PlainPushReader | None = None
    """Reads its pushes at once; None where that must not be: before the first one was
    accepted, when headers are out of date, and while it must authenticate."""
    named_instance_id: uuid.UUID | None = None
    """The client instance id that the client goes by: in ApiVersions, or made for a
    configuration that came without any."""
    given_instance_id: uuid.UUID | None = None
    """The client instance id that its last GetTelemetrySubscriptions was answered."""
    push_interval_ms: int | None = None
    """What its client was told, or pushes by; None before both."""
    seat: InstanceMetrics | None = None
    """Counts of this connection's client instance, if it is one of the few shown."""
    trouble: int = 0
    """How often its requests were throttled or its pushes not stored."""
    has_asked_for_topics: bool = False
    """Whether it has wanted data, which is not had from the bridge."""
    quotas: Any = None
    """What quotas/ keeps of it; None when its identity is another."""
    registrations: int = 0
    """Registrations of supported keys that it has written."""
    holder: Holder | None = None
    """Where its requests come from; None where they must not be held."""
    reauthenticate: "Callable[[Request, WriteReply], bool] | None" = None
    """Takes SaslHandshake of an authenticated client, or says that it must not."""

    def change_identity(self, identity: ClientIdentity) -> None:
        """Take an identity that is better known."""
        self.identity = identity
        self.headers = self.push_reader = self.quotas = None


Handler = Callable[[Request, Connection, WriteReply], None]
TakePush = Callable[[int, PushRequest, Connection, WriteReply], None]
"""Takes a push that a connection's push_reader has read, and its correlation id."""


def _take_no_push(
    _correlation_id: int, _push: PushRequest, _connection: Connection, _: WriteReply
) -> None:
    raise ValueError("a push where none are served")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedRequest:
    """An API that some part of the bridge answers, and what answers it."""

    api: ServedApi
    handle: Handler
    error_code_at: int | None = None
    """Byte of the answer's body where its error code stands; None where it has none."""
    is_counted: bool = False
    """Whether its part counts the answers itself."""
    take_push: TakePush | None = None
    """Takes what push_reader has read; None for whoever sets no such reader."""
    forget: Callable[[Connection], None] | None = None
    """Forgets what a closed connection has left behind; None if nothing is kept."""


def make_identity(listener: str, address: str, port: int) -> ClientIdentity:
    """Return what is known of a client that has only connected."""
    return ClientIdentity(
        client_id=None,
        client_software_name=UNKNOWN_SOFTWARE,
        client_software_version=UNKNOWN_SOFTWARE,
        principal=ANONYMOUS,
        listener=listener,
        client_source_address=address,
        client_source_port=port,
    )


class RequestHandlers:
    """Answers the requests of all connections; ApiVersions by itself."""

    def __init__(
        self,
        served: Iterable[ServedRequest],
        *,
        api_versions: ServedApi = API_VERSIONS_API,
        answers: AnswerCounts | None = None,
        meter: "Callable[[ServedRequest], ServedRequest]" = lambda served: served,
    ) -> None:
        """Take what the parts of the bridge serve.

        Args:
            served: One per API key; what is here is advertised.
            answers: Where answers are counted by API key and error code.
            meter: Puts around each of them what records its costs.
        """
        own = ServedRequest(
            api=api_versions, handle=self._answer_api_versions, error_code_at=0
        )
        everything = [meter(one) for one in (own, *served)]
        self.own_keys = frozenset(one.api.api_key for one in everything[1:])
        """API keys of the parts; ApiVersions is not among them."""
        self.apis: ServedApis = index_apis(*(one.api for one in everything))
        self._forgetting = [one.forget for one in everything if one.forget]
        takers = (one.take_push for one in everything)
        self.take_push: TakePush = next(filter(None, takers), _take_no_push)
        counts = answers or AnswerCounts()
        self._handlers: Mapping[int, Handler] = {
            one.api.api_key: one.handle if one.is_counted else _counting(one, counts)
            for one in everything
        }

    def forget(self, connection: Connection) -> None:
        """Forget a connection that has closed."""
        for forget in self._forgetting:
            forget(connection)

    def handle(
        self, request: Request, connection: Connection, reply: WriteReply
    ) -> None:
        """Answer one request; reply is called once, at once or later."""
        if connection.identity.client_id != request.client_id:
            connection.change_identity(
                replace(connection.identity, client_id=request.client_id)
            )
        self._handlers[request.api_key](request, connection, reply)

    def _answer_api_versions(
        self, request: Request, connection: Connection, reply: WriteReply
    ) -> None:
        body = request.body
        if isinstance(body, ClientSoftware) and is_valid_software(body):
            note_software(body, connection)
        reply(encode_reply(request, answer_api_versions(request, self.apis)))


def note_software(software: ClientSoftware, connection: Connection) -> None:
    """Note what a client says about itself.

    An id of the protocol's own field counts before one in the software's version. What
    no client instance can be called by, counts as none.
    """
    version, carried_id = split_software_version(software.client_software_version)
    connection.change_identity(
        replace(
            connection.identity,
            client_software_name=software.client_software_name,
            client_software_version=version,
        )
    )
    for named_id in (software.client_instance_id, carried_id):
        if named_id is not None and named_id.bytes not in RESERVED_INSTANCE_IDS:
            connection.named_instance_id = named_id
            return


def _counting(served: ServedRequest, counts: AnswerCounts) -> Handler:
    """Return a handler that counts what it answers."""

    def handle(request: Request, connection: Connection, reply: WriteReply) -> None:
        def count_and_reply(whole: bytes) -> None:
            code = read_error_code(request, whole, served.error_code_at)
            counts.add(request.api_key, code)
            reply(whole)

        served.handle(request, connection, count_and_reply)

    return handle


def serve_metadata(
    node: AdvertisedNode,
    by_listener: Mapping[str, AdvertisedNode] = MappingProxyType({}),
    *,
    note_topics: Callable[[Connection], None] = lambda _connection: None,
) -> ServedRequest:
    """Return what answers Metadata: the bridge is the one node.

    Args:
        node: What clients are told.
        by_listener: What clients of some listeners are told instead.
        note_topics: Called with a connection that asks for topics; there are none.
    """

    def answer(request: Request, connection: Connection, reply: WriteReply) -> None:
        body = expect(MetadataRequest, request)
        if body.topics and not connection.has_asked_for_topics:
            connection.has_asked_for_topics = True
            note_topics(connection)
        told = by_listener.get(connection.identity.listener, node)
        reply(encode_reply(request, answer_metadata(body, request.api_version, told)))

    return ServedRequest(api=METADATA_API, handle=answer)


def expect(kind: type[Body], request: Request) -> Body:
    """Return the body, which the reader of this API made of this kind."""
    if not isinstance(request.body, kind):
        raise TypeError(f"API key {request.api_key} has no {kind.__name__}")
    return request.body
