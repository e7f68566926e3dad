"""Replays a fleet of client instances of several kinds and versions at one interval.

`python tests/bench/fleet_load.py PORT [--instances N] [--pushes-per-s N] [--seconds N]`
prints, as JSON, what was answered. A client instance asks for its subscription once and
then pushes each interval, one after the other, so that as many are due each moment.
Many share a connection, which has one request on its way at a time, as a client's has.
The bodies are made before: a client instance pushes points of the same names and
values each time, of newer times.
"""

import argparse
import asyncio
import json
import math
import os
import resource
import statistics
import struct
import sys
import time
from array import array
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import lz4.frame
import uvloop
import zstandard

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.generated_pushes import java_push, librdkafka_push  # noqa: E402 - path
from tests.bench.push_load import (  # noqa: E402 - path
    API_VERSIONS,
    GET,
    NONE,
    PUSH,
    SIZE,
    frame,
    read_push_error,
    read_subscription_id,
    uvarint,
)
from udfs.compression.codecs import LZ4, ZSTD  # noqa: E402 - path

POINTS = 60
BODIES = 400
"""Different ones of each kind and interval."""
ID_BYTES = 16
TICK_S = 0.01
_HEAD = struct.Struct(">ihhih")
_SUBSCRIPTION = struct.Struct(">i")
_END = struct.Struct(">Bb")
_COMPRESS = {LZ4: lz4.frame.compress, ZSTD: zstandard.ZstdCompressor().compress}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What clients of one software and version push."""

    software: str
    version: str
    shape: Callable[[int, int, int], bytes]
    compression_type: int


KINDS = (
    Kind(
        software="apache-kafka-java",
        version="4.3.1",
        shape=java_push,
        compression_type=ZSTD,
    ),
    Kind(
        software="apache-kafka-java",
        version="3.9.2",
        shape=java_push,
        compression_type=LZ4,
    ),
    Kind(
        software="librdkafka",
        version="2.12.1",
        shape=librdkafka_push,
        compression_type=ZSTD,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which client instance pushes when."""

    instances: int
    pushes_per_s: float
    seconds: float
    connections_per_kind: int = 200

    @property
    def connections(self) -> int:
        """How many there are, of all kinds."""
        return self.connections_per_kind * len(KINDS)

    @property
    def interval_s(self) -> float:
        """Time between two pushes of a client instance."""
        return self.instances / self.pushes_per_s

    @property
    def pushes(self) -> int:
        """All of them."""
        return math.floor(self.seconds * self.pushes_per_s)


class FleetConnection(asyncio.Protocol):
    """One connection, of one kind of clients: asks and pushes for those that are due."""

    def __init__(self, fleet: "Fleet", kind: Kind) -> None:
        """Be of a fleet; nothing is due."""
        self._fleet, self._kind = fleet, kind
        self._due: deque[int] = deque()
        self._buffer = b""
        self._number = -1
        self._is_get = False
        self._sent_s = 0.0

    def connection_made(self, transport):
        self._transport = transport
        texts = (self._kind.software, self._kind.version)
        body = b"".join(uvarint(len(text) + 1) + text.encode() for text in texts)
        transport.write(frame(API_VERSIONS, 3, body + b"\0"))

    def connection_lost(self, _exc):
        self._fleet.note_lost()

    def push(self, number: int) -> None:
        """Let a push be due; -1 stands for none of the fleet."""
        self._due.append(number)
        if self._number < 0:
            self._send_next()

    def _send_next(self) -> None:
        if not self._due:
            self._number = -1
            return
        self._number = self._due.popleft()
        self._is_get = not self._fleet.has_asked(self._number)
        self._send()

    def _send(self) -> None:
        make = self._fleet.make_get if self._is_get else self._fleet.make_push
        self._sent_s = time.perf_counter()
        self._transport.write(make(self._number))

    def data_received(self, data):
        data = self._buffer + data
        while len(data) >= SIZE.size:
            end = SIZE.size + SIZE.unpack_from(data)[0]
            if len(data) < end:
                break
            self._take(data[SIZE.size : end])
            data = data[end:]
        self._buffer = data

    def _take(self, reply: bytes) -> None:
        if self._number < 0:  # of ApiVersions
            self._fleet.note_ready()
            return
        if self._is_get:
            self._fleet.note_subscription(self._number, read_subscription_id(reply))
            self._is_get = False
            self._send()
            return
        took_s = time.perf_counter() - self._sent_s
        self._fleet.note_push(read_push_error(reply), took_s)
        self._send_next()

    def close(self):
        self._transport.abort()


