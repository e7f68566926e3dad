"""Many clients that push unique bytes and remember every answer.

A pusher whose connection breaks never sends the same bytes again: the old push may
have been stored. Frames are written by hand, so that one process is many clients.
"""

import asyncio
import contextlib
import struct
from collections import Counter
from dataclasses import dataclass, field

from confluent_kafka import Consumer, TopicPartition

from tests.support.kafka.topics import find_end, find_partitions

NONE, THROTTLED, UNKNOWN_SUBSCRIPTION = 0, 89, 117
UNANSWERED = None
PUSH_ID = struct.Struct(">IIQ")
"""Run, pusher and number: what makes a payload unique."""
RETRY_S = 0.05
PADDED_BYTES = 200
INTERVAL_S = 0.1
ANSWER_S = 30.0
PATIENCE_S = 180
_HEADER = struct.Struct(">hhih")
_ZERO_ID = bytes(16)


def make_frame(api_key, body):
    """Return one request of version 0 with a null client id and no tags."""
    content = _HEADER.pack(api_key, 0, 1, -1) + b"\x00" + body
    return struct.pack(">i", len(content)) + content


def make_uvarint(number):
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def make_push(instance_id, subscription_id, payload):
    head = instance_id + struct.pack(">iBb", subscription_id, 0, 0)
    return make_frame(72, head + make_uvarint(len(payload) + 1) + payload + b"\x00")


@dataclass
class Outcomes:
    """What became of each push: an error code, or no answer."""

    codes: dict = field(default_factory=dict)
    connections_lost: int = 0
    accepted: int = 0
    _has_more: asyncio.Event = field(default_factory=asyncio.Event)
    _has_sent: asyncio.Event = field(default_factory=asyncio.Event)

    def count(self):
        return Counter(self.codes.values())

    def note(self, key, code):
        self.codes[key] = code
        if code == NONE:
            self.accepted += 1
            self._has_more.set()
        elif code is UNANSWERED:
            self._has_sent.set()

    async def wait_for_accepted(self, count):
        """Wait until so many more pushes are accepted."""
        wanted = self.accepted + count
        async with asyncio.timeout(2 * PATIENCE_S):
            while self.accepted < wanted:
                self._has_more.clear()
                await self._has_more.wait()

    async def wait_for_sent(self):
        """Wait until a push is on its way, and not yet answered."""
        self._has_sent.clear()
        async with asyncio.timeout(2 * PATIENCE_S):
            await self._has_sent.wait()


def pad(key, size=PADDED_BYTES):
    """Return a payload that nobody can decode."""
    return PUSH_ID.pack(*key) + bytes(size - PUSH_ID.size)


class Pusher:
    """One client instance after another on one connection after another."""

    def __init__(self, run, number, address, make_payload, outcomes):
        self._run, self._number, self._address = run, number, address
        self._make_payload = make_payload
        self._outcomes = outcomes
        self._pushes = 0

    async def push_until(self, stop):
        while not stop.is_set():
            with contextlib.suppress(
                OSError, asyncio.IncompleteReadError, TimeoutError
            ):
                await self._use_connection(stop)
                continue
            self._outcomes.connections_lost += 1
            await asyncio.sleep(RETRY_S)

    async def _use_connection(self, stop):
        reader, writer = await asyncio.open_connection(*self._address)
        try:
            client = await self._subscribe(reader, writer)
            while not stop.is_set():
                code = await self._push(reader, writer, client)
                if code not in {NONE, THROTTLED}:
                    client = await self._subscribe(reader, writer)
                await asyncio.sleep(INTERVAL_S)
        finally:
            writer.transport.abort()

    async def _subscribe(self, reader, writer):
        writer.write(make_frame(71, _ZERO_ID + b"\x00"))
        body = await self._read_body(reader)
        assert struct.unpack_from(">h", body, 4) == (NONE,)
        return body[6:22], struct.unpack_from(">i", body, 22)[0]

    async def _push(self, reader, writer, client):
        self._pushes += 1
        key = self._run, self._number, self._pushes
        self._outcomes.note(key, UNANSWERED)
        writer.write(make_push(*client, self._make_payload(key)))
        body = await self._read_body(reader)
        (code,) = struct.unpack_from(">h", body, 4)
        self._outcomes.note(key, code)
        return code

    async def _read_body(self, reader):
        async with asyncio.timeout(ANSWER_S):
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            # Correlation id and one byte of tags stand before the body.
            return (await reader.readexactly(size))[5:]


