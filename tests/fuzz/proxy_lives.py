"""Lives of proxied connections, cut and delayed at random, with checksummed frames.

Real sockets on both sides of the proxy's own connections; the broker at the end answers
what it can check. A whole life must bring every frame, in order and unharmed; a life
that is cut off must bring nothing else.
"""

# Longer than 400 lines: client, broker and proxy of one life, which know each other.

import asyncio
import contextlib
import random
import struct
import zlib
from dataclasses import dataclass, field

from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v4.response import (
    Coordinator,
    FindCoordinatorResponse,
)
from kio.static.primitive import i32

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.handlers import RequestHandlers, ServedRequest
from pipelines.bridge.core.records import PushIds, RecordOutlet
from pipelines.bridge.front.admission import Connections
from pipelines.bridge.protocol.push_telemetry import PUSH_TELEMETRY_API
from pipelines.bridge.protocol.replies import encode_push_reply
from pipelines.bridge.proxy.frames.addresses import rewrite_addresses
from pipelines.bridge.proxy.relay.endpoint import ProxyEndpoint
from pipelines.bridge.proxy.relay.pairs import ProxiedConnection
from pipelines.bridge.proxy.rules.answer_room import AnswerRoom
from pipelines.bridge.proxy.rules.keep_alive import KeepAlive
from pipelines.bridge.proxy.rules.shared import ProxyRules
from pipelines.bridge.proxy.rules.telemetry_gate import PublisherSigns, TelemetryGate
from pipelines.bridge.proxy.wire.shown_by_clients import (
    WireConfigs,
    watched_cares,
)
from pipelines.bridge.proxy.wire.traffic import ClientTraffic
from pipelines.kafka_wire.messages import NO_THROTTLE, encode_body
from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.rules import make_sensitive_key_rules

PRODUCE, FETCH, FIND_COORDINATOR, PUSH = 0, 1, 10, 72
_HEAD = struct.Struct(">hhih")
_CRC = struct.Struct(">I")
_LIFE_S = 120
_SIZES = (0, 1, 7, 50, 300, 5_000, 70_000, 400_000)
_SIZE_WEIGHTS = (4, 4, 4, 6, 6, 4, 2, 1)
_CUTS = (1, 2, 5, 13, 100, 4_000, 10**9)
WHOLE, CLIENT_CUT, BROKER_CUT = "whole", "client cut", "broker cut"


class Broken(AssertionError):
    """Raised when a frame is lost, harmed, or somebody else's."""


@dataclass
class Seen:
    """What a run has come across."""

    lives: dict = field(
        default_factory=lambda: dict.fromkeys((WHOLE, CLIENT_CUT, BROKER_CUT), 0)
    )
    requests: int = 0
    answers: int = 0
    own_answers: int = 0
    checked_bytes: int = 0


def find_address(node_id, _host, _port):
    return "proxy.example.org", 9292 + node_id


def coordinator_body(key):
    one = Coordinator(
        key=key, node_id=3, host="broker", port=i32(9092), error_code=ErrorCode.none, error_message=None
    )  # fmt: skip
    response = FindCoordinatorResponse(throttle_time=NO_THROTTLE, coordinators=(one,))
    return b"\0" + encode_body(response)


def frame(content):
    return struct.pack(">i", len(content)) + content


def sealed(data):
    return data + _CRC.pack(zlib.crc32(data))


def is_sealed(data):
    return len(data) >= 4 and _CRC.unpack(data[-4:])[0] == zlib.crc32(data[:-4])


async def read_frame(reader):
    size = struct.unpack(">i", await reader.readexactly(4))[0]
    return await reader.readexactly(size)


class Life:
    """One client's plan: what it sends, what it must get, and how it ends."""

    def __init__(self, seed):
        self.random = rng = random.Random(seed)  # noqa: S311 - repeatable
        self.end = rng.choices((WHOLE, CLIENT_CUT, BROKER_CUT), (4, 1, 1))[0]
        self.name = b"life-%d" % seed
        self.asked = []
        self.expected = []
        self.sent_frames = []
        for correlation_id in range(rng.randint(1, 12)):
            self._plan(correlation_id)
        self.data = b"".join(self.asked)
        self.cut_at = rng.randint(0, len(self.data))

    def _plan(self, correlation_id):
        rng = self.random
        key = rng.choices(
            (PRODUCE, FETCH, FIND_COORDINATOR, PUSH, 999), (4, 4, 1, 2, 1)
        )[0]
        version = {
            PRODUCE: rng.choice((8, 11)),
            FETCH: 15,
            FIND_COORDINATOR: 4,
            PUSH: 0,
            999: 7,
        }[key]
        head = _HEAD.pack(key, version, correlation_id, len(self.name)) + self.name
        if key == PUSH:
            body = b"\0" + rng.randbytes(16) + bytes(6) + b"\x03ab" + b"\0"
            self.asked.append(frame(head + body))
            self.expected.append(("own", correlation_id))
            return
        acks = rng.choice((0, 1, -1)) if key == PRODUCE else 1
        if key == PRODUCE:
            head += (b"\0\0" if version >= 9 else b"\xff\xff") + struct.pack(">h", acks)
        content = sealed(head + rng.randbytes(rng.choices(_SIZES, _SIZE_WEIGHTS)[0]))
        self.asked.append(frame(content))
        self.sent_frames.append(content)
        if acks:
            self.expected.append((key, correlation_id))


