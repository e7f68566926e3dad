# Longer than 400 lines because all methods share the state of one pair: another object
# between them would cost every piece of data a call.
"""Pairs of connections: a client's to us, and ours to its broker.

A pair is counted, limited and watched as one connection of the bridge. A side that
takes no more bytes stops the reading of the other one; the end of one is passed on to
the other behind the bytes before it. What stands in the frames is read elsewhere.
"""

import asyncio
import logging
from dataclasses import replace

from pipelines.bridge.core.handlers import Connection, make_identity
from pipelines.bridge.protocol.errors import MalformedResponse
from pipelines.bridge.proxy.frames.line import MAX_OPEN_REQUESTS, Line, OwnReply
from pipelines.bridge.proxy.frames.request_frames import RequestFrames
from pipelines.bridge.proxy.frames.response_frames import ResponseFrames
from pipelines.bridge.proxy.rules.client_requests import ClientRequests
from pipelines.bridge.proxy.rules.states import TRANSITIONS, Event, State
from pipelines.bridge.security.tls import BrokenTls, TlsStream
from pipelines.kafka_client.primitives import MalformedBytes, WireError

from .broker_connection import connect_to_broker
from .endpoint import ProxyEndpoint
from .greeting import Greeting
from .sides import Side, open_tls

logger = logging.getLogger(__name__)
# Looked at for all that comes: a member of an Enum is found through its class.
_DRAINING = State.DRAINING


