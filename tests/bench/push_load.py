"""A load of pushes: many connections, each pushing for several client instances.

Every push is answered before its connection sends the next one, as clients do. Frames
are made once, so that the generator costs less than what it measures.
"""

import asyncio
import os
import struct
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field

API_VERSIONS, GET, PUSH = 18, 71, 72
NONE = 0
CLIENT_ID = b"load-generator"
SOFTWARE = (b"load", b"1.0")
SIZE = struct.Struct(">i")
REPLY_HEADER_BYTES = 4 + 1  # correlation id, no tags
THROTTLE_BYTES = 4


def frame(api_key, api_version, body, *, has_tags=True):
    """Return one whole request."""
    header = struct.pack(">hhih", api_key, api_version, 7, len(CLIENT_ID)) + CLIENT_ID
    request = header + (b"\0" if has_tags else b"") + body
    return SIZE.pack(len(request)) + request


def uvarint(number):
    """Return an unsigned variable-length integer."""
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def api_versions_frame():
    """Return ApiVersions 3."""
    texts = b"".join(uvarint(len(text) + 1) + text for text in SOFTWARE)
    return frame(API_VERSIONS, 3, texts + b"\0")


def get_frame(instance_id):
    """Return GetTelemetrySubscriptions 0."""
    return frame(GET, 0, instance_id + b"\0")


def push_frame(instance_id, subscription_id, metrics, *, compression_type=4):
    """Return PushTelemetry 0."""
    fixed = struct.pack(">16siBb", instance_id, subscription_id, 0, compression_type)
    return frame(PUSH, 0, fixed + uvarint(len(metrics) + 1) + metrics + b"\0")


def read_subscription_id(reply):
    """Return the SubscriptionId of a GET's reply without its size."""
    error = struct.unpack_from(">h", reply, REPLY_HEADER_BYTES + THROTTLE_BYTES)[0]
    if error != NONE:
        raise ValueError(f"GET was answered with {error}")
    at = REPLY_HEADER_BYTES + THROTTLE_BYTES + 2 + 16
    return struct.unpack_from(">i", reply, at)[0]


def read_push_error(reply):
    """Return the error code of a push's reply without its size."""
    return struct.unpack_from(">h", reply, REPLY_HEADER_BYTES + THROTTLE_BYTES)[0]


@dataclass
class LoadResult:
    """What was answered, and after how long."""

    errors: Counter = field(default_factory=Counter)
    latencies_s: list = field(default_factory=list)


class Pusher(asyncio.Protocol):
    """One connection: asks for its instances, then pushes for them in turn."""

    def __init__(self, load, instance_ids):
        self._load = load
        self._ids = instance_ids
        self._frames = []
        self._buffer = bytearray()
        self._step = self._take_versions
        self._next = 0
        self._sent_s = 0.0
        self._due_s = [0.0] * len(instance_ids)

    def connection_made(self, transport):
        self._transport = transport
        transport.write(api_versions_frame())

    def connection_lost(self, _exc):
        self._load.lost += 1

    def data_received(self, data):
        buffer = self._buffer
        buffer += data
        while len(buffer) >= 4:
            size = SIZE.unpack_from(buffer)[0]
            if len(buffer) < 4 + size:
                return
            reply = bytes(buffer[4 : 4 + size])
            del buffer[: 4 + size]
            self._step(reply)

    def _take_versions(self, _reply):
        self._step = self._take_get
        self._transport.write(get_frame(self._ids[0]))

    def _take_get(self, reply):
        instance_id = self._ids[len(self._frames)]
        subscription_id = read_subscription_id(reply)
        self._frames.append(
            push_frame(instance_id, subscription_id, self._load.make_metrics())
        )
        if len(self._frames) < len(self._ids):
            self._transport.write(get_frame(self._ids[len(self._frames)]))
            return
        self._step = self._take_push
        self._load.note_ready(self)

    def push(self):
        """Send the next push when its instance's interval is over."""
        if self._load.is_over:
            self._load.note_done()
            return
        # Behind its last push, not behind the answer: else slow ones make it less.
        wait_s = max(self._due_s[self._next], self._sent_s + self._load.pause_s)
        wait_s -= self._load.now_s()
        if wait_s > 0:
            self._load.loop.call_later(wait_s, self._send)
        else:
            self._send()

    def _send(self):
        self._sent_s = self._load.now_s()
        self._due_s[self._next] = self._sent_s + self._load.interval_s
        self._transport.write(self._frames[self._next])
        self._next = (self._next + 1) % len(self._frames)

    def _take_push(self, reply):
        result = self._load.result
        result.errors[read_push_error(reply)] += 1
        result.latencies_s.append(self._load.now_s() - self._sent_s)
        self.push()

    def close(self):
        self._transport.abort()


class Load:
    """Pushes on many connections until it is over.

    Args:
        connections: How many.
        instances_per_connection: Client instances that push on each in turn.
        metrics_bytes: Size of each push's metrics, which are random bytes.
        interval_ms: The push interval that the bridge's subscriptions have.
        pushes_per_s: An upper bound for all together; None is none.
    """

    def __init__(
        self,
        *,
        connections,
        instances_per_connection,
        metrics_bytes=2_000,
        interval_ms=100,
        pushes_per_s=None,
    ):
        self.loop = asyncio.get_running_loop()
        self.now_s = time.perf_counter
        self.interval_s = interval_ms / 1_000 * 1.02
        self.result = LoadResult()
        self.is_over = False
        self.lost = 0
        self._connections = connections
        self._per_connection = instances_per_connection
        self._metrics_bytes = metrics_bytes
        self.pause_s = connections / pushes_per_s if pushes_per_s else 0.0
        self._ready = []
        self._all_ready = asyncio.Event()
        self._done = 0
        self._all_done = asyncio.Event()
        self._slots = 0

    def make_metrics(self):
        """Return one push's metrics."""
        return os.urandom(self._metrics_bytes)

    def note_ready(self, pusher):
        """Note that a connection may push."""
        self._ready.append(pusher)
        if len(self._ready) == self._connections:
            self._all_ready.set()

    def note_done(self):
        """Note that a connection has its last reply."""
        self._done += 1
        if self._done == self._connections:
            self._all_done.set()

    async def connect(self, host, port):
        """Open all connections and ask for all subscriptions."""
        for _ in range(self._connections):
            ids = [uuid.uuid4().bytes for _ in range(self._per_connection)]
            await self.loop.create_connection(
                lambda ids=ids: Pusher(self, ids), host, port
            )
        await self._all_ready.wait()

    async def run(self, seconds):
        """Push for so long, wait for the last replies and return what was answered."""
        self.result = LoadResult()
        self.is_over = False
        self._done = 0
        self._all_done.clear()
        for number, pusher in enumerate(self._ready):
            delay_s = self.pause_s * number / self._connections
            self.loop.call_later(delay_s, pusher.push)
        await asyncio.sleep(seconds)
        self.is_over = True
        await self._all_done.wait()
        return self.result

    def close(self):
        """Close all connections."""
        for pusher in self._ready:
            pusher.close()
