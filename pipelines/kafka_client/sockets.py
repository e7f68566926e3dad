"""Blocking sockets to a node: each address of its host, TLS, no wait without an end."""

import socket
import ssl

from .deadlines import Deadline
from .faults import LoginRefused
from .properties import Address

_PASSING_ALERTS = ("_ALERT_INTERNAL_ERROR", "_ALERT_USER_CANCELLED")
"""Of a peer that may do better the next time."""


def open_socket(
    address: Address, tls: ssl.SSLContext | None, deadline: Deadline
) -> socket.socket:
    """Connect and, where there is TLS, encrypt.

    Args:
        address: Host and port; all addresses of the host are tried.
        tls: None for none.
    Raises: OSError, DeadlinePassed among them; LoginRefused where TLS finds no trust.
    """
    try:
        return _open_any(address, tls, deadline)
    except ValueError:
        # Of Python's own checks: an empty label in a name, or one that is too long.
        raise ConnectionError(f"{address[0]}:{address[1]} can be no server") from None


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


def fault_of_tls(error: ssl.SSLError) -> OSError | LoginRefused:
    """Return what a fault of TLS means for the push.

    As the Java client has it, a certificate that is not trusted, an alert of the peer
    and what is no TLS at all are refusals; unlike there, two alerts are not. A
    connection that ends in the middle, as that of a server that restarts or of a load
    balancer without one, is a fault of the network.
    """
    reason = error.reason or "the connection was closed"
    is_closed = isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)
    if is_closed or not error.reason or reason.endswith(_PASSING_ALERTS):
        return ConnectionError(f"TLS: {reason}")
    return LoginRefused(f"TLS: {reason}")


def _encrypt(
    connected: socket.socket, host: str, tls: ssl.SSLContext | None
) -> socket.socket:
    if tls is None:
        return connected
    try:
        return tls.wrap_socket(connected, server_hostname=host)
    except ssl.SSLError as error:
        raise fault_of_tls(error) from None
