"""What ends a pair, and what does not: bad requests, and a silent broker side."""

import asyncio
import struct

import pytest

from tests.fuzz.proxy_lives import PRODUCE, PUSH, frame, read_frame
from tests.unit.bridge.proxy.test_pairs import (
    HEAD,
    PATIENCE_S,
    on_both_loops,
    paired,
    request,
    response,
)

METADATA = 3
UNSUPPORTED = frame(HEAD.pack(METADATA, 99, 3, -1))
PUSHED = frame(
    HEAD.pack(PUSH, 0, 5, -1) + b"\0" + bytes(16) + bytes(6) + b"\x03ab" + b"\0"
)


def produce(correlation_id, acks):
    body = struct.pack(">hh", -1, acks) + b"records"
    return frame(HEAD.pack(PRODUCE, 8, correlation_id, -1) + body)


@on_both_loops
@pytest.mark.parametrize(
    "bad", [UNSUPPORTED, frame(HEAD.pack(PUSH, 0, 3, -1)), struct.pack(">i", -1)]
)
def test_what_stands_before_a_bad_request_is_answered(run, bad):
    async def check():
        async with paired() as (proxy, client, broker):
            client[1].write(request(1) + request(2) + bad + request(4))
            assert await read_frame(broker[0]) == request(1)[4:]
            assert await read_frame(broker[0]) == request(2)[4:]
            # It answers later, and in its own time.
            broker[1].write(response(1, b"one"))
            assert await read_frame(client[0]) == response(1, b"one")[4:]
            broker[1].write(response(2, b"two"))
            assert await read_frame(client[0]) == response(2, b"two")[4:]
            assert await client[0].read() == b""
            assert await broker[0].read() == b""
            counters = proxy.counters
            assert counters.malformed_requests + counters.unsupported_requests == 1

    run(check())


@on_both_loops
def test_a_reply_of_ours_is_awaited_before_a_bad_request_ends_it(run):
    async def check():
        async with paired() as (_proxy, client, broker):
            client[1].write(request(1) + PUSHED + UNSUPPORTED)
            await read_frame(broker[0])
            broker[1].write(response(1))
            assert await read_frame(client[0]) == response(1)[4:]
            assert (await read_frame(client[0]))[:4] == struct.pack(">i", 5)
            assert await client[0].read() == b""

    run(check())


@on_both_loops
def test_what_has_no_answer_has_arrived_before_a_bad_request_ends_it(run):
    async def check():
        async with paired() as (proxy, client, broker):
            client[1].write(produce(1, 0) + UNSUPPORTED)
            assert await read_frame(broker[0]) == produce(1, 0)[4:]
            question = await read_frame(broker[0])
            assert proxy.counters.open_connections == 1
            broker[1].write(frame(question[4:8] + b"answer"))
            assert await client[0].read() == b""
            assert await broker[0].read() == b""

    run(check())


@on_both_loops
@pytest.mark.parametrize("size", [-1, 0, 7])
def test_a_size_that_holds_no_header_ends_a_connection_at_once(run, size):
    async def check():
        async with paired() as (_proxy, client, broker):
            client[1].write(struct.pack(">i", size))
            async with asyncio.timeout(PATIENCE_S):
                assert await client[0].read() == b""
                assert await broker[0].read() == b""

    run(check())


async def look(proxy):
    """Look at all pairs as if an interval had passed, twice."""
    keep_alive = proxy.endpoint.keep_alive
    now_s = keep_alive._now_s
    for _ in range(2):
        was_s = keep_alive._now_s()
        keep_alive._now_s = lambda was_s=was_s: was_s + 15
        for _ in keep_alive.look():
            await asyncio.sleep(0)
    keep_alive._now_s = now_s


async def push(client):
    client[1].write(PUSHED)
    return await read_frame(client[0])


@on_both_loops
def test_a_broker_hears_of_a_client_that_only_pushes(run):
    async def check():
        async with paired() as (proxy, client, broker):
            pushed = await push(client)
            await look(proxy)
            question = await read_frame(broker[0])
            assert question[:2] == struct.pack(">h", METADATA)
            # The next answers are the client's, each in its place.
            client[1].write(request(6))
            assert await read_frame(broker[0]) == request(6)[4:]
            broker[1].write(frame(question[4:8] + bytes(40)) + response(6, b"six"))
            assert await read_frame(client[0]) == response(6, b"six")[4:]
            assert await push(client) == pushed
            assert proxy.counters.keep_alive_requests == 1

    run(check())


@on_both_loops
@pytest.mark.parametrize("said", [b"", request(1), request(1)[:20]])
def test_a_broker_is_left_in_peace_where_telemetry_is_not_all(run, said):
    async def check():
        async with paired() as (proxy, client, broker):
            if said:
                await push(client)
            client[1].write(said)
            await broker[0].readexactly(len(said))
            await look(proxy)
            client[1].write_eof()
            assert await broker[0].read() == b""
            assert proxy.counters.keep_alive_requests == 0

    run(check())


@on_both_loops
def test_a_client_that_has_fallen_silent_is_left_to_its_broker(run):
    async def check():
        async with paired() as (proxy, client, broker):
            await push(client)
            (pair,) = proxy.connections
            pair._reader._asked_s -= 10_000
            await look(proxy)
            assert len(proxy.endpoint.keep_alive) == 0
            assert proxy.counters.keep_alive_requests == 0
            broker[1].close()
            assert await client[0].read() == b""

    run(check())


@on_both_loops
def test_a_client_that_says_no_more_is_not_spoken_for(run):
    async def check():
        async with paired() as (proxy, client, broker):
            await push(client)
            client[1].write_eof()
            assert await broker[0].read() == b""
            await look(proxy)
            assert proxy.counters.keep_alive_requests == 0

    run(check())
