"""asyncio sockets: bytes to the requests' handlers, replies back in order.

A connection stops reading while its peer does not read, and while it has as many
requests open as one connection may. A request that is malformed or not served closes
its connection once the replies before it are written.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import cast

from .client_identity import address_text
from .counters import BridgeCounters
from .handlers import Connection, RequestHandlers, make_identity
from .protocol.errors import MalformedRequest, UnsupportedRequest, WireError
from .protocol.replies import ReplyOrder, ReplySlot
from .protocol.requests import RequestStream

logger = logging.getLogger(__name__)

MAX_OPEN_REQUESTS = 64
"""Requests of one connection that may wait for their replies."""

ForgetConnection = Callable[["BridgeConnection"], None]


class BridgeConnection(asyncio.Protocol):
    """One client's connection."""

    def __init__(
        self,
        connection_id: int,
        *,
        handlers: RequestHandlers,
        listener: str,
        max_request_bytes: int,
        counters: BridgeCounters,
        on_lost: ForgetConnection,
    ) -> None:
        self._connection_id = connection_id
        self._handlers = handlers
        self._listener = listener
        self._counters = counters
        self._on_lost = on_lost
        self._stream = RequestStream(handlers.apis, max_request_bytes=max_request_bytes)
        self._replies = ReplyOrder()
        self._is_peer_reading = True
        self._is_reading = True
        self._is_serving = False
        self._is_ending = False
        self._is_draining = False
        self._transport: asyncio.Transport
        self._connection: Connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note who has connected."""
        self._transport = cast("asyncio.Transport", transport)
        host, port = (transport.get_extra_info("peername") or ("", 0))[:2]
        self._connection = Connection(
            connection_id=self._connection_id,
            identity=make_identity(self._listener, address_text(host), port),
        )
        self._counters.connections += 1
        self._counters.open_connections += 1

    def data_received(self, data: bytes) -> None:
        """Answer what is whole."""
        self._counters.received_bytes += len(data)
        if not self._is_ending:
            self._stream.receive_data(data)
            self._serve()

    def eof_received(self) -> bool:
        """Write what is owed to a peer that only stopped sending, then close."""
        self._is_ending = True
        self._close_when_done()
        is_secure = self._transport.get_extra_info("sslcontext") is not None
        return not is_secure and not self._transport.is_closing()

    def pause_writing(self) -> None:
        """Stop reading from a peer that does not read."""
        self._is_peer_reading = False
        self._balance()

    def resume_writing(self) -> None:
        """Go on with a peer that reads again."""
        self._is_peer_reading = True
        self._serve()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and what it has made."""
        if exc is not None:
            logger.debug("connection %d: %s", self._connection_id, type(exc).__name__)
        self._is_ending = True
        self._counters.open_connections -= 1
        self._handlers.forget(self._connection)
        self._on_lost(self)

    def drain(self) -> None:
        """Close as soon as nothing is owed to the peer and nothing half received."""
        self._is_draining = True
        self._close_when_done()

    def abort(self) -> None:
        """Close without waiting for the peer to read."""
        self._transport.abort()

    def _serve(self) -> None:
        if self._is_serving:
            return
        self._is_serving = True
        try:
            while self._is_able_to_serve():
                request = self._stream.next_request()
                if request is None:
                    break
                reply = partial(self._fill, self._replies.open())
                self._handlers.handle(request, self._connection, reply)
        except MalformedRequest as error:
            self._counters.malformed_requests += 1
            self._end("malformed_request", error)
        except UnsupportedRequest as error:
            self._counters.unsupported_requests += 1
            self._end("unsupported_request", error)
        finally:
            self._is_serving = False
        self._balance()
        self._close_when_done()

    def _is_able_to_serve(self) -> bool:
        return (
            not self._is_ending
            and self._is_peer_reading
            and len(self._replies) < MAX_OPEN_REQUESTS
        )

    def _end(self, reason: str, error: WireError) -> None:
        fields = {"reason": reason, "connection_id": self._connection_id}
        logger.info("a connection is closed: %s", error, extra=fields)
        self._is_ending = True

    def _fill(self, slot: ReplySlot, reply: bytes) -> None:
        slot.reply = reply
        ready = self._replies.take_ready()
        if self._transport.is_closing():
            return
        if ready:
            self._counters.sent_bytes += len(ready)
            self._transport.write(ready)
        self._serve()

    def _balance(self) -> None:
        """Read only while more could be served."""
        is_reading = self._is_able_to_serve()
        if self._is_ending or is_reading == self._is_reading:
            return
        self._is_reading = is_reading
        if is_reading:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def _close_when_done(self) -> None:
        is_idle = self._is_draining and not self._stream.has_bytes
        if (self._is_ending or is_idle) and not len(self._replies):
            self._transport.close()
