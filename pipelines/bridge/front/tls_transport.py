"""Connections over TLS: handshakes in turns, then plain bytes to transport.py."""

from collections.abc import Callable
from functools import partial

from pipelines.bridge.security.tls import BrokenTls, TlsStream

from .states import SERVING
from .transport import BridgeConnection, Endpoint

MAX_TLS_HANDSHAKE_BYTES = 131_072
"""Bytes of a handshake that may wait for their turn; a certificate chain fits."""


class TlsConnection(BridgeConnection):
    """One client's connection, over TLS where its listener has that."""

    __slots__ = ("_is_queued", "_tls")

    def __init__(
        self,
        connection_id: int,
        endpoint: Endpoint,
        tls: TlsStream | None,
    ) -> None:
        super().__init__(connection_id, endpoint)
        self._tls = tls
        self._is_queued = False

    def _take_certificate(self, subject: bytes | None) -> None:
        """Take the subject of the client's certificate, if it has shown one.

        Raises: BrokenTls when the client is not wanted.
        """
        raise NotImplementedError

    def _make_send(self) -> Callable[[bytes], None]:
        tls = self._tls
        return super()._make_send() if tls is None else partial(self._send_tls, tls)

    def data_received(self, data: bytes) -> None:
        """Answer what is whole; before that, go on with the handshake."""
        tls = self._tls
        if tls is None:
            super().data_received(data)
            return
        self._endpoint.counters.received_bytes += len(data)
        if self._state not in SERVING:
            return
        self.heard_s = self._endpoint.connections.now_s
        tls.feed(data)
        if tls.is_open:
            self._read_tls(tls)
        elif tls.waiting_bytes > MAX_TLS_HANDSHAKE_BYTES:
            self._break_tls("a handshake that is too long")
        elif not self._is_queued:
            self._is_queued = True
            self._endpoint.handshakes.push(partial(self._shake_hands, tls))

    def _shake_hands(self, tls: TlsStream) -> None:
        self._is_queued = False
        if self._state not in SERVING or self._transport.is_closing():
            return
        try:
            is_done = tls.shake_hands()
            self._flush(tls)
            if is_done:
                self._take_certificate(tls.peer_subject)
                self._read_tls(tls)
        except BrokenTls as error:
            self._break_tls(str(error))

    def _read_tls(self, tls: TlsStream) -> None:
        try:
            data, is_over = tls.read()
        except BrokenTls as error:
            self._break_tls(str(error))
            return
        self._flush(tls)
        if data:
            self._receive(data)
        if is_over:
            self._end_peer()

    def _break_tls(self, reason: str) -> None:
        if self._tls is not None and not self._tls.is_open:
            self._endpoint.counters.failed_tls_handshakes += 1
        self._end("broken_tls", reason)
        if self._tls is not None:
            self._flush(self._tls)
        # Nothing can be written any more, so nothing is waited for.
        super()._close()

    def _flush(self, tls: TlsStream) -> None:
        outgoing = tls.take_outgoing()
        if outgoing:
            self._transport.write(outgoing)

    def _send_tls(self, tls: TlsStream, data: bytes) -> None:
        try:
            tls.write(data)
        except BrokenTls as error:
            self._break_tls(str(error))
            return
        self._transport.write(tls.take_outgoing())

    def _close(self) -> None:
        is_closing = self._transport.is_closing()
        if self._tls is not None and self._tls.is_open and not is_closing:
            self._tls.say_goodbye()
            self._flush(self._tls)
        super()._close()
