"""Memory for ShareFetch answers: pairs of real connections that share a small room."""

import asyncio
import contextlib
import socket
import struct
from contextlib import asynccontextmanager

import pytest
import uvloop

from pipelines.bridge.proxy.frames.line import Awaited, Line
from pipelines.bridge.proxy.frames.response_frames import ResponseFrames
from pipelines.bridge.proxy.relay.sides import MAX_UNSENT_BYTES
from pipelines.kafka_client.primitives import write_uvarint
from tests.fuzz.proxy_lives import Proxy, find_address, frame, read_frame

PATIENCE_S = 20
SHARE_FETCH = 78
HEAD = struct.Struct(">hhih")
MB = 1_000_000
ENDPOINT = b"\x02" + struct.pack(">i", 7) + b"\x05host" + struct.pack(">i", 9092)


def request(correlation_id):
    return frame(HEAD.pack(SHARE_FETCH, 1, correlation_id, 1) + b"c\0" + b"x" * 40)


def answer(correlation_id, size, *, names_broker=False):
    """Return a ShareFetch answer with records of a size."""
    partition = struct.pack(">ihBhBiiB", 0, 0, 0, 0, 0, 0, 0, 0)
    records = write_uvarint(size + 1) + b"r" * size + b"\x01\0"
    topic = bytes(16) + b"\x02" + partition + records + b"\0"
    endpoints = ENDPOINT + b"\0\0" if names_broker else b"\x01"
    head = struct.pack(">iBihBi", correlation_id, 0, 0, 0, 0, 30_000)
    return frame(head + b"\x02" + topic + endpoints + b"\0")


class Site:
    """A proxy, and the pairs of streams that go through it."""

    def __init__(self, room_bytes):
        self.proxy = Proxy(room_bytes=room_bytes)
        self.brokers = asyncio.Queue()
        self.front = None
        self.writers = []

    @property
    def room(self):
        return self.proxy.endpoint.room

    async def connect(self, correlation_id=1):
        """Return a client's and its broker's streams, with one request on its way."""
        address = self.front.sockets[0].getsockname()[:2]
        client = await asyncio.open_connection(*address, limit=2**30)
        client[1].write(request(correlation_id))
        broker = await self.brokers.get()
        await read_frame(broker[0])
        self.writers += (client[1], broker[1])
        return client, broker


@asynccontextmanager
async def make_site(room_bytes):
    """Yield a proxy whose answers share a room."""
    site = Site(room_bytes)
    loop = asyncio.get_running_loop()
    server = await asyncio.start_server(
        lambda *streams: site.brokers.put_nowait(streams), "127.0.0.1", 0
    )
    site.proxy.broker_address = server.sockets[0].getsockname()[:2]
    site.front = await loop.create_server(site.proxy.connect, "127.0.0.1", 0)
    async with server, site.front, asyncio.timeout(3 * PATIENCE_S):
        try:
            yield site
        finally:
            for writer in site.writers:
                writer.transport.abort()
            await wait_until(lambda: not site.proxy.counters.open_connections)
    assert site.room.held_bytes == 0


async def wait_until(condition):
    """Let the loop turn until a condition holds that sends no event."""
    while not condition():  # noqa: ASYNC110 - see above
        await asyncio.sleep(0)


def held_bytes(site):
    """Return what the proxy keeps of answers, received or unsent."""
    total = 0
    for pair in site.proxy.connections:
        responses = pair._responses
        part = responses._part if responses is not None else None
        total += len(part or b"") + pair._client.unsent_bytes
    return total


def reset(writer):
    """End a connection as a crash does: the peer gets a reset."""
    one = writer.get_extra_info("socket")
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def watch(site, most):
    """Note the most that is held, until cancelled."""
    while True:
        most.append(held_bytes(site))
        await asyncio.sleep(0.001)


def on_both_loops(test):
    return pytest.mark.parametrize(
        "run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"]
    )(test)