class Fleet:
    """Client instances that push until the plan is over."""

    def __init__(self, plan: Plan) -> None:
        """Make the bodies and the ids."""
        self._plan = plan
        self._ids = os.urandom(ID_BYTES * plan.instances)
        self._subscriptions = array("i", bytes(4 * plan.instances))
        self._has_asked = bytearray(plan.instances)
        self._begun_s = 0.0
        self._sent = 0
        self._connections: list[FleetConnection] = []
        self._ready = self._lost = 0
        self._is_ready, self._is_over = asyncio.Event(), asyncio.Event()
        self.errors: Counter = Counter()
        self.took_s = array("f")
        intervals = math.ceil(plan.seconds / plan.interval_s)
        self._tails = [self._make_tails(number) for number in range(intervals)]

    def _make_tails(self, interval: int) -> list[list[bytes]]:
        """Return how the pushes of an interval end, by kind: body and what is fixed."""
        start_ms = int((time.time() + interval * self._plan.interval_s) * 1000)
        made = []
        for kind in KINDS:
            compress = _COMPRESS[kind.compression_type]
            bodies = [
                compress(kind.shape(number, POINTS, start_ms))
                for number in range(min(BODIES, self._plan.instances))
            ]
            end = _END.pack(0, kind.compression_type)
            made.append([end + uvarint(len(b) + 1) + b + b"\0" for b in bodies])
        return made

    def has_asked(self, number: int) -> int:
        """Say whether the client instance of a push knows its subscription."""
        return self._has_asked[number % self._plan.instances]

    def make_get(self, number: int) -> bytes:
        """Return GetTelemetrySubscriptions 0 of the client instance of a push."""
        return self._frame(GET, number % self._plan.instances, b"\0")

    def make_push(self, number: int) -> bytes:
        """Return PushTelemetry 0."""
        interval, instance = divmod(number, self._plan.instances)
        tails = self._tails[interval][instance % len(KINDS)]
        subscription = _SUBSCRIPTION.pack(self._subscriptions[instance])
        return self._frame(PUSH, instance, subscription + tails[instance % len(tails)])

    def _frame(self, api_key: int, instance: int, rest: bytes) -> bytes:
        client_id = b"service-%08d-client-1" % instance
        place = ID_BYTES * instance
        instance_id = self._ids[place : place + ID_BYTES]
        body = b"".join((client_id, b"\0", instance_id, rest))
        head = _HEAD.size - SIZE.size
        return _HEAD.pack(head + len(body), api_key, 0, 7, len(client_id)) + body

    def note_ready(self) -> None:
        """Note that a connection knows the bridge's versions."""
        self._ready += 1
        if self._ready == self._plan.connections:
            self._is_ready.set()

    def note_lost(self) -> None:
        """Note that a connection has ended."""
        self._lost += 1

    def note_subscription(self, number: int, subscription_id: int) -> None:
        """Note what the client instance of a push was told."""
        instance = number % self._plan.instances
        self._subscriptions[instance] = subscription_id
        self._has_asked[instance] = 1

    def note_push(self, error_code: int, took_s: float) -> None:
        """Note an answer."""
        self.errors[error_code] += 1
        self.took_s.append(took_s)
        if len(self.took_s) == self._plan.pushes:
            self._is_over.set()

    async def run(self, host: str, port: int) -> None:
        """Push as planned, and wait for all answers.

        Raises: ConnectionError where the bridge closes a connection meanwhile.
        """
        loop = asyncio.get_running_loop()
        for number in range(self._plan.connections):
            # Each from an address of its own, as Linux has them on loopback.
            local = (f"127.1.{number >> 8}.{number & 255}", 0)
            kind = KINDS[number % len(KINDS)]
            _, connection = await loop.create_connection(
                lambda kind=kind: FleetConnection(self, kind),
                host,
                port,
                local_addr=local,
            )
            self._connections.append(connection)
        await self._is_ready.wait()
        self._begun_s = loop.time()
        while self._sent < self._plan.pushes:
            self._push_due(loop.time())
            await asyncio.sleep(TICK_S)
        while not self._is_over.is_set():
            if self._lost:
                raise ConnectionError(f"the bridge closed {self._lost} connections")
            await asyncio.sleep(TICK_S)
        for connection in self._connections:
            connection.close()

    def _push_due(self, now_s: float) -> None:
        due = math.ceil((now_s - self._begun_s) * self._plan.pushes_per_s)
        for number in range(self._sent, min(due, self._plan.pushes)):
            instance = number % self._plan.instances
            self._connections[instance % self._plan.connections].push(number)
        self._sent = max(self._sent, min(due, self._plan.pushes))


async def replay(host: str, port: int, plan: Plan) -> dict[str, object]:
    """Run a fleet; return what it was answered and what it took itself."""
    fleet = Fleet(plan)
    cpu_s, began_s = time.process_time(), time.perf_counter()
    begun_ms = int(time.time() * 1000)
    await fleet.run(host, port)
    cuts = statistics.quantiles(fleet.took_s, n=100)
    return {
        "begun_ms": begun_ms,
        "errors": dict(fleet.errors),
        "refused": sum(n for code, n in fleet.errors.items() if code != NONE),
        "pushes": len(fleet.took_s),
        "wall_s": time.perf_counter() - began_s,
        "cpu_s": time.process_time() - cpu_s,
        "answer_ms": {
            "p50": cuts[49] * 1e3,
            "p95": cuts[94] * 1e3,
            "p99": cuts[98] * 1e3,
        },
    }


def main():
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("port", type=int)
    parser.add_argument("--instances", type=int, default=1_000_000)
    parser.add_argument("--pushes-per-s", type=float, default=3_333)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--connections-per-kind", type=int, default=200)
    given = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    plan = Plan(
        instances=given.instances,
        pushes_per_s=given.pushes_per_s,
        seconds=given.seconds,
        connections_per_kind=given.connections_per_kind,
    )
    print(json.dumps(uvloop.run(replay("127.0.0.1", given.port, plan))))


if __name__ == "__main__":
    main()