class Broker:
    """Checks every request, and answers it in pieces."""

    def __init__(self, seen):
        self.seen = seen
        self.lives = {}
        self.received = {}
        self.open = 0
        self.has_ended = asyncio.Event()

    async def serve(self, reader, writer):
        self.open += 1
        try:
            await self._serve(reader, writer)
        finally:
            self.open -= 1
            self.has_ended.set()

    async def wait_for(self, name, count):
        """Wait until so many requests of a life have been read."""
        while len(self.received.get(name, ())) < count:
            self.has_ended.clear()
            await self.has_ended.wait()

    async def _serve(self, reader, writer):
        with contextlib.suppress(OSError, EOFError):
            while True:
                content = await read_frame(reader)
                if not is_sealed(content):
                    raise Broken("a request was harmed on its way")
                await self._answer(content, writer)
        writer.close()

    async def _answer(self, content, writer):
        key, version, correlation_id, length = _HEAD.unpack_from(content)
        name = content[_HEAD.size : _HEAD.size + length]
        end, rng = self.lives[name], random.Random(content)  # noqa: S311 - repeatable
        self.received.setdefault(name, []).append(content)
        self.seen.requests += 1
        if key == PRODUCE:
            acks = struct.unpack_from(">h", content, _HEAD.size + length + 2)[0]
            if acks == 0:
                return
        head = struct.pack(">i", correlation_id)
        if key == FIND_COORDINATOR:
            body = coordinator_body("g" * rng.randint(0, 300))
        elif key == PRODUCE and version == 11:
            body = b"\0\x01" + bytes(5)
        else:
            body = sealed(head + rng.randbytes(rng.choices(_SIZES, _SIZE_WEIGHTS)[0]))
        data = frame(head + body)
        if end == BROKER_CUT and rng.random() < 0.3:
            await write_in_pieces(writer, data[: rng.randint(0, len(data))], rng)
            writer.transport.abort()
            raise EOFError
        await write_in_pieces(writer, data, rng)


