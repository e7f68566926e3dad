"""One connection of the fuzzed core, and what a run has come across."""

import struct
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial

from pipelines.bridge.core.handlers import Connection, make_identity
from pipelines.bridge.protocol.errors import UnsupportedRequest
from pipelines.bridge.protocol.push_telemetry import plain_push_reader
from pipelines.bridge.protocol.replies import ReplyOrder
from pipelines.bridge.protocol.request_stream import RequestStream
from pipelines.bridge.protocol.requests import parse_request
from pipelines.kafka_client.primitives import MalformedBytes

MAX_REQUEST_BYTES = 4_000
CLIENT_IDS = (None, "app-1", "")
"""Those of the requests that are mutated."""


class Broken(Exception):
    """Raised when something does not hold that must; names the bytes."""


@dataclass
class Seen:
    """What a run has come across."""

    frames: int = 0
    """Frames that were read, to their end or to the first fault."""
    connections: int = 0
    answers: Counter = field(default_factory=Counter)
    """By API key and version."""
    plain_pushes: int = 0
    """Pushes that were read at once."""
    unasked: Counter = field(default_factory=Counter)
    """Requests that ended their connection, by the kind of error."""
    counts: Counter = field(default_factory=Counter)
    """What the bridge itself has counted."""
    slowest_s: float = 0.0

    def add(self, other):
        self.frames += other.frames
        self.counts += other.counts
        self.connections += other.connections
        self.plain_pushes += other.plain_pushes
        self.answers += other.answers
        self.unasked += other.unasked
        self.slowest_s = max(self.slowest_s, other.slowest_s)


class FuzzedConnection:
    """One connection as transport.py has it, without its socket."""

    def __init__(self, core, connection_id):
        self._core = core
        self.connection = Connection(
            connection_id=connection_id, identity=make_identity("L", "127.0.0.1", 1)
        )
        self._stream = RequestStream(max_request_bytes=MAX_REQUEST_BYTES)
        self._replies = ReplyOrder()
        self._asked = []
        self._answered = 0
        self.is_ended = False

    def receive(self, data):
        """Take bytes; answer what is whole, as far as it can be read."""
        self._stream.receive_data(data)
        try:
            while not self.is_ended and self._serve_one():
                pass
        except (MalformedBytes, UnsupportedRequest) as error:
            self.is_ended = True
            self._core.seen.frames += 1
            self._core.seen.unasked[type(error).__name__] += 1

    def _serve_one(self):
        began = time.perf_counter()
        frame = self._stream.next_frame()
        if frame is None:
            return False
        handlers = self._core.handlers
        try:
            request = parse_request(frame, handlers.apis)
        except (MalformedBytes, UnsupportedRequest):
            self._check_is_not_plain(frame)
            raise
        plain = self._read_at_once(frame, request)
        self._core.seen.frames += 1
        self._asked.append(request)
        reply = partial(self._fill, self._replies.open())
        if plain is None:
            handlers.handle(request, self.connection, reply)
        else:
            handlers.take_push(*plain, self.connection, reply)
        elapsed_s = time.perf_counter() - began
        if elapsed_s > self._core.seen.slowest_s:
            self._core.note_slow(elapsed_s)
        return True

    def _check_is_not_plain(self, frame):
        for client_id in CLIENT_IDS:
            if plain_push_reader(client_id).read(frame, 0) is not None:
                raise Broken(f"read at once, and by the cursor not: {frame.hex()}")

    def _read_at_once(self, frame, request):
        """Read as the cursor does; None where the connection would not do so."""
        reader = plain_push_reader(request.client_id)
        plain = None if reader is None else reader.read(frame, 0)
        if plain is None:
            return None
        if plain != (request.correlation_id, request.body):
            raise Broken(f"read at once: {plain}; by the cursor: {request}")
        self._core.seen.plain_pushes += 1
        return plain if reader is self.connection.push_reader else None

    def _fill(self, place, reply):
        ready = self._replies.fill(place, reply)
        while ready:
            size = 4 + struct.unpack_from(">i", ready)[0]
            if size > len(ready):
                raise Broken(f"a reply is cut: {ready.hex()}")
            self._core.check_reply(self._asked[self._answered], ready[4:size])
            self._answered += 1
            ready = ready[size:]

    def check_is_settled(self):
        """Check that nothing is owed once everything is acknowledged."""
        if self._answered < len(self._asked):
            raise Broken("a request was never answered")