class ProxiedConnection(asyncio.Protocol):
    """One client's connection, and through it the pair."""

    # There are thousands of them, most of them idle: no dict, no buffers.
    __slots__ = (
        "_broker", "_client", "_connecting", "_connection_id", "_early", "_endpoint",
        "_greeting", "_is_broker_heard", "_is_broker_taking", "_is_client_taking",
        "_line", "_reader", "_requests", "_responses", "_state", "_tls", "_transport",
        "address", "heard_s", "held_bytes", "place",
    )  # fmt: skip

    def __init__(self, connection_id: int, endpoint: ProxyEndpoint) -> None:
        self._connection_id = connection_id
        self._endpoint = endpoint
        self._transport: asyncio.Transport
        self._client: Side | None = None
        self._broker: Side | None = None
        self._tls: TlsStream | None = None
        self._greeting: Greeting | None = None
        self._early: bytes | None = b""
        self._line = Line()
        self._reader: ClientRequests | None = None
        self._requests: RequestFrames | None = None
        self._responses: ResponseFrames | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._state = State.NEW
        self._is_broker_heard = False
        self._is_broker_taking = self._is_client_taking = True
        self.address = ""
        self.heard_s = 0.0
        self.held_bytes = 0
        self.place = -1

    @property
    def is_owed(self) -> bool:
        """Whether the client waits for an answer, be it a long poll's."""
        responses = self._responses
        return responses is None or bool(self._line) or responses.is_amid

    @property
    def open_bytes(self) -> int:
        """Bytes of large answers that are still to be received, or to be sent."""
        client, responses = self._client, self._responses
        if client is None or responses is None:
            return 0
        return responses.missing_bytes + client.unsent_bytes

    def take_room(self) -> None:
        """Read the large answer that there is room for."""
        self._balance()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note who has connected, and let it greet."""
        endpoint = self._endpoint
        self._transport, port = endpoint.connections.meet(self, transport)
        if port is None:
            self._state = TRANSITIONS[self._state, Event.TURN_AWAY]
            return
        self._state = TRANSITIONS[self._state, Event.ADMIT]
        endpoint.counters.connections += 1
        endpoint.counters.open_connections += 1
        self._greeting = Greeting(endpoint, self.address, port)
        if self._greeting.is_over:
            self._meet()
        else:
            endpoint.connections.begin_handshake(self)

    def data_received(self, data: bytes) -> None:
        """Pass on what the client says."""
        endpoint = self._endpoint
        self.heard_s = endpoint.connections.now_s
        if self._tls is not None:
            data = self._decipher(self._tls, data)
        requests = self._requests
        if requests is None:
            self._greet(data)
            return
        endpoint.counters.proxied_request_bytes += len(data)
        try:
            requests.receive(data)
        except WireError as error:
            self._end_requests(error)
            return
        part = requests.part
        if part is not None or self.held_bytes:
            held_bytes = 0 if part is None else len(part)
            endpoint.connections.hold(self, held_bytes, has_advanced=False)
        if len(self._line) > MAX_OPEN_REQUESTS or self._state is _DRAINING:
            self._balance()

    def eof_received(self) -> bool:
        """Tell the broker that no more requests come; answers still do."""
        self._state = TRANSITIONS[self._state, Event.CLIENT_ENDS]
        if self._broker is None:
            return self._connecting is not None
        self._finish_requests(self._broker)
        return True

    def pause_writing(self) -> None:
        """Stop reading from the broker of a client that does not read."""
        self._is_client_taking = False
        self._balance()

    def resume_writing(self) -> None:
        """Go on with a client that reads again."""
        self._is_client_taking = True
        self._settle_room()
        self._balance()

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass on that the client is gone, behind what it has said."""
        if self._state is State.TURNED_AWAY:
            return
        if exc is not None:
            logger.debug("connection %d: %s", self._connection_id, type(exc).__name__)
        self._client = None
        self._early = None
        self._endpoint.room.take(self, 0)
        if self._reader is not None:
            self._reader.forget()
        if self._connecting is not None and self._broker is None:
            self._connecting.cancel()
        self._end_other(self._broker)

    def drain(self) -> None:
        """Close as soon as nothing is owed to the client and nothing half received."""
        self._state = TRANSITIONS[self._state, Event.DRAIN]
        self._settle()

    def abort(self) -> None:
        """Close both sides without waiting for anyone to read."""
        self._transport.abort()
        if self._broker is not None:
            self._broker.abort()

    def fill(self, place: OwnReply, frame: bytes) -> None:
        """Write a reply of ours when its turn comes."""
        responses, client = self._responses, self._client
        if responses is None or client is None or client.is_closing:
            return
        try:
            responses.fill(place, frame)
        except MalformedResponse as error:
            self._end_broken(error)
            return
        self._endpoint.keep_alive.add(self)
        if self._state is State.BROKER_OVER:
            self._end_client()
        else:
            self._settle()

    def broker_made(self, broker: Side, node_id: int) -> None:
        """Begin to pass on, now that this broker is there."""
        client, endpoint, reader = self._client, self._endpoint, self._reader
        if client is None or reader is None:
            broker.abort()
            return
        self._broker, wire = broker, endpoint.wire_configs
        reader.note_broker(node_id)
        self._requests = RequestFrames(
            self._line,
            cares=endpoint.cares,
            reader=reader,
            find_address=endpoint.find_address,
            to_broker=broker.write,
            max_read_bytes=endpoint.max_request_bytes,
            watch=None if wire is None else wire.watch(reader),
            traffic=reader.traffic,
        )
        self._responses = ResponseFrames(
            self._line,
            find_address=endpoint.find_address,
            to_client=client.write,
            note_large=self._settle_room,
        )
        early, self._early = self._early, None
        if early:
            tls, self._tls = self._tls, None
            self.data_received(early)
            self._tls = tls
        if self._state is State.CLIENT_OVER:
            self._finish_requests(broker)
        self._settle()

    def broker_received(self, data: bytes) -> None:
        """Pass on what the broker says."""
        responses = self._responses
        if responses is None or self._client is None:
            return
        self._is_broker_heard = True
        self._endpoint.counters.proxied_response_bytes += len(data)
        try:
            responses.receive(data)
        except MalformedResponse as error:
            self._end_broken(error)
            return
        if responses.is_blocked or not self._client.is_read or self._state is _DRAINING:
            self._settle()

    def broker_taking(self, *, is_taking: bool) -> None:
        """Read from the client only while its broker reads."""
        self._is_broker_taking = is_taking
        self._balance()

    def broker_lost(self, exc: Exception | None) -> None:
        """Pass on that the broker is gone, behind what it has said."""
        if exc is not None:
            logger.debug(
                "broker of connection %d: %s", self._connection_id, type(exc).__name__
            )
        self._broker = self._requests = None
        if self._state is State.OPEN and self._client and self._reader:
            # It may be down: then its port is closed before the client comes back.
            node_id = self._reader.connection.identity.broker_id
            if node_id is not None:
                self._endpoint.suspect(node_id)
        self._state = TRANSITIONS[self._state, Event.LOSE_BROKER]
        self._end_client()

    def keep_alive(self, now_s: float, interval_s: float) -> bool:
        """Say something to a broker that has said nothing since the last look."""
        broker, requests, reader = self._broker, self._requests, self._reader
        if broker is None or requests is None or reader is None:
            return False
        if self._state is not State.OPEN or not reader.is_expected(now_s, interval_s):
            return False
        is_silent = not (self._is_broker_heard or self._line or requests.is_amid)
        self._is_broker_heard = False
        if is_silent and reader.speak_up(now_s, broker.write):
            self._endpoint.counters.keep_alive_requests += 1
        return True

    def is_reset(self) -> bool:
        """Say whether a side that is not read has dropped its connection."""
        sides = self._client, self._broker
        return any(side is not None and side.is_reset() for side in sides)

    def _finish_requests(self, broker: Side) -> None:
        """Tell a broker that no more requests come."""
        broker.finish()
        # One that owes an answer and never gives it must not keep this for ever.
        self._endpoint.connections.watch_reading(self)

    def _greet(self, data: bytes) -> None:
        """Take what comes before the broker is there."""
        greeting = self._greeting
        if greeting is None:
            # uvloop begins to read behind connection_made, though told not to there.
            self._transport.pause_reading()
            if self._early is not None:
                self._early += data
            return
        try:
            greeting.receive(self._transport, data)
        except (MalformedBytes, BrokenTls) as error:
            self._endpoint.counters.malformed_requests += 1
            self._end("bad_greeting", error)
            return
        if greeting.is_over:
            self._endpoint.connections.end_handshake(self)
            self._meet()

    def _meet(self) -> None:
        """Connect a client that has greeted to its broker."""
        greeting, self._greeting = self._greeting, None
        if greeting is None:
            return
        endpoint = self._endpoint
        identity = make_identity(endpoint.listener, greeting.address, greeting.port)
        connection = Connection(connection_id=self._connection_id, identity=identity)
        if greeting.principal is not None:
            connection.change_identity(replace(identity, principal=greeting.principal))
        self._tls, self._early = greeting.tls, greeting.rest
        self._client = Side(self._transport, greeting.tls)
        self._reader = ClientRequests(endpoint.rules, connection, self._line, self.fill)
        self._balance()
        self._connecting = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        """Connect to the broker; a client whose broker is not there is let go."""
        endpoint = self._endpoint
        try:
            await connect_to_broker(self, endpoint)
        except (OSError, BrokenTls) as error:
            endpoint.counters.failed_upstream_connections += 1
            name, fields = type(error).__name__, self._describe("no_broker")
            logger.info(
                "no connection to %s: %s", endpoint.brokers_name, name, extra=fields
            )
            self._transport.abort()
        finally:
            self._connecting = None

    def _decipher(self, tls: TlsStream, data: bytes) -> bytes:
        try:
            return open_tls(self._transport, tls, data)
        except BrokenTls as error:
            self._end("broken_tls", error)
            return b""

    def _end_client(self) -> None:
        """Close behind the last reply of ours: a client that pushes waits for it."""
        first = self._line[0] if self._line else None
        responses = self._responses
        is_cut = responses and responses.is_amid and not responses.is_blocked
        if self._client is None or is_cut or not isinstance(first, OwnReply):
            self._end_other(self._client)

    def _end_other(self, other: Side | None) -> None:
        """Close the other side behind what is still to be written, or forget both."""
        if other is not None:
            # Its peer may not read: then it is cut off after a while.
            self._endpoint.connections.watch_reading(self)
            other.close()
            return
        if not (self._client or self._broker or self._state is State.GONE):
            self._state = TRANSITIONS[self._state, Event.LOSE_BOTH]
            self._endpoint.counters.open_connections -= 1
            self._endpoint.waiting.discard(self)
            self._endpoint.keep_alive.forget(self)
            self._endpoint.connections.forget(self)
            # They know each other, and would stay until Python looks for such.
            self._reader = self._requests = self._responses = None

    def _end_requests(self, error: WireError) -> None:
        """Take no more requests; close when those before a bad one are answered."""
        reason = self._endpoint.counters.count_bad_request(error)
        logger.info("a connection is closed: %s", error, extra=self._describe(reason))
        self._endpoint.connections.hold(self, 0)
        reader, requests, broker = self._reader, self._requests, self._broker
        if reader and broker and requests and requests.has_unanswered:
            # Once the broker answers this, it has taken what it says nothing to.
            reader.speak_up(self._endpoint.rules.now_s(), broker.write)
        self.drain()

    def _end_broken(self, error: MalformedResponse) -> None:
        self._endpoint.counters.malformed_responses += 1
        self._end("malformed_response", error)

    def _end(self, reason: str, detail: object) -> None:
        logger.info("a connection is closed: %s", detail, extra=self._describe(reason))
        self._close()

    def _describe(self, reason: str) -> dict[str, object]:
        return {"reason": reason, "connection_id": self._connection_id}

    def _close(self) -> None:
        """Close both sides behind what is still to be written."""
        if self._client is None:
            self._transport.close()
        for side in (self._client, self._broker):
            if side is not None:
                self._end_other(side)

    def _settle_room(self) -> None:
        """Ask for room for a large answer, or give it back.

        An answer that is written needs its room until the client has taken it, and
        meanwhile no other one is received.
        """
        responses = self._responses
        if responses is None or not self._is_client_taking:
            return
        room = self._endpoint.room
        room.take(self, responses.large_bytes)
        if room.is_waiting(self):
            self._endpoint.counters.delayed_responses += 1
            self._balance()

    def _settle(self) -> None:
        """Read on where that is possible again, and close what waits for that."""
        requests = self._requests
        is_done = requests is None or not (requests.is_amid or self.is_owed)
        if self._state is _DRAINING and is_done:
            self._close()
        else:
            self._balance()

    def _balance(self) -> None:
        """Read from each side only while the other one takes what comes."""
        requests, responses = self._requests, self._responses
        reads_client = (
            requests is not None
            and len(self._line) <= MAX_OPEN_REQUESTS
            and self._is_broker_taking
            and (requests.is_amid or self._state is not _DRAINING)
        )
        is_blocked = responses is not None and responses.is_blocked
        is_held_back = is_blocked or self._endpoint.room.is_waiting(self)
        reads_broker = self._is_client_taking and not is_held_back
        if self._client is not None:
            self._client.read(shall_be_read=reads_client)
        if self._broker is not None:
            self._broker.read(shall_be_read=reads_broker)
        if reads_client and reads_broker:
            self._endpoint.waiting.discard(self)
        elif self._state is not State.GONE:
            self._endpoint.waiting.add(self)
