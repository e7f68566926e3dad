"""What a client's connection begins with: a load balancer's header, then TLS."""

import asyncio
import ipaddress
from collections.abc import Sequence

from pipelines.bridge.core.client_identity import address_text
from pipelines.bridge.proxy.frames.proxy_header import read_proxy_header
from pipelines.bridge.proxy.rules.plan import Network
from pipelines.bridge.security.tls import BrokenTls, TlsStream
from pipelines.kafka_client.primitives import MalformedBytes

from .endpoint import ProxyEndpoint
from .sides import open_tls

MAX_TLS_HANDSHAKE_BYTES = 131_072
"""Bytes of a handshake that may be sent; a certificate chain fits."""


class Greeting:
    """One connection before it is connected to its broker."""

    def __init__(self, endpoint: ProxyEndpoint, address: str, port: int) -> None:
        """Begin with the peer's own address."""
        self._endpoint = endpoint
        is_balancer = _is_balancer(endpoint.networks, address)
        self._head: bytes | None = b"" if is_balancer else None
        self._received_bytes = 0
        self.address = address
        """The client's, once the header is read."""
        self.port = port
        self.principal: str | None = None
        """Of the client's certificate, if it has shown one that counts."""
        context = endpoint.tls_context
        self.tls = None if context is None else TlsStream(context())
        self.rest = b""
        """Bytes of the client that belong behind the greeting."""

    @property
    def is_over(self) -> bool:
        """Whether the client has been greeted."""
        return self._head is None and (self.tls is None or self.tls.is_open)

    def receive(self, transport: asyncio.Transport, data: bytes) -> None:
        """Take bytes as they came.

        Raises: MalformedBytes, BrokenTls.
        """
        if self._head is not None:
            self._head += data
            header = read_proxy_header(self._head)
            if header is None:
                return
            if header.source is not None:
                self.address = address_text(header.source[0])
                self.port = header.source[1]
            data, self._head = self._head[header.size_bytes :], None
        if self.tls is None:
            self.rest += data
            return
        self._received_bytes += len(data)
        if self._received_bytes > MAX_TLS_HANDSHAKE_BYTES:
            raise BrokenTls("a handshake that is too long")
        self.rest += open_tls(transport, self.tls, data)
        if self.tls.is_open:
            self._take_certificate(self.tls)

    def _take_certificate(self, tls: TlsStream) -> None:
        subject = tls.peer_subject
        if subject is None:
            return
        try:
            self.principal = f"User:{self._endpoint.find_principal(subject)}"
        except ValueError:
            raise MalformedBytes("a certificate that names no principal") from None


def find_source(networks: Sequence[Network], address: str, early: bytes) -> str | None:
    """Return the address of a client, be it behind a load balancer.

    Args:
        networks: Of load balancers.
        address: The peer's.
        early: What it has sent.
    Nulls: None where the header of a balancer is not whole yet.
    Raises: MalformedBytes.
    """
    if not _is_balancer(networks, address):
        return address
    header = read_proxy_header(early)
    if header is None:
        return None
    return address if header.source is None else address_text(header.source[0])


def _is_balancer(networks: Sequence[Network], address: str) -> bool:
    if not networks:
        return False
    try:
        one = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return any(one in network for network in networks)
