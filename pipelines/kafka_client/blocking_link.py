"""A connection by blocking sockets: each address of a host, TLS, requests in turn.

Strategy: everything on it shares one deadline; each wait is bounded by what is left.
"""

import socket
import ssl
import time
from collections.abc import Callable

from .faults import LoginRefused
from .messages import Request
from .properties import Address
from .session import Answer, Conversation, Session
from .tls import fault_of_tls

MAX_ANSWER_BYTES = 1 << 20
_READ_BYTES = 65_536


class DeadlinePassed(TimeoutError):
    """Raised when the time for everything is over."""


class Deadline:
    """An end that many waits share."""

    def __init__(
        self, timeout_s: float, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._now_s = now_s
        self._end_s = now_s() + timeout_s

    def remaining_s(self) -> float:
        """Return the seconds left.

        Raises: DeadlinePassed when there are none.
        """
        remaining = self._end_s - self._now_s()
        if remaining <= 0:
            raise DeadlinePassed("the time for it is over")
        return remaining


class BlockingLink:
    """An open connection; close it."""

    def __init__(
        self, address: Address, connected: socket.socket, client_id: str
    ) -> None:
        self.address = address
        self._socket = connected
        self._session = Session(client_id, max_answer_bytes=MAX_ANSWER_BYTES)

    def close(self) -> None:
        """Close it."""
        self._socket.close()

    def hold(self, conversation: Conversation[Answer], deadline: Deadline) -> Answer:
        """Return what a conversation comes to.

        Raises: OSError, DeadlinePassed among them; LoginRefused where TLS finds no
            trust; MalformedBytes; what the conversation raises.
        """
        try:
            request = next(conversation)
            while True:
                request = conversation.send(self._ask(request, deadline))
        except StopIteration as ended:
            answer: Answer = ended.value
            return answer

    def _ask(self, request: Request, deadline: Deadline) -> bytes:
        self._send(self._session.send(request), deadline)
        body = None
        while body is None:
            data = self._receive(_READ_BYTES, deadline)
            if not data:
                raise ConnectionResetError("the connection was closed")
            body = self._session.receive(data)
        return body

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


def open_link(
    address: Address, tls: ssl.SSLContext | None, client_id: str, deadline: Deadline
) -> BlockingLink:
    """Connect and, where there is TLS, encrypt.

    Args:
        address: Host and port; all addresses of the host are tried.
        tls: None for none.
        client_id: What brokers know the client by.
    Raises: OSError, DeadlinePassed among them; LoginRefused where TLS finds no trust.
    """
    try:
        connected = _open_any(address, tls, deadline)
    except ValueError:
        # Of Python's own checks: an empty label in a name, or one that is too long.
        raise ConnectionError(f"{address[0]}:{address[1]} can be no server") from None
    return BlockingLink(address, connected, client_id)


def _open_any(
    address: Address, tls: ssl.SSLContext | None, deadline: Deadline
) -> socket.socket:
    found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
    fault: OSError | LoginRefused = ConnectionError(f"{address[0]} has no address")
    for place, (family, kind, protocol, _, sockaddr) in enumerate(found):
        connecting = connected = None
        try:
            # A kernel without IPv6 does not make a socket for such an address.
            connecting = socket.socket(family, kind, protocol)
            connecting.settimeout(deadline.remaining_s() / (len(found) - place))
            connecting.connect(sockaddr)
            connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connecting.settimeout(deadline.remaining_s())
            connected = _encrypt(connecting, address[0], tls)
        except (OSError, LoginRefused) as error:
            fault = error
            continue
        finally:
            if connected is None and connecting is not None:
                connecting.close()
        return connected
    raise fault


def _encrypt(
    connected: socket.socket, host: str, tls: ssl.SSLContext | None
) -> socket.socket:
    if tls is None:
        return connected
    try:
        return tls.wrap_socket(connected, server_hostname=host)
    except ssl.SSLError as error:
        raise fault_of_tls(error) from None
