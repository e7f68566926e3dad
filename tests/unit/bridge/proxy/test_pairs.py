"""One pair of real connections: slow sides, ends, and drops amid a frame."""

import asyncio
import contextlib
import socket
import struct
from contextlib import asynccontextmanager

import pytest
import uvloop

from pipelines.bridge.proxy.relay.sides import MAX_UNSENT_BYTES
from tests.fuzz.proxy_lives import FETCH, Proxy, frame, read_frame

PATIENCE_S = 10
HEAD = struct.Struct(">hhih")
PIECE = b"x" * 65_536


def request(correlation_id, body=b""):
    return frame(HEAD.pack(FETCH, 15, correlation_id, -1) + body)


def response(correlation_id, body=b""):
    return frame(struct.pack(">i", correlation_id) + body)


@asynccontextmanager
async def paired():
    """Yield a proxy, a client's and a broker's streams."""
    proxy, came = Proxy(), asyncio.get_running_loop().create_future()
    server = await asyncio.start_server(
        lambda *streams: came.set_result(streams), "127.0.0.1", 0
    )
    proxy.broker_address = server.sockets[0].getsockname()[:2]
    loop = asyncio.get_running_loop()
    front = await loop.create_server(proxy.connect, "127.0.0.1", 0)
    async with server, front, asyncio.timeout(3 * PATIENCE_S):
        client = await asyncio.open_connection(*front.sockets[0].getsockname()[:2])
        broker = await came
        try:
            yield proxy, client, broker
        finally:
            for _, writer in (client, broker):
                writer.transport.abort()
            await wait_until(lambda: not proxy.counters.open_connections)


async def wait_until(condition):
    """Let the loop turn until something holds that nothing tells of."""
    while not condition():  # noqa: ASYNC110 - see above
        await asyncio.sleep(0)


async def fill(writer, head):
    """Write until nothing more is taken; return how many bytes were."""
    writer.transport.set_write_buffer_limits(high=0)
    writer.write(head)
    written = len(head)
    while True:
        writer.write(PIECE)
        written += len(PIECE)
        try:
            async with asyncio.timeout(0.5):
                await writer.drain()
        except TimeoutError:
            return written


def sizes_of(proxy):
    (pair,) = proxy.connections
    return [
        side._transport.get_write_buffer_size() for side in (pair._client, pair._broker)
    ]


def on_both_loops(test):
    return pytest.mark.parametrize(
        "run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"]
    )(test)


@on_both_loops
def test_a_client_that_does_not_read_stops_its_broker(run):
    async def check():
        async with paired() as (proxy, client, broker):
            client[1].write(request(1))
            await read_frame(broker[0])
            whole = 2**30
            head = struct.pack(">ii", whole, 1)
            written = await fill(broker[1], head)
            assert written < whole
            assert max(sizes_of(proxy)) <= 2 * MAX_UNSENT_BYTES
            # It reads again, and gets what was written.
            await client[0].readexactly(written - len(PIECE))

    run(check())


@on_both_loops
def test_a_broker_that_does_not_read_stops_its_client(run):
    async def check():
        async with paired() as (proxy, client, broker):
            whole = 2**30
            head = struct.pack(">i", whole) + HEAD.pack(FETCH, 15, 1, -1)
            written = await fill(client[1], head)
            assert written < whole
            assert max(sizes_of(proxy)) <= 2 * MAX_UNSENT_BYTES
            (pair,) = proxy.connections
            assert pair.held_bytes == 0
            await broker[0].readexactly(written - len(PIECE))

    run(check())


@on_both_loops
def test_a_client_that_is_gone_amid_a_frame_is_gone_for_its_broker(run):
    async def check():
        async with paired() as (_proxy, client, broker):
            client[1].write(request(1, b"x" * 100)[:50])
            assert len(await broker[0].readexactly(50)) == 50
            client[1].transport.abort()
            async with asyncio.timeout(PATIENCE_S):
                assert await broker[0].read() == b""

    run(check())


