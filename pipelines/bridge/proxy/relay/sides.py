"""One side of a pair: a socket's transport, with TLS over it or without."""

import asyncio
from functools import partial

from pipelines.bridge.front.tcp_states import is_reset
from pipelines.bridge.proxy.frames.line import Write
from pipelines.bridge.security.tls import BrokenTls, TlsStream

MAX_UNSENT_BYTES = 262_144
"""Bytes kept for a side beyond what its socket takes; with more the other one waits."""


class Side:
    """A peer, as frames are written to it."""

    __slots__ = ("_is_finished", "_is_read", "_tls", "_transport", "write")

    def __init__(self, transport: asyncio.Transport, tls: TlsStream | None) -> None:
        """Take a connection whose TLS, if it has any, is open."""
        self._transport = transport
        self._tls = tls
        self._is_read = True
        self._is_finished = False
        # Where there is no TLS, nothing stands between.
        self.write: Write = (
            transport.write if tls is None else partial(_write_tls, transport, tls)
        )
        transport.set_write_buffer_limits(high=MAX_UNSENT_BYTES)

    @property
    def is_read(self) -> bool:
        """Whether its bytes are taken."""
        return self._is_read

    @property
    def unsent_bytes(self) -> int:
        """Bytes that its socket has not taken yet."""
        return self._transport.get_write_buffer_size()

    @property
    def is_closing(self) -> bool:
        """Whether nothing can be written any more."""
        return self._transport.is_closing()

    def read(self, *, shall_be_read: bool) -> None:
        """Take its bytes, or leave them in the socket."""
        if shall_be_read == self._is_read or self._transport.is_closing():
            return
        self._is_read = shall_be_read
        if shall_be_read:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def finish(self) -> None:
        """Say that nothing more comes; it may go on itself."""
        if self._transport.is_closing() or self._is_finished:
            return
        self._say_goodbye()
        self._is_finished = True
        self._transport.write_eof()

    def close(self) -> None:
        """Close behind what is still to be written."""
        if not self._transport.is_closing():
            self._say_goodbye()
            self._transport.close()

    def abort(self) -> None:
        """Close without waiting for anything to be read."""
        self._transport.abort()

    def is_reset(self) -> bool:
        """Say whether the peer has dropped the connection, though it is not read."""
        return not self._is_read and is_reset(self._transport)

    def _say_goodbye(self) -> None:
        if self._tls is not None and not self._is_finished:
            self._tls.say_goodbye()
            self._transport.write(self._tls.take_outgoing())


def _write_tls(transport: asyncio.Transport, tls: TlsStream, data: bytes) -> None:
    if transport.is_closing():
        return
    try:
        tls.write(data)
    except BrokenTls:
        transport.abort()
        return
    transport.write(tls.take_outgoing())


def open_tls(transport: asyncio.Transport, tls: TlsStream, data: bytes) -> bytes:
    """Decipher what has come, and answer what TLS itself asks; b"" amid a handshake.

    Raises: BrokenTls; what the peer is to be told has been written.
    """
    try:
        tls.feed(data)
        if not tls.is_open and not tls.shake_hands():
            return b""
        plain, _ = tls.read()
    finally:
        outgoing = tls.take_outgoing()
        if outgoing and not transport.is_closing():
            transport.write(outgoing)
    return plain
