"""asyncio sockets: bytes to the requests' handlers, replies back in order.

A connection stops reading while its peer does not read, and while it has as many
requests open as one connection may. A request that is malformed or not served closes
its connection once the replies before it are written. What a connection may take, and
for how long, is kept in admission.py.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.handlers import (
    Connection,
    RequestHandlers,
    WriteReply,
    make_identity,
)
from pipelines.bridge.protocol.errors import UnsupportedRequest
from pipelines.bridge.protocol.replies import ReplyOrder
from pipelines.bridge.protocol.request_stream import FRAME_SIZE_BYTES, RequestStream
from pipelines.bridge.protocol.requests import parse_request
from pipelines.kafka_client.primitives import MalformedBytes

from .admission import Connections
from .delays import Delay, Delays
from .states import READING, SERVING, TRANSITIONS, Event, State
from .tcp_states import is_ended
from .turn_queue import TurnQueue

logger = logging.getLogger(__name__)

MAX_OPEN_REQUESTS = 64
"""Requests of one connection that may wait for their replies."""
MAX_REQUESTS_A_TURN = 16
"""Requests of one connection that are served before others have their turn."""
MAX_BYTES_A_TURN = 16_384
"""Of those requests; one that is larger has a turn of its own."""
MAX_UNREAD_BYTES = 4_096
"""Replies kept for a peer beyond what its socket takes; with more it is not served."""
_HELD_CHECK_S = 0.5
"""A held connection is not read, so nothing else reports that its peer has left."""
_MS = 1_000
_OPEN = State.OPEN
"""Looked at for every push: a member of an Enum is found through its class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One listener, as its connections see it."""

    listener: str
    handlers: RequestHandlers
    connections: Connections
    counters: BridgeCounters
    handshakes: TurnQueue
    turns: TurnQueue
    """Of clients that send more than one turn takes; all listeners share both."""
    delays: Delays
    """Of clients beyond a limit; all listeners share them, too."""
    max_request_bytes: int


class BridgeConnection(asyncio.Protocol):
    """One client's connection."""

    # There are thousands of them, most of them idle: no dict, no buffers.
    __slots__ = (
        "_connection",
        "_connection_id",
        "_delay",
        "_endpoint",
        "_is_lifted",
        "_is_peer_reading",
        "_is_reading",
        "_is_serving",
        "_is_waiting",
        "_replies",
        "_send",
        "_state",
        "_stream",
        "_transport",
        "_waits_until_s",
        "address",
        "heard_s",
        "held_bytes",
        "place",
    )

    def __init__(self, connection_id: int, endpoint: Endpoint) -> None:
        self._connection_id = connection_id
        self._endpoint = endpoint
        self._stream = RequestStream(max_request_bytes=endpoint.max_request_bytes)
        self._replies = ReplyOrder()
        self._state = State.NEW
        self._is_peer_reading = True
        self._is_reading = True
        self._is_serving = False
        self._is_waiting = False
        # While it is beyond a limit; it may be told so by several answers.
        self._delay: Delay | None = None
        self._waits_until_s = 0.0
        self._is_lifted: Callable[[], bool]
        self._transport: asyncio.Transport
        # Where replies go; a method that calls another would cost each of them.
        self._send: Callable[[bytes], None]
        self._connection: Connection
        self.address = ""
        self.heard_s = 0.0
        self.held_bytes = 0
        self.place = -1

    @property
    def is_owed(self) -> bool:
        """Whether requests wait for their replies, or the client for its time."""
        return len(self._replies) > 0 or self._delay is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note who has connected."""
        endpoint = self._endpoint
        self._transport, port = endpoint.connections.meet(self, transport)
        if port is None:
            self._state = TRANSITIONS[self._state, Event.TURN_AWAY]
            return
        self._state = TRANSITIONS[self._state, Event.ADMIT]
        self._send = self._make_send()
        self._transport.set_write_buffer_limits(high=MAX_UNREAD_BYTES)
        self._connection = Connection(
            connection_id=self._connection_id,
            identity=make_identity(endpoint.listener, self.address, port),
            holder=self,
        )
        endpoint.counters.connections += 1
        endpoint.counters.open_connections += 1

    def data_received(self, data: bytes) -> None:
        """Answer what is whole."""
        endpoint = self._endpoint
        endpoint.counters.received_bytes += len(data)
        if self._state not in SERVING:
            return
        self.heard_s = endpoint.connections.now_s
        self._receive(data)

    def eof_received(self) -> bool:
        """Answer what came whole of a peer that only stopped sending, then close."""
        self._end_peer()
        return not self._transport.is_closing()

    def pause_writing(self) -> None:
        """Stop reading from a peer that does not read."""
        self._is_peer_reading = False
        self._endpoint.connections.watch_reading(self)
        self._balance()

    def resume_writing(self) -> None:
        """Go on with a peer that reads again."""
        self._is_peer_reading = True
        if not self._transport.is_closing():
            self._endpoint.connections.end_reading(self)
        self._serve()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and what it has made."""
        self._state = TRANSITIONS[self._state, Event.LOSE]
        if self._state is State.TURNED_AWAY:
            return
        if exc is not None:
            logger.debug("connection %d: %s", self._connection_id, type(exc).__name__)
        self._endpoint.counters.open_connections -= 1
        self._endpoint.handlers.forget(self._connection)
        # They know each other, and would stay until Python looks for such.
        self._connection.holder = None
        if self._delay is not None:
            self._endpoint.delays.give_up(self._delay)
            self._delay = None
        self._endpoint.connections.forget(self)

    def drain(self) -> None:
        """Close as soon as nothing is owed to the peer and nothing half received."""
        self._state = TRANSITIONS[self._state, Event.DRAIN]
        self._close_when_done()

    def abort(self) -> None:
        """Close without waiting for the peer to read."""
        self._transport.abort()

    def hold_back(
        self, wait_ms: int, is_lifted: Callable[[], bool] = lambda: False
    ) -> None:
        """Take no more requests for so long; the longest wait counts.

        Args:
            is_lifted: Returns whether the reason for the wait no longer applies.
        """
        until_s = self._endpoint.delays.now_s() + wait_ms / _MS
        self._waits_until_s = max(self._waits_until_s, until_s)
        self._is_lifted = is_lifted
        if self._delay is None and not self._transport.is_closing():
            self._wait()
            self._balance()

    def _wait(self) -> None:
        """Check again when the time is over, or sooner whether the peer is there."""
        delays = self._endpoint.delays
        due_s = min(self._waits_until_s, delays.now_s() + _HELD_CHECK_S)
        self._delay = delays.push(due_s, self._check_delay)

    def _check_delay(self) -> None:
        """Go on when the time is over, its reason is gone or the peer has left."""
        self._delay = None
        transport = self._transport
        if transport.is_closing():
            return
        is_waiting = self._waits_until_s > self._endpoint.delays.now_s()
        if is_waiting and not (self._is_lifted() or is_ended(transport)):
            self._wait()
            return
        self._waits_until_s = 0.0
        # What it has said meanwhile has not been heard.
        self.heard_s = self._endpoint.connections.now_s
        self._serve()

    def _make_send(self) -> Callable[[bytes], None]:
        """Return what takes the bytes of replies."""
        return self._transport.write

    def _receive(self, data: bytes) -> None:
        """Serve bytes as the client wrote them; mostly they are one push, and whole."""
        size = len(data) - FRAME_SIZE_BYTES
        is_one_frame = (
            self._is_reading
            and not self.held_bytes
            and int.from_bytes(data[:FRAME_SIZE_BYTES]) == size
            and size <= self._stream.max_request_bytes
        )
        if is_one_frame and self._take_push(data, FRAME_SIZE_BYTES):
            return
        self._stream.receive_data(data)
        self._serve()

    def _serve(self) -> None:
        if self._is_serving:
            return
        self._is_serving = True
        served = served_bytes = 0
        try:
            while self._is_able_to_serve():
                frame = self._stream.next_frame()
                if frame is None:
                    break
                self._take_frame(frame)
                served += 1
                served_bytes += len(frame)
                if not self._stream.waiting_bytes:
                    break
                if served == MAX_REQUESTS_A_TURN or served_bytes >= MAX_BYTES_A_TURN:
                    self._wait_for_turn()
        except MalformedBytes as error:
            self._endpoint.counters.malformed_requests += 1
            self._end("malformed_request", error)
        except UnsupportedRequest as error:
            self._endpoint.counters.unsupported_requests += 1
            self._end("unsupported_request", error)
        finally:
            self._is_serving = False
        held_bytes = self._stream.waiting_bytes
        if held_bytes or self.held_bytes:
            self._endpoint.connections.hold(self, held_bytes, has_advanced=served > 0)
        self._balance()
        self._close_when_done()

    def _wait_for_turn(self) -> None:
        """Go on, and read on, when this connection has its turn again."""
        if not self._is_waiting:
            self._is_waiting = True
            self._endpoint.turns.push(self._take_turn)

    def _take_turn(self) -> None:
        self._is_waiting = False
        if not self._transport.is_closing():
            self._serve()

    def _take_frame(self, frame: bytes) -> None:
        if not self._take_push(frame, 0):
            handlers = self._endpoint.handlers
            request = parse_request(frame, handlers.apis)
            handlers.handle(request, self._connection, self._open_reply())

    def _take_push(self, data: bytes, start: int) -> bool:
        """Take a frame if it is one more push of a client known to push."""
        connection = self._connection
        reader = connection.push_reader
        if reader is None:
            return False
        plain = reader.read(data, start)
        if plain is None:
            return False
        replies = self._replies
        place = replies.open()
        reply = partial(self._fill, place)
        self._endpoint.handlers.take_push(plain[0], plain[1], connection, reply)
        if place - replies.first >= MAX_OPEN_REQUESTS - 1:
            self._balance()
        return True

    def _open_reply(self) -> WriteReply:
        return partial(self._fill, self._replies.open())

    def _is_able_to_serve(self) -> bool:
        return (
            self._state in SERVING
            and self._delay is None
            and not self._is_waiting
            and self._is_peer_reading
            and len(self._replies) < MAX_OPEN_REQUESTS
        )

    def _end(self, reason: str, detail: object) -> None:
        fields = {"reason": reason, "connection_id": self._connection_id}
        logger.info("a connection is closed: %s", detail, extra=fields)
        self._state = TRANSITIONS[self._state, Event.END]

    def _fill(self, place: int, reply: bytes) -> None:
        ready = self._replies.fill(place, reply)
        if self._transport.is_closing():
            return
        if ready:
            self._endpoint.counters.sent_bytes += len(ready)
            self._send(ready)
        # Mostly there is nothing more to do: a push came alone and is answered.
        is_plain = self._is_reading and self._state is _OPEN
        if self.held_bytes and self._state in SERVING and self._stream.has_frame:
            # Many replies may come in one turn, and each makes room for a request.
            if not self._is_serving:
                self._wait_for_turn()
        elif not is_plain:
            self._serve()

    def _balance(self) -> None:
        """Read only while more could be served."""
        is_reading = self._is_able_to_serve()
        if is_reading == self._is_reading or self._state not in READING:
            return
        self._is_reading = is_reading
        if is_reading:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def _end_peer(self) -> None:
        """Close when what came whole is answered: the peer sends no more."""
        self._state = TRANSITIONS[self._state, Event.PEER_ENDS]
        self._close_when_done()

    def _close_when_done(self) -> None:
        state = self._state
        if state is _OPEN:
            return
        if state is State.PEER_OVER and not self._stream.has_frame:
            self._state = TRANSITIONS[self._state, Event.END]
        is_idle = state is State.DRAINING and not self._stream.waiting_bytes
        if (is_idle or self._state is State.ENDING) and not len(self._replies):
            self._close()

    def _close(self) -> None:
        """Close once the peer has read everything, or may not wait any longer."""
        if not self._transport.is_closing():
            self._transport.close()
            self._endpoint.connections.watch_reading(self)
