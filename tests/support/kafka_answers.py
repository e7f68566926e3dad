"""A cluster of one: real bytes written by kio, answers chosen by the test."""

import asyncio
import contextlib
import io
import struct
from datetime import timedelta

import scramp
from kio.index import load_request_schema
from kio.schema.api_versions.v0.response import ApiVersion as OldApiVersion
from kio.schema.api_versions.v0.response import (
    ApiVersionsResponse as OldApiVersionsResponse,
)
from kio.schema.api_versions.v3.response import ApiVersion, ApiVersionsResponse
from kio.schema.errors import ErrorCode
from kio.schema.list_config_resources.v1.response import (
    ConfigResource,
    ListConfigResourcesResponse,
)
from kio.schema.sasl_authenticate.v1.response import SaslAuthenticateResponse
from kio.schema.sasl_handshake.v1.response import SaslHandshakeResponse
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i32Timedelta, i64Timedelta

from pipelines.kafka_wire.messages import NO_THROTTLE

OFFERED = {17: (0, 1), 18: (0, 4), 32: (1, 4), 36: (0, 2), 44: (0, 1), 74: (0, 1)}
USER, PASSWORD = "bridge", "open, =sesame"
NONE = ErrorCode.none


def encode(message):
    buffer = io.BytesIO()
    entity_writer(type(message))(buffer, message)
    return buffer.getvalue()


def frame_answer(request, correlation_id, response):
    """Write an answer; a broker's answer to ApiVersions has no tagged header."""
    header = struct.pack(">i", correlation_id)
    is_flexible = type(response).__flexible__ and request.__api_key__ != 18
    payload = header + (b"\0" if is_flexible else b"") + encode(response)
    return struct.pack(">i", len(payload)) + payload


def split_request(data):
    """Return (correlation id, request, the bytes behind it)."""
    (size,) = struct.unpack_from(">i", data)
    frame = data[4 : 4 + size]
    api_key, api_version = struct.unpack_from(">hh", frame)
    schema = load_request_schema(api_key, api_version)
    header, offset = entity_reader(schema.__header_schema__)(frame, 0)
    request, read = entity_reader(schema)(frame, offset)
    assert offset + read == size
    return header.correlation_id, request, data[4 + size :]


def list_apis(offered):
    return tuple(
        ApiVersion(api_key=key, min_version=low, max_version=high)
        for key, (low, high) in offered.items()
    )


def make_listing(*names):
    return ListConfigResourcesResponse(
        throttle_time=NO_THROTTLE,
        error_code=NONE,
        config_resources=tuple(ConfigResource(resource_name=name) for name in names),
    )


class Answers:
    """What a broker answers: greetings by itself, the rest as the test says."""

    def __init__(self, offered=OFFERED, *, mechanism="", password=PASSWORD):
        self.offered = offered
        self.mechanism = mechanism
        self.password = password
        self.requests = []
        self.login_error = NONE
        self.session_lifetime_ms = 0
        self.is_old = False
        self.others = lambda _request: make_listing("s")
        self._scram = None

    def __call__(self, request):
        self.requests.append(request)
        handlers = {17: self._handshake, 18: self._versions, 36: self._login}
        return handlers.get(request.__api_key__, self.others)(request)

    def _versions(self, request):
        if self.is_old and request.__version__ > 0:
            return OldApiVersionsResponse(
                error_code=ErrorCode.unsupported_version, api_keys=()
            )
        if self.is_old:
            apis = tuple(
                OldApiVersion(api_key=key, min_version=low, max_version=high)
                for key, (low, high) in self.offered.items()
            )
            return OldApiVersionsResponse(error_code=NONE, api_keys=apis)
        return ApiVersionsResponse(
            error_code=NONE,
            api_keys=list_apis(self.offered),
            throttle_time=i32Timedelta.parse(timedelta(0)),
        )

    def _handshake(self, request):
        is_known = request.mechanism == self.mechanism
        error = NONE if is_known else ErrorCode.unsupported_sasl_mechanism
        return SaslHandshakeResponse(error_code=error, mechanisms=(self.mechanism,))

    def _login(self, request):
        error, answer = NONE, b""
        if self.login_error is not NONE:
            error = self.login_error
        elif self.mechanism == "OAUTHBEARER":
            """Whatever the token says."""
        elif self.mechanism == "PLAIN":
            if request.auth_bytes != f"\0{USER}\0{self.password}".encode():
                error = ErrorCode.sasl_authentication_failed
        else:
            answer = self._step_scram(request.auth_bytes.decode())
        return SaslAuthenticateResponse(
            error_code=error,
            error_message=None,
            auth_bytes=answer,
            session_lifetime=i64Timedelta.parse(
                timedelta(milliseconds=self.session_lifetime_ms)
            ),
        )

    def _step_scram(self, message):
        if self._scram is None:
            mechanism = scramp.ScramMechanism(self.mechanism)
            known = mechanism.make_auth_info(self.password)
            self._scram = mechanism.make_server(lambda _user: known)
            self._scram.set_client_first(message)
            return self._scram.get_server_first().encode()
        # A server that does not know the password says so in its last message.
        with contextlib.suppress(scramp.ScramException):
            self._scram.set_client_final(message)
        last, self._scram = self._scram.get_server_final(), None
        return last.encode()


def talk(session, conversation, answers, *, chunk=None):
    """Let a session hold a conversation with a broker; return what it comes to.

    Args:
        chunk: Bytes of an answer that come at once; None for all of them.
    """
    body = None
    try:
        while True:
            frame = session.send(conversation.send(body))
            correlation_id, request, rest = split_request(frame)
            assert rest == b""
            incoming = frame_answer(request, correlation_id, answers(request))
            step = chunk or len(incoming)
            for start in range(0, len(incoming), step):
                assert body is None or start == 0
                body = session.receive(incoming[start : start + step])
    except StopIteration as ended:
        return ended.value


class Broker:
    """A listening socket that answers as told."""

    def __init__(self, answers, tls=None):
        self.answers = answers
        self.connections = 0
        self.has_connection = asyncio.Event()
        self.is_silent = False
        self.hangs_up_after = None
        """Answers on one connection before it is cut; None for no end."""
        self._tls = tls
        self._serving = {}

    async def __aenter__(self):
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", 0, ssl=self._tls
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for writer in self._serving.values():
            writer.transport.abort()
        await asyncio.gather(*self._serving)

    async def _serve(self, reader, writer):
        self.connections += 1
        self.has_connection.set()
        self._serving[asyncio.current_task()] = writer
        left = self.hangs_up_after
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while left is None or left > 0:
                size = await reader.readexactly(4)
                frame = await reader.readexactly(int.from_bytes(size))
                correlation_id, request, _ = split_request(size + frame)
                answer = self.answers(request)
                if not (self.is_silent and request.__api_key__ == 74):
                    writer.write(frame_answer(request, correlation_id, answer))
                left = left if left is None else left - 1
        writer.close()
