"""One connection to a broker of the cluster, from greeting to answers; no I/O.

Strategy: ApiVersions first, then SASL where there are credentials, then one request at
a time in the version that both sides share. Bytes go in by `receive_data` and come out
by `take_bytes`; the greeting is a generator of requests that is sent their answers.
Source: KIP-35; KIP-152; KIP-511.
"""

from collections.abc import Generator, Mapping
from typing import Any

from kio.schema.api_versions.v0.request import (
    ApiVersionsRequest as OldApiVersionsRequest,
)
from kio.schema.api_versions.v3.request import ApiVersionsRequest
from kio.schema.errors import ErrorCode
from kio.schema.sasl_authenticate.v2.request import SaslAuthenticateRequest
from kio.schema.sasl_handshake.v1.request import SaslHandshakeRequest
from kio.static.protocol import Payload

from pipelines import __version__
from pipelines.bridge.protocol.cluster_requests import (
    SASL_HANDSHAKE,
    ResponseStream,
    adapt,
    decode_response,
    encode_request,
    newest,
    share_versions,
)
from pipelines.bridge.protocol.errors import MalformedResponse

from .faults import ClusterRefusal, MissingApi
from .login import Credentials, log_in

SOFTWARE_NAME = "kafka-clientele"
_Greeting = Generator[Payload, Any, None]


class ClusterSession:
    """What is owed and known on one connection."""

    def __init__(
        self, *, client_id: str, credentials: Credentials | None, nonce: str
    ) -> None:
        """Begin with the greeting.

        Args:
            client_id: What brokers know us by.
            credentials: Who logs in; None where the listener wants nobody.
            nonce: Random text for SCRAM, new for each connection.
        """
        self.is_ready = False
        """Whether requests may be sent."""
        self._client_id = client_id
        self._credentials = credentials
        self._nonce = nonce
        self._stream = ResponseStream()
        self._outgoing = b""
        self._correlation_id = 0
        self._awaited: Payload | None = None
        self._answer: Payload | None = None
        self._versions: Mapping[int, int] = {}
        self._greeting = self._greet()
        self._write(next(self._greeting))

    def send(self, request: Payload) -> None:
        """Send one request; the one before it must have been answered.

        Raises: MissingApi when the broker does not know it.
        """
        if not self.is_ready or self._awaited is not None:
            raise RuntimeError("a request is sent before the last one is answered")
        self._write(request)

    def receive_data(self, data: bytes) -> None:
        """Take bytes as they came from the broker.

        Raises: MalformedResponse, ClusterRefusal, MissingApi; the connection is of no
            use after any of them.
        """
        self._stream.receive_data(data)
        while (found := self._stream.next_response()) is not None:
            correlation_id, rest = found
            request = self._awaited
            if request is None or correlation_id != self._correlation_id:
                raise MalformedResponse("a response that nothing has asked for")
            self._awaited = None
            response = decode_response(request, rest)
            if self.is_ready:
                self._answer = newest(response)
            else:
                self._go_on(response)

    def take_answer(self) -> Payload | None:
        """Return the answer in its newest version, once, or None until it is there."""
        answer, self._answer = self._answer, None
        return answer

    def take_bytes(self) -> bytes:
        """Return what has to be written now, and forget it."""
        outgoing, self._outgoing = self._outgoing, b""
        return outgoing

    def _go_on(self, response: Payload) -> None:
        try:
            request = self._greeting.send(response)
        except StopIteration:
            self.is_ready = True
        else:
            self._write(request)

    def _write(self, request: Payload) -> None:
        if self._versions:
            api_version = self._versions.get(request.__api_key__)
            if api_version is None:
                raise MissingApi(
                    f"the cluster does not serve {type(request).__name__} "
                    f"(API key {request.__api_key__}) in a version known here"
                )
            request = adapt(request, api_version)
        self._correlation_id += 1
        self._awaited = request
        self._outgoing += encode_request(
            request, correlation_id=self._correlation_id, client_id=self._client_id
        )

    def _greet(self) -> _Greeting:
        response = yield ApiVersionsRequest(
            client_software_name=SOFTWARE_NAME, client_software_version=__version__
        )
        if response.error_code is ErrorCode.unsupported_version:
            response = yield OldApiVersionsRequest()
        _expect_success(response, "ApiVersions")
        self._versions = share_versions(
            {
                one.api_key: range(one.min_version, one.max_version + 1)
                for one in response.api_keys
            }
        )
        if self._credentials is not None:
            yield from self._log_in(self._credentials)

    def _log_in(self, credentials: Credentials) -> _Greeting:
        if SASL_HANDSHAKE not in self._versions:
            raise ClusterRefusal("its listener has no SASL")
        response = yield SaslHandshakeRequest(mechanism=credentials.mechanism)
        if response.error_code is not ErrorCode.none:
            raise ClusterRefusal(
                f"its listener does not take {credentials.mechanism} "
                f"({response.error_code.name})"
            )
        steps = log_in(credentials, nonce=self._nonce)
        message = next(steps)
        while True:
            response = yield SaslAuthenticateRequest(auth_bytes=message)
            _expect_success(response, "SaslAuthenticate")
            try:
                message = steps.send(response.auth_bytes)
            except StopIteration:
                return


def _expect_success(response: Any, name: str) -> None:  # noqa: ANN401 - a response with an error code
    if response.error_code is not ErrorCode.none:
        raise ClusterRefusal(f"it answers {name} with {response.error_code.name}")
