"""One connection to one node: blocking socket, TLS, login, requests in turn.

Strategy: everything on it shares one deadline; each wait is bounded by what is left.
"""

import itertools
import socket
import ssl
import struct
import uuid
from dataclasses import dataclass

from .deadlines import Deadline
from .faults import LoginRefused, Refused
from .login import Frames
from .messages import (
    API_VERSIONS,
    API_VERSIONS_VERSION,
    METADATA,
    METADATA_VERSION,
    NAMING_API_VERSIONS_VERSION,
    PUSH_CONFIG_VERSION,
    SASL_AUTHENTICATE,
    SASL_AUTHENTICATE_VERSION,
    SASL_HANDSHAKE,
    SASL_HANDSHAKE_VERSION,
    ConfigEntry,
    MalformedAnswer,
    Node,
    PushAnswer,
    read_api_versions,
    read_metadata,
    read_push_config,
    read_sasl_authenticate,
    read_sasl_handshake,
    strip_flexible_header,
    write_api_versions,
    write_metadata,
    write_naming_api_versions,
    write_push_config,
    write_request,
    write_sasl_authenticate,
    write_sasl_handshake,
)
from .properties import Access, Address
from .retriable_errors import RETRIABLE_ERROR_CODES
from .sockets import fault_of_tls, open_socket

MAX_ANSWER_BYTES = 1 << 20
INSTANCE_ID_SEPARATOR = "-cid-"
"""Between a software version and the client instance id that it carries."""
_UNSUPPORTED_VERSION = 35


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """What a client says about itself."""

    client_id: str
    name: str
    version: str
    client_instance_id: uuid.UUID

    @property
    def naming_version(self) -> str:
        """The version with the client instance id in it."""
        return f"{self.version}{INSTANCE_ID_SEPARATOR}{self.client_instance_id.hex}"


class Connection:
    """An open connection; close it."""

    def __init__(
        self, address: Address, connected: socket.socket, software: Software
    ) -> None:
        self.address = address
        self._socket = connected
        self._software = software
        self._correlation_ids = itertools.count(1)
        self._served: dict[int, tuple[int, int]] = {}

    def close(self) -> None:
        """Close it."""
        self._socket.close()

    def serves(self, api_key: int, deadline: Deadline) -> bool:
        """Ask what the node serves; one round trip.

        Raises: Refused where the node does not take the question. A node that is too
            old for its version serves no PushConfig either.
        """
        body = write_api_versions(self._software.name, self._software.version)
        answer = self._ask(API_VERSIONS, API_VERSIONS_VERSION, body, deadline)
        error_code, self._served = read_api_versions(answer)
        if error_code != _UNSUPPORTED_VERSION:
            _check_versions(error_code)
        return api_key in self._served

    def name_instance(self, deadline: Deadline) -> None:
        """Tell a node that serves PushConfig which client instance this is."""
        software, api_version = self._software, API_VERSIONS_VERSION
        body = write_api_versions(software.name, software.naming_version)
        # The field's version is a setting of the bridge; the text is always understood.
        if self._served.get(API_VERSIONS, (0, 0))[1] == NAMING_API_VERSIONS_VERSION:
            api_version = NAMING_API_VERSIONS_VERSION
            body = write_naming_api_versions(
                software.name, software.version, software.client_instance_id
            )
        error_code, _ = read_api_versions(
            self._ask(API_VERSIONS, api_version, body, deadline)
        )
        _check_versions(error_code)

    def log_in(self, mechanism: str, frames: Frames, deadline: Deadline) -> None:
        """Authenticate.

        Raises: LoginRefused, with the server's words about it.
        """
        answer = self._ask(
            SASL_HANDSHAKE,
            SASL_HANDSHAKE_VERSION,
            write_sasl_handshake(mechanism),
            deadline,
        )
        error_code, mechanisms = read_sasl_handshake(answer)
        if error_code:
            offered = ", ".join(mechanisms)
            raise LoginRefused(f"{mechanism} is not among {offered}")
        frame = next(frames)
        while True:
            answer = self._ask(
                SASL_AUTHENTICATE,
                SASL_AUTHENTICATE_VERSION,
                write_sasl_authenticate(frame),
                deadline,
            )
            error_code, message, reply = read_sasl_authenticate(answer)
            if error_code:
                raise LoginRefused(f"{message} (error {error_code})")
            try:
                frame = frames.send(reply)
            except StopIteration:
                return

    def list_nodes(self, deadline: Deadline) -> list[Node]:
        """Ask which nodes there are."""
        return read_metadata(
            self._ask(METADATA, METADATA_VERSION, write_metadata(), deadline)
        )

    def push(
        self, api_key: int, entries: list[ConfigEntry], deadline: Deadline
    ) -> PushAnswer:
        """Push a configuration."""
        body = write_push_config(entries)
        answer = self._ask(api_key, PUSH_CONFIG_VERSION, body, deadline)
        return read_push_config(strip_flexible_header(answer))

    def _ask(
        self, api_key: int, api_version: int, body: bytes, deadline: Deadline
    ) -> bytes:
        """Return what stands behind the correlation id of the answer."""
        correlation_id = next(self._correlation_ids)
        # Of what is sent here, the old APIs alone have headers without tagged fields.
        is_flexible = api_key not in {METADATA, SASL_HANDSHAKE, SASL_AUTHENTICATE}
        frame = write_request(
            api_key,
            api_version,
            correlation_id,
            self._software.client_id,
            body,
            is_flexible=is_flexible,
        )
        self._send(frame, deadline)
        (size,) = struct.unpack(">i", self._read(4, deadline))
        if not 4 <= size <= MAX_ANSWER_BYTES:  # noqa: PLR2004 - bytes of correlation_id
            raise MalformedAnswer(f"answer of {size} bytes")
        content = self._read(size, deadline)
        (answered_id,) = struct.unpack_from(">i", content)
        if answered_id != correlation_id:
            raise MalformedAnswer("answer to a request that was not sent")
        return content[4:]

    def _send(self, frame: bytes, deadline: Deadline) -> None:
        self._socket.settimeout(deadline.remaining_s())
        try:
            self._socket.sendall(frame)
        except (ssl.SSLError, ConnectionError):
            # With TLS 1.3 a server judges our certificate when the handshake is over
            # for us. Its alert can still be read where the connection is closed.
            self._receive(1, deadline)
            raise

    def _receive(self, size: int, deadline: Deadline) -> bytes:
        self._socket.settimeout(deadline.remaining_s())
        try:
            return self._socket.recv(size)
        except ssl.SSLError as error:
            raise fault_of_tls(error) from None

    def _read(self, size: int, deadline: Deadline) -> bytes:
        parts, missing = [], size
        while missing:
            part = self._receive(missing, deadline)
            if not part:
                raise ConnectionResetError("the connection was closed")
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)


def _check_versions(error_code: int) -> None:
    if not error_code:
        return
    text = f"ApiVersions is answered with error {error_code}"
    if error_code in RETRIABLE_ERROR_CODES:
        raise MalformedAnswer(text)
    raise Refused(text)


def open_connection(
    address: Address, access: Access, software: Software, deadline: Deadline
) -> Connection:
    """Connect and, where the protocol says so, encrypt.

    Raises: as open_socket.
    """
    connected = open_socket(address, access.tls, deadline)
    return Connection(address, connected, software)
