"""The header of PROXY protocol 2, by which a load balancer names the client.

What comes back when bytes are short: None. When they are bad: MalformedBytes, for
whoever listens to load balancers takes nobody without a header.
Source: HAProxy, doc/proxy-protocol.txt, section 2.2.
"""

import ipaddress
import struct
from dataclasses import dataclass

from pipelines.kafka_client.primitives import MalformedBytes

_SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
_FIXED = struct.Struct(">12sBBH")
_LOCAL, _PROXY = 0x20, 0x21
_IPV4_STREAM, _IPV6_STREAM = 0x11, 0x21
_IPV4 = struct.Struct(">4s4sHH")
_IPV6 = struct.Struct(">16s16sHH")
_MOST_BYTES = 4_096
"""More than any balancer adds; the protocol would allow 65,551."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyHeader:
    """What a load balancer has said."""

    size_bytes: int
    """Where the client's own bytes begin."""
    source: tuple[str, int] | None
    """The client's address and port; None where the balancer speaks for itself, or
    does not know."""


def read_proxy_header(data: bytes) -> ProxyHeader | None:
    """Read the header at the beginning of a connection; None where it is not whole.

    Raises: MalformedBytes as soon as it can be no such header.
    """
    if not _SIGNATURE.startswith(data[: len(_SIGNATURE)]):
        raise MalformedBytes("a connection without a header of PROXY protocol 2")
    if len(data) < _FIXED.size:
        return None
    _, command, family, length = _FIXED.unpack_from(data)
    size_bytes = _FIXED.size + length
    if command not in {_LOCAL, _PROXY} or size_bytes > _MOST_BYTES:
        raise MalformedBytes("a header of PROXY protocol that is not version 2")
    if len(data) < size_bytes:
        return None
    source = None
    layout = {_IPV4_STREAM: _IPV4, _IPV6_STREAM: _IPV6}.get(family)
    if command == _PROXY and layout is not None:
        if length < layout.size:
            raise MalformedBytes("a header of PROXY protocol that is too short")
        address, _, port, _ = layout.unpack_from(data, _FIXED.size)
        source = str(ipaddress.ip_address(address)), port
    return ProxyHeader(size_bytes=size_bytes, source=source)
