"""The state that the system reports for a TCP connection that is not read.

A connection that is not read gets no event when its peer closes it.
"""

import asyncio
import socket

_TCP_CLOSED, _TCP_CLOSE_WAIT = 7, 8
"""TCP_CLOSE and TCP_CLOSE_WAIT of Linux."""


def is_reset(transport: asyncio.Transport) -> bool:
    """Return whether the peer has reset the connection; False where unknown."""
    return _read_state(transport) == _TCP_CLOSED


def is_ended(transport: asyncio.Transport) -> bool:
    """Return whether the peer has reset or closed its side; False where unknown."""
    return _read_state(transport) in {_TCP_CLOSED, _TCP_CLOSE_WAIT}


def _read_state(transport: asyncio.Transport) -> int | None:
    one = transport.get_extra_info("socket")
    if one is None or transport.is_closing() or not hasattr(socket, "TCP_INFO"):
        return None
    state: int = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    return state