@on_both_loops
def test_a_broker_that_is_gone_amid_a_frame_is_gone_for_its_client(run):
    async def check():
        async with paired() as (_proxy, client, broker):
            client[1].write(request(1))
            await read_frame(broker[0])
            broker[1].write(response(1, b"x" * 100)[:50])
            assert len(await client[0].readexactly(50)) == 50
            broker[1].transport.abort()
            async with asyncio.timeout(PATIENCE_S):
                assert await client[0].read() == b""

    run(check())


async def half_close(client, broker):
    """Ask once, and say that no more comes; the broker hears both."""
    client[1].write(request(1))
    client[1].write_eof()
    await read_frame(broker[0])
    assert await broker[0].read() == b""


@on_both_loops
def test_a_client_that_only_stops_sending_still_gets_its_answers(run):
    async def check():
        async with paired() as (_proxy, client, broker):
            await half_close(client, broker)
            broker[1].write(response(1, b"answer"))
            assert await read_frame(client[0]) == struct.pack(">i", 1) + b"answer"

    run(check())


@on_both_loops
def test_a_client_that_stops_sending_does_not_wait_for_ever(run):
    async def check():
        async with paired() as (proxy, client, broker):
            await half_close(client, broker)
            connections = proxy.connections
            connections.sweep()
            assert proxy.counters.open_connections == 1
            later_s = asyncio.get_running_loop().time() + 10
            connections._now_s = lambda: later_s
            connections.sweep()
            await wait_until(lambda: not proxy.counters.open_connections)
            assert proxy.counters.write_timeouts == 1

    run(check())


@on_both_loops
def test_a_client_that_resets_while_nobody_reads_it_is_found(run):
    async def check():
        async with paired() as (proxy, client, broker):
            head = struct.pack(">i", 2**30) + HEAD.pack(FETCH, 15, 1, -1)
            await fill(client[1], head)
            (pair,) = proxy.connections
            assert not pair.is_reset()
            assert pair in proxy.endpoint.waiting
            linger = struct.pack("ii", 1, 0)
            one = client[1].get_extra_info("socket")
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            client[1].transport.abort()
            async with asyncio.timeout(PATIENCE_S):
                await wait_until(pair.is_reset)
            pair.abort()
            assert broker

    run(check())


@on_both_loops
def test_a_pair_that_is_drained_ends_when_nothing_is_owed(run):
    async def check():
        async with paired() as (proxy, client, broker):
            client[1].write(request(1))
            await read_frame(broker[0])
            (pair,) = proxy.connections
            pair.drain()
            broker[1].write(response(1))
            assert await read_frame(client[0]) == struct.pack(">i", 1)
            assert await client[0].read() == b""

    run(check())


@on_both_loops
def test_a_client_whose_broker_is_not_there_is_let_go(run):
    async def check():
        proxy = Proxy()
        loop = asyncio.get_running_loop()
        front = await loop.create_server(proxy.connect, "127.0.0.1", 0)
        async with front, asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_connection(
                *front.sockets[0].getsockname()[:2]
            )
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""
            writer.close()
            await wait_until(lambda: not proxy.counters.open_connections)
        assert proxy.counters.failed_upstream_connections == 1

    run(check())


@on_both_loops
def test_broker_is_suspected_only_when_it_ends_a_connection_itself(run):
    async def check():
        async with paired() as (proxy, client, broker):
            await half_close(client, broker)
            broker[1].write(response(1))
            broker[1].close()
            await read_frame(client[0])
            assert await client[0].read() == b""
            assert proxy.suspected == []
        async with paired() as (proxy, client, broker):
            client[1].write(request(1))
            await read_frame(broker[0])
            broker[1].transport.abort()
            with contextlib.suppress(ConnectionError):
                assert await client[0].read() == b""
            assert proxy.suspected == [1]

    run(check())