@on_both_loops
def test_share_fetch_answers_of_many_clients_are_bounded_in_total(run):
    pairs, size, limit = 8, 4 * MB, 9 * MB

    async def check():
        async with make_site(limit) as site:
            ends = [await site.connect() for _ in range(pairs)]
            expected = answer(1, size)
            most = []
            watching = asyncio.create_task(watch(site, most))
            # Every broker sends; no client reads yet, and the memory stays bounded.
            for _, broker in ends:
                broker[1].write(expected)
            await asyncio.sleep(0.5)
            assert site.proxy.counters.delayed_responses == pairs - 2
            # Then they are served, one after the other.
            bodies = await asyncio.gather(
                *(read_frame(client[0]) for client, _ in ends)
            )
            assert all(body == expected[4:] for body in bodies)
            watching.cancel()
            # Beside the room, each connection keeps what a socket's read brings.
            assert max(most) <= limit + pairs * 2 * MAX_UNSENT_BYTES

    run(check())


@on_both_loops
def test_share_fetch_answer_larger_than_the_room_passes(run):
    async def check():
        async with make_site(MB) as site:
            one, other = await site.connect(), await site.connect()
            large, small = answer(1, 5 * MB), answer(1, MB // 2)
            one[1][1].write(large)
            other[1][1].write(small)
            assert await read_frame(one[0][0]) == large[4:]
            assert await read_frame(other[0][0]) == small[4:]

    run(check())


@on_both_loops
def test_share_fetch_answer_that_names_a_broker_is_rewritten_and_gives_its_room_back(
    run,
):
    async def check():
        async with make_site(MB) as site:
            client, broker = await site.connect()
            broker[1].write(answer(1, 2 * MB, names_broker=True))
            body = await read_frame(client[0])
            assert b"proxy.example.org" in body
            assert b"host" not in body
            await wait_until(lambda: not site.room.held_bytes)

    run(check())


@on_both_loops
def test_share_fetch_client_that_is_gone_gives_its_room_to_the_next(run):
    async def check():
        async with make_site(MB) as site:
            gone, other = await site.connect(), await site.connect()
            gone[1][1].write(answer(1, 2 * MB)[:MB])
            await wait_until(lambda: site.room.held_bytes)
            expected = answer(1, 2 * MB)
            other[1][1].write(expected)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.2):
                    await other[0][0].read(1)
                    raise AssertionError("there is no room for it yet")
            reset(gone[0][1])
            assert await read_frame(other[0][0]) == expected[4:]

    run(check())


@on_both_loops
def test_share_fetch_client_that_never_reads_is_found_stalled(run):
    async def check():
        async with make_site(MB) as site:
            stuck, other = await site.connect(), await site.connect()
            large, expected = answer(1, 30 * MB), answer(1, MB)
            stuck[0][1].transport.pause_reading()
            stuck[1][1].write(large)
            await wait_until(lambda: site.room.held_bytes)
            other[1][1].write(expected)
            reading = asyncio.create_task(read_frame(other[0][0]))
            while not reading.done():
                for one in site.room.find_stalled():
                    one.abort()
                await asyncio.sleep(0.05)
            assert await reading == expected[4:]

    run(check())


@pytest.mark.parametrize("has_data", [True, False], ids=["ShareFetch", "Metadata"])
def test_answer_above_64_mib_is_received_if_there_is_room(has_data):
    # Brokers allow it: fetch.max.bytes.
    size, notes = 70 * 2**20, []
    line = Line()
    line.append(Awaited(7, lambda body: body, has_data=has_data))
    frames = ResponseFrames(
        line,
        find_address=find_address,
        to_client=notes.append,
        note_large=lambda: notes.append(frames.large_bytes),
    )
    frames.receive(struct.pack(">ii", size, 7) + b"begun")
    assert notes == [size]
    assert frames.missing_bytes == size + 4 - 13
