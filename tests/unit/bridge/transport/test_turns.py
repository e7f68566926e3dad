"""A flood on one connection leaves the loop to others after each turn."""

import asyncio
import struct
import uuid

from pipelines.bridge.transport import (
    MAX_OPEN_REQUESTS,
    MAX_REQUESTS_A_TURN,
    BridgeConnection,
)
from tests.bench.push_load import get_frame, push_frame, read_subscription_id

OLD_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)


class Wire(asyncio.Transport):
    """A transport that notes what is written, and whether it is read from."""

    def __init__(self):
        super().__init__({"peername": ("127.0.0.1", 1)})
        self.replies, self.is_read, self.closing = 0, True, False
        self.last = b""

    def write(self, data):
        self.replies += 1
        self.last = data

    def set_write_buffer_limits(self, **_limits):
        return

    def is_closing(self):
        return self.closing

    def pause_reading(self):
        self.is_read = False

    def resume_reading(self):
        self.is_read = True


def test_a_turn_serves_so_many_requests_and_reads_no_more_before_the_next(run, serving):
    async def test():
        async with serving() as (bridge, _):
            connection, wire = BridgeConnection(99, bridge.endpoint), Wire()
            connection.connection_made(wire)
            connection.data_received(OLD_VERSIONS * (2 * MAX_REQUESTS_A_TURN + 1))
            assert (wire.replies, wire.is_read) == (MAX_REQUESTS_A_TURN, False)
            turns = []
            asyncio.get_running_loop().call_soon(lambda: turns.append(wire.replies))
            while not wire.is_read:
                turn = asyncio.get_running_loop().create_future()
                asyncio.get_running_loop().call_soon(turn.set_result, None)
                await turn
            assert turns == [2 * MAX_REQUESTS_A_TURN]
            assert wire.replies == 2 * MAX_REQUESTS_A_TURN + 1
            connection.connection_lost(None)

    run(test)


def test_a_turn_after_the_end_serves_and_holds_nothing(run, serving):
    async def test():
        async with serving() as (bridge, _):
            connection, wire = BridgeConnection(99, bridge.endpoint), Wire()
            connection.connection_made(wire)
            connection.data_received(OLD_VERSIONS * (MAX_REQUESTS_A_TURN + 1))
            wire.closing = True
            connection.connection_lost(None)
            turn = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_soon(turn.set_result, None)
            await turn
            assert wire.replies == MAX_REQUESTS_A_TURN
            assert bridge.endpoint.connections.held_bytes == 0

    run(test)


def test_pushes_that_come_one_by_one_are_read_up_to_the_bound(run, serving):
    async def test():
        async with serving() as (bridge, _):
            connection, wire = BridgeConnection(99, bridge.endpoint), Wire()
            connection.connection_made(wire)
            connection.data_received(get_frame(uuid.UUID(int=99).bytes))
            subscription_id = read_subscription_id(wire.last[4:])
            push = push_frame(uuid.UUID(int=99).bytes, subscription_id, b"m")
            for _ in range(MAX_OPEN_REQUESTS - 1):
                connection.data_received(push)
            assert wire.is_read
            connection.data_received(push)
            assert not wire.is_read
            assert bridge.published.qsize() == MAX_OPEN_REQUESTS
            while not bridge.published.empty():
                bridge.published.get_nowait()[1](True)
            assert (wire.is_read, wire.replies) == (True, MAX_OPEN_REQUESTS + 1)
            assert bridge.counters.accepted_pushes == MAX_OPEN_REQUESTS
            connection.connection_lost(None)

    run(test)


def test_push_that_is_too_long_is_no_push_though_it_comes_whole(run, serving):
    async def test():
        async with serving() as (bridge, _):
            connection, wire = BridgeConnection(99, bridge.endpoint), Wire()
            connection.connection_made(wire)
            connection.data_received(get_frame(uuid.UUID(int=99).bytes))
            subscription_id = read_subscription_id(wire.last[4:])
            for size in (5, 4_000):
                push = push_frame(uuid.UUID(int=99).bytes, subscription_id, bytes(size))
                connection.data_received(push)
            assert bridge.published.qsize() == 1
            assert bridge.counters.malformed_requests == 1
            connection.connection_lost(None)

    run(test)
