"""A connection beyond a limit is not read until its time is over."""

import asyncio
import time

import pytest
from kio.schema.api_versions.v0.request import ApiVersionsRequest

WAIT_MS, MINUTE_MS = 300, 60_000
SOON_S = 5


def test_the_next_request_waits_and_others_do_not(frame, run, serving):
    async def test():
        async with serving() as (bridge, client):
            await client.ask(frame, ApiVersionsRequest())
            (connection,) = bridge.connections
            began_s = time.monotonic()
            connection.hold_back(WAIT_MS)
            connection.hold_back(WAIT_MS // 3)
            assert not connection._transport.is_reading()
            await client.ask(frame, ApiVersionsRequest())
            waited_ms = (time.monotonic() - began_s) * 1_000
            assert WAIT_MS <= waited_ms < 10 * WAIT_MS
            assert len(bridge.endpoint.delays) == 0
            connection.hold_back(MINUTE_MS)
            other = type(client)(*await asyncio.open_connection(*client.address))
            await other.ask(frame, ApiVersionsRequest())
            other.writer.close()
            assert not connection._transport.is_reading()

    run(test)


def test_requests_that_are_here_already_wait_as_well(frame, run, serving):
    async def test():
        async with serving() as (bridge, client):
            await client.ask(frame, ApiVersionsRequest())
            (connection,) = bridge.connections
            client.send(frame, *[ApiVersionsRequest()] * 40)
            asyncio.get_running_loop().call_soon(connection.hold_back, WAIT_MS)
            await client.writer.drain()
            began_s = time.monotonic()
            for _ in range(40):
                await client.receive()
            assert (time.monotonic() - began_s) * 1_000 >= WAIT_MS - 5

    run(test)


def test_who_leaves_meanwhile_leaves_nothing(frame, run, serving):
    async def test():
        async with serving() as (bridge, client):
            await client.ask(frame, ApiVersionsRequest())
            (connection,) = bridge.connections
            connection.hold_back(60_000)
            assert len(bridge.endpoint.delays) == 1
            assert connection.is_owed
            connection.abort()
            await bridge.lost.get()
            assert len(bridge.endpoint.delays) == 0
            assert connection._connection.holder is None
            connection.hold_back(60_000)
            assert len(bridge.endpoint.delays) == 0

    run(test)


def test_a_drain_does_not_wait_for_it(frame, run, serving):
    async def test():
        async with serving() as (bridge, client):
            await client.ask(frame, ApiVersionsRequest())
            (connection,) = bridge.connections
            connection.hold_back(60_000)
            connection.drain()
            assert await client.is_closed()

    run(test)


@pytest.mark.parametrize("has_more_to_say", [False, True])
def test_held_connection_whose_client_hangs_up_is_closed_soon(
    frame, run, serving, has_more_to_say
):
    async def test():
        async with serving() as (bridge, client):
            await client.ask(frame, ApiVersionsRequest())
            (connection,) = bridge.connections
            connection.hold_back(MINUTE_MS)
            if has_more_to_say:
                client.send(frame, ApiVersionsRequest())
            client.writer.close()
            async with asyncio.timeout(SOON_S):
                assert await bridge.lost.get() is connection
            assert bridge.counters.open_connections == 0
            assert len(bridge.endpoint.delays) == 0

    run(test)


def test_held_connection_is_served_soon_after_its_hold_is_lifted(frame, run, serving):
    async def test():
        async with serving() as (bridge, client):
            await client.ask(frame, ApiVersionsRequest())
            (connection,) = bridge.connections
            lifted = []
            connection.hold_back(MINUTE_MS, lambda: bool(lifted))
            client.send(frame, ApiVersionsRequest())
            lifted.append(True)
            async with asyncio.timeout(SOON_S):
                await client.receive()
            assert not connection.is_owed

    run(test)
