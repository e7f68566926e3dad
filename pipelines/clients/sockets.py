"""Blocking sockets to a node: each address of its host, TLS, no wait without an end."""

import socket
import ssl

from .deadlines import Deadline
from .sasl import LoginRefused
from .security import Address


def open_socket(
    address: Address, tls: ssl.SSLContext | None, deadline: Deadline
) -> socket.socket:
    """Connect and, where there is TLS, encrypt.

    Args:
        address: Host and port; all addresses of the host are tried.
        tls: None for none.
        deadline: Of this.
    Raises: OSError, DeadlinePassed among them; LoginRefused where TLS finds no trust.
    """
    found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
    fault: OSError = ConnectionError(f"{address[0]} has no address")
    for place, (family, kind, protocol, _, sockaddr) in enumerate(found):
        connecting = socket.socket(family, kind, protocol)
        connected = None
        try:
            connecting.settimeout(deadline.remaining_s() / (len(found) - place))
            connecting.connect(sockaddr)
            connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connecting.settimeout(deadline.remaining_s())
            connected = _encrypt(connecting, address[0], tls)
        except OSError as error:
            fault = error
            continue
        finally:
            if connected is None:
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
        raise LoginRefused(f"TLS: {error.reason or 'it failed'}") from None