async def write_in_pieces(writer, data, rng):
    cut = rng.choice(_CUTS)
    # The finest cuts only where they do not take all the time.
    cut = max(cut, len(data) // 400)
    at = 0
    while at < len(data):
        step = rng.randint(1, cut)
        writer.write(data[at : at + step])
        at += step
        if rng.random() < 0.2:
            await asyncio.sleep(0)
        await writer.drain()


def make_wire_configs(counters):
    """Return what looks at the requests of clients, before a Kafka that takes all."""
    settings = load_settings("base")
    rules = make_sensitive_key_rules(settings.sensitive_keys, load_config_catalogs())
    outlet = RecordOutlet(
        publish=lambda _record, acknowledge: acknowledge(True),
        push_ids=PushIds(lambda _bits: 0),
        now_ms=lambda: 0,
    )
    return WireConfigs(settings, rules, outlet, counters, note_failure=_raise)


def make_traffic(counters):
    """Return what counts the data of clients, before a Kafka that takes all."""
    settings = load_settings("base")
    rules = make_sensitive_key_rules(settings.sensitive_keys, load_config_catalogs())
    outlet = RecordOutlet(
        publish=lambda _record, acknowledge: acknowledge(True),
        push_ids=PushIds(lambda _bits: 0),
        now_ms=lambda: 0,
    )
    return ClientTraffic(settings, rules, outlet, counters, note_failure=_raise)


def _raise(error):
    raise error


class Proxy:
    """The proxy's own connections between real sockets; its handlers answer late."""

    def __init__(
        self, *, is_watched=True, is_counted=True, keep_alive_s=30, room_bytes=2**20
    ):
        loop = asyncio.get_running_loop()
        self.counters = BridgeCounters()
        self.connections = Connections(
            load_settings("base", ["limits.write_timeout_ms=2000"]).limits,
            self.counters,
            loop.time,
        )
        rng = random.Random(1)  # noqa: S311 - repeatable

        def answer(request, _connection, reply):
            answered = encode_push_reply(request.correlation_id, ErrorCode.none)
            if rng.random() < 0.5:
                reply(answered)
            else:
                loop.call_later(rng.random() * 0.01, reply, answered)

        served = ServedRequest(api=PUSH_TELEMETRY_API, handle=answer, is_counted=True)
        handlers = RequestHandlers([served])
        healthy = PublisherSigns(
            waits_since_s=None,
            acknowledged_s=None,
            refused_s=None,
            holds_records=False,
        )
        rules = ProxyRules(
            handlers=handlers,
            gate=TelemetryGate(lambda: healthy, answer_s=1),
            has_sasl=False,
            claim_name="sub",
            now_s=loop.time,
            answer_later=lambda answer: loop.call_later(5, answer),
            note_late=lambda: None,
            note_failure=_raise,
            find_owner=lambda _token_id, tell: tell(None),
            traffic=make_traffic(self.counters) if is_counted else None,
        )
        self.broker_address = None
        self.suspected = []
        cares = rules.cares()
        self.endpoint = ProxyEndpoint(
            listener="PROXY",
            brokers_name="broker 1",
            find_brokers=lambda: (
                [(1, self.broker_address)] if self.broker_address else []
            ),
            find_address=find_address,
            suspect=self.suspected.append,
            rules=rules,
            cares=watched_cares(cares) if is_watched else cares,
            connections=self.connections,
            counters=self.counters,
            max_request_bytes=1_000_000,
            keep_alive=KeepAlive(keep_alive_s, loop.time),
            room=AnswerRoom(room_bytes, stall_s=2, now_s=loop.time),
            waiting=set(),
            tls_context=None,
            find_principal=bytes.decode,
            broker_tls=None,
            networks=(),
            wire_configs=make_wire_configs(self.counters) if is_watched else None,
        )
        self.ids = 0

    def connect(self):
        self.ids += 1
        return ProxiedConnection(self.ids, self.endpoint)


async def live(life, port, broker, seen):
    """Live one life; raise Broken where a frame is not what it must be."""
    broker.lives[life.name] = life.end
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    reading = asyncio.create_task(read_answers(life, reader, seen))
    with contextlib.suppress(OSError):
        data = life.data[: life.cut_at] if life.end == CLIENT_CUT else life.data
        await write_in_pieces(writer, data, life.random)
        if life.end == CLIENT_CUT:
            # One that closes, reads no more, and must not want to write either: broker
            # and client would wait for each other, as they would without a proxy.
            unsent = writer.transport.get_write_buffer_size()
            if unsent or life.random.random() < 0.5:
                writer.transport.abort()
            else:
                writer.close()
        elif life.random.random() < 0.5:
            # It says that no more comes, and still gets every answer.
            writer.write_eof()
    answers = await asyncio.wait_for(reading, _LIFE_S)
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    if life.end == WHOLE:
        if answers != life.expected:
            raise Broken(f"{answers} instead of {life.expected}")
        # Nobody answers those without acks, so that they may still be on their way.
        async with asyncio.timeout(_LIFE_S):
            await broker.wait_for(life.name, len(life.sent_frames))
    received = broker.received.pop(life.name, [])
    if received != life.sent_frames[: len(received)]:
        raise Broken("requests in another order")
    seen.lives[life.end] += 1


async def read_answers(life, reader, seen):
    """Return the answers that came, in order, each of them checked."""
    answers = []
    with contextlib.suppress(OSError, EOFError):
        for kind, correlation_id in life.expected:
            content = await read_frame(reader)
            if struct.unpack_from(">i", content)[0] != correlation_id:
                raise Broken("an answer in the wrong place")
            check_answer(kind, content, seen)
            answers.append((kind, correlation_id))
    return answers


def check_answer(kind, content, seen):
    body = content[4:]
    if kind == "own":
        is_good = frame(content) == encode_push_reply(
            struct.unpack_from(">i", content)[0], ErrorCode.none
        )
        seen.own_answers += is_good
    elif kind == FIND_COORDINATOR:
        told = []
        rewrite_addresses(kind, 4, body, lambda *one: told.append(one) or ("x", 1))
        is_good = told == [(3, "proxy.example.org", 9295)]
    else:
        is_good = body == b"\0\x01" + bytes(5) or is_sealed(body)
    if not is_good:
        raise Broken("an answer was harmed on its way")
    seen.answers += 1
    seen.checked_bytes += len(content)


def describe(pair):
    """Say in which state a pair is."""
    names = ("_client", "_broker", "_connecting", "_line", "_requests", "_responses")
    return {name: getattr(pair, name) for name in names}


async def run(first_seed, lives, at_once=40):
    """Live many lives; return what was seen. Nothing of them may be left."""
    loop = asyncio.get_running_loop()
    seen = Seen()
    broker, proxy = Broker(seen), Proxy()
    server = await asyncio.start_server(broker.serve, "127.0.0.1", 0)
    proxy.broker_address = server.sockets[0].getsockname()[:2]
    front = await loop.create_server(proxy.connect, "127.0.0.1", 0)
    port = front.sockets[0].getsockname()[1]
    seeds = iter(range(first_seed, first_seed + lives))

    async def go():
        for seed in seeds:
            try:
                await live(Life(seed), port, broker, seen)
            except Exception as error:
                raise Broken(f"life {seed}: {error!r}") from error

    async with server, front:
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(go())
        end_s = loop.time() + _LIFE_S
        while proxy.counters.open_connections or broker.open:
            # Two sides that both wait to be read are cut off, as in a bridge.
            proxy.connections.sweep()
            if loop.time() > end_s:
                left = [describe(one) for one in proxy.connections]
                raise Broken(f"left are {left}, {broker.open} at the broker")
            broker.has_ended.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.05):
                    await broker.has_ended.wait()
    if len(proxy.connections) or proxy.endpoint.waiting:
        raise Broken("connections are left")
    if proxy.counters.malformed_requests or proxy.counters.malformed_responses:
        raise Broken(proxy.counters.as_text())
    return seen