@contextlib.asynccontextmanager
async def pushing(address, count, *, make_payload=pad, run=1):
    """Push while the block runs; yields the outcomes as they come.

    Args:
        make_payload: Of run, pusher and number, which tell the push from all others.
    """
    outcomes, stop = Outcomes(), asyncio.Event()
    pushers = [
        Pusher(run, number, address, make_payload, outcomes) for number in range(count)
    ]
    async with asyncio.TaskGroup() as group:
        for one in pushers:
            group.create_task(one.push_until(stop))
        try:
            yield outcomes
        finally:
            stop.set()


def count_stored(servers, topic):
    """Return how often each push stands in a topic, whose payloads are those of pad."""
    return Counter(PUSH_ID.unpack_from(one.value()) for one in read_all(servers, topic))


def read_all(servers, topic):
    """Yield every record that a topic holds now."""
    reader = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "unused",
            "enable.auto.commit": False,
            "enable.metrics.push": False,
        }
    )
    try:
        for number in find_partitions(reader, topic):
            partition = TopicPartition(topic, number, 0)
            end = find_end(reader, partition)
            reader.assign([partition])
            read = 0
            while read < end:
                # It waits for as many as it is asked for.
                records = reader.consume(min(1_000, end - read), PATIENCE_S)
                assert records, "Kafka says no more"
                for record in records:
                    assert record.error() is None
                    yield record
                    read = record.offset() + 1
    finally:
        reader.close()


@dataclass(frozen=True)
class Comparison:
    """What the clients heard beside what the topic holds; pushes counted."""

    accepted: int
    lost: int
    """Answered with 0, and not in the topic."""
    twice: int
    """In the topic more than once, whatever was answered."""
    unknown: int
    """In the topic, and sent by nobody."""
    refused: int
    refused_and_stored: int
    unanswered: int
    unanswered_and_stored: int

    @property
    def is_exact(self):
        return self.accepted > 0 and not (self.lost or self.twice or self.unknown)


def compare(outcomes, stored):
    codes = outcomes.codes
    accepted = {key for key, code in codes.items() if code == NONE}
    unanswered = {key for key, code in codes.items() if code is UNANSWERED}
    refused = codes.keys() - accepted - unanswered
    return Comparison(
        accepted=len(accepted),
        lost=len(accepted - stored.keys()),
        twice=sum(count > 1 for count in stored.values()),
        unknown=len(stored.keys() - codes.keys()),
        refused=len(refused),
        refused_and_stored=len(refused & stored.keys()),
        unanswered=len(unanswered),
        unanswered_and_stored=len(unanswered & stored.keys()),
    )


def print_comparison(outcomes, comparison):
    """Print the table of a run."""
    names = {NONE: "0 (accepted)", UNANSWERED: "no answer"}
    print("\nanswer             pushes")
    for code, count in sorted(outcomes.count().items(), key=lambda item: str(item[0])):
        print(f"{names.get(code, str(code)):18} {count:6}")
    print(f"connections lost   {outcomes.connections_lost:6}")
    print("\nin the topic                       pushes")
    rows = {
        "accepted and missing": comparison.lost,
        "more than once": comparison.twice,
        "sent by nobody": comparison.unknown,
        "refused, stored all the same": comparison.refused_and_stored,
        "unanswered, stored": comparison.unanswered_and_stored,
    }
    for name, count in rows.items():
        print(f"{name:34} {count:6}")
    verdict = "each accepted push exactly once" if comparison.is_exact else "NOT EXACT"
    print(f"\n{comparison.accepted} accepted pushes: {verdict}")
