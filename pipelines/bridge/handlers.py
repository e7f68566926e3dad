"""One handler per API key: request in, reply out, now or once Kafka has answered.

What no part of the bridge serves is "not mine": reading it raises UnsupportedRequest.
No sockets and no clock here: what needs them gets them as arguments.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from kio.schema.api_versions.v4.request import ApiVersionsRequest
from kio.schema.metadata.v13.request import MetadataRequest

from .client_identity import ClientIdentity
from .protocol.api_keys import ServedApi, ServedApis, index_apis
from .protocol.api_versions import (
    UNKNOWN_SOFTWARE,
    answer_api_versions,
    is_valid_software,
)
from .protocol.metadata import AdvertisedNode, answer_metadata
from .protocol.replies import encode_reply
from .protocol.requests import API_VERSIONS_API, METADATA_API, Request
from .records import Header

WriteReply = Callable[[bytes], None]
"""Takes the whole reply, size and header included; called once per request."""
Body = TypeVar("Body")

ANONYMOUS = "User:ANONYMOUS"


@dataclass(slots=True, kw_only=True)
class Connection:
    """What is known of one connection."""

    connection_id: int
    identity: ClientIdentity
    headers: tuple[Header, ...] = ()
    """identity as headers; made when first needed, empty when out of date."""
    reauthenticate: "Callable[[Request, WriteReply], bool] | None" = None
    """Takes SaslHandshake of an authenticated client, or says that it must not."""

    def change_identity(self, identity: ClientIdentity) -> None:
        """Take an identity that is better known."""
        self.identity = identity
        self.headers = ()


Handler = Callable[[Request, Connection, WriteReply], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedRequest:
    """An API that some part of the bridge answers, and what answers it."""

    api: ServedApi
    handle: Handler


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
        forget: Callable[[Connection], None] = lambda _connection: None,
    ) -> None:
        """Take what the parts of the bridge serve.

        Args:
            served: One per API key; what is here is advertised.
            forget: Called with each connection that has closed.
        """
        own = ServedRequest(api=API_VERSIONS_API, handle=self._answer_api_versions)
        everything = [own, *served]
        self.apis: ServedApis = index_apis(*(one.api for one in everything))
        self.forget = forget
        self._handlers: Mapping[int, Handler] = {
            one.api.api_key: one.handle for one in everything
        }

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
        if isinstance(body, ApiVersionsRequest) and is_valid_software(body):
            connection.change_identity(
                replace(
                    connection.identity,
                    client_software_name=body.client_software_name,
                    client_software_version=body.client_software_version,
                )
            )
        reply(encode_reply(request, answer_api_versions(request, self.apis)))


def serve_metadata(node: AdvertisedNode) -> ServedRequest:
    """Return what answers Metadata: the bridge is the one node."""

    def answer(request: Request, _connection: Connection, reply: WriteReply) -> None:
        body = expect(MetadataRequest, request)
        reply(encode_reply(request, answer_metadata(body, request.api_version, node)))

    return ServedRequest(api=METADATA_API, handle=answer)


def expect(kind: type[Body], request: Request) -> Body:
    """Return the body, which the reader of this API made of this kind."""
    if not isinstance(request.body, kind):
        raise TypeError(f"API key {request.api_key} has no {kind.__name__}")
    return request.body
