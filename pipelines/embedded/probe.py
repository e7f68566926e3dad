"""Asks a broker over a raw socket whether it serves, without any Kafka client.

Strategy: ApiVersions v0 on the listener of the clients, Metadata v4 (no topics) on the
listener between brokers. Anything but a whole, error-free response means "not yet".
Source: Apache Kafka, ApiVersionsRequest.json, MetadataRequest.json, and the
responses beside them.
"""

import socket
import ssl
import struct

# api_key and api_version; neither version has tagged fields in its header.
API_VERSIONS = (18, 0)
METADATA = (3, 4)
PROBE_TIMEOUT_S = 2.0
_CORRELATION_ID = 1
_NO_CLIENT_ID = -1


def is_serving(host: str, port: int, tls: ssl.SSLContext | None) -> bool:
    """Return whether ApiVersions is answered with error code 0."""
    body = _ask(host, port, API_VERSIONS, b"", tls=tls)
    has_error_code = len(body) >= struct.calcsize(">h")
    return has_error_code and struct.unpack_from(">h", body)[0] == 0


def list_brokers(host: str, port: int) -> frozenset[int]:
    """Return the ids of the brokers that Metadata shows: registered and not fenced."""
    no_topics_no_creation = struct.pack(">ib", 0, 0)
    body = _ask(host, port, METADATA, no_topics_no_creation, tls=None)
    try:
        return _read_broker_ids(body)
    except struct.error:
        return frozenset()


def _read_broker_ids(body: bytes) -> frozenset[int]:
    """Read the broker array: node id, host, port, nullable rack, each."""
    _throttle_time_ms, count = struct.unpack_from(">ii", body)
    offset = struct.calcsize(">ii")
    ids = []
    for _ in range(count):
        node_id, host_bytes = struct.unpack_from(">ih", body, offset)
        offset += struct.calcsize(">ih") + host_bytes
        _port, rack_bytes = struct.unpack_from(">ih", body, offset)
        offset += struct.calcsize(">ih") + max(rack_bytes, 0)
        ids.append(node_id)
    return frozenset(ids)


def _ask(
    host: str,
    port: int,
    api: tuple[int, int],
    body: bytes,
    *,
    tls: ssl.SSLContext | None,
) -> bytes:
    """Return the body of the response; empty when there is none."""
    header = struct.pack(">hhih", *api, _CORRELATION_ID, _NO_CLIENT_ID)
    request = header + body
    try:
        with socket.create_connection((host, port), PROBE_TIMEOUT_S) as connection:
            if tls is None:
                return _exchange(connection, request)
            with tls.wrap_socket(connection, server_hostname=host) as secured:
                return _exchange(secured, request)
    except OSError:
        return b""


def _exchange(connection: socket.socket, request: bytes) -> bytes:
    connection.sendall(struct.pack(">i", len(request)) + request)
    (size,) = struct.unpack(">i", _read_exactly(connection, 4))
    response = _read_exactly(connection, size)
    correlation_id_bytes = struct.calcsize(">i")
    return response[correlation_id_bytes:]


def _read_exactly(connection: socket.socket, size: int) -> bytes:
    parts = []
    while size > 0:
        part = connection.recv(size)
        if not part:
            raise ConnectionResetError("the connection was closed")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
