"""A flood on one connection leaves the loop to others after each turn."""

import asyncio
import dataclasses
import itertools
import struct
import uuid
from collections import deque

from pipelines.bridge.front.transport import (
    MAX_BYTES_A_TURN,
    MAX_OPEN_REQUESTS,
    MAX_REQUESTS_A_TURN,
    BridgeConnection,
)
from pipelines.bridge.front.turn_queue import TURN_S, TurnQueue
from tests.bench.push_load import get_frame, push_frame, read_subscription_id

OLD_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)


class Wire(asyncio.Transport):
    """A transport that notes what is written, and whether it is read from."""

    def __init__(self):
        super().__init__({"peername": ("127.0.0.1", 1)})
        self.replies, self.is_read, self.closing = 0, True, False
        self.last, self.data = b"", b""

    def write(self, data):
        self.replies += 1
        self.last = data
        self.data += data

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


class Turns:
    """The turns of a loop, taken one by one; each step takes as long as a turn may."""

    def __init__(self, bridge):
        self.ready, self.now_s = deque(), 0.0
        queue = TurnQueue(self.ready.append, self.read_clock)
        self.endpoint = dataclasses.replace(bridge.endpoint, turns=queue)

    def read_clock(self):
        self.now_s += TURN_S
        return self.now_s

    def connect(self, number=99):
        connection, wire = BridgeConnection(number, self.endpoint), Wire()
        connection.connection_made(wire)
        return connection, wire

    def take(self):
        for _ in range(len(self.ready)):
            self.ready.popleft()()


def test_large_requests_fill_a_turn_by_their_bytes(run, serving):
    async def test():
        async with serving() as (bridge, _):
            turns = Turns(bridge)
            connection, wire = turns.connect()
            padding = bytes(1_900)
            size = len(OLD_VERSIONS) - 4 + len(padding)
            frame = struct.pack(">i", size) + OLD_VERSIONS[4:] + padding
            count = -(-MAX_BYTES_A_TURN // size)
            connection.data_received(frame * 3 * count)
            assert wire.replies == count < MAX_REQUESTS_A_TURN
            turns.take()
            assert wire.replies == 2 * count
            connection.connection_lost(None)

    run(test)


def test_a_turn_of_many_floods_is_as_long_as_that_of_one(run, serving):
    async def test():
        async with serving() as (bridge, _):
            turns, steps = Turns(bridge), []
            floods = [turns.connect(number) for number in range(50)]
            for connection, _ in floods:
                connection.data_received(OLD_VERSIONS * 10 * MAX_REQUESTS_A_TURN)
            for _ in range(61):
                steps.append(sum(wire.replies for _, wire in floods))
                turns.take()
            a_turn = {now - before for before, now in itertools.pairwise(steps)}
            assert a_turn == {MAX_REQUESTS_A_TURN}
            # Each has had its turn before any had its second one.
            fewest = min(wire.replies for _, wire in floods)
            assert fewest == 2 * MAX_REQUESTS_A_TURN
            for connection, _ in floods:
                connection.connection_lost(None)

    run(test)


def test_replies_that_come_together_make_one_turn(run, serving):
    async def test():
        async with serving() as (bridge, _):
            turns = Turns(bridge)
            connection, wire = turns.connect()
            connection.data_received(get_frame(uuid.UUID(int=99).bytes))
            subscription_id = read_subscription_id(wire.last[4:])
            push = push_frame(uuid.UUID(int=99).bytes, subscription_id, b"m")
            count, others = 8, 20 * MAX_REQUESTS_A_TURN
            connection.data_received(push * count + OLD_VERSIONS * others)
            while turns.ready:
                turns.take()
            # So many wait for the pushes before them, and no more are taken.
            assert count_replies(wire) == 1
            while not bridge.published.empty():
                bridge.published.get_nowait()[1](True)
            assert count_replies(wire) == 1 + MAX_OPEN_REQUESTS
            turns.take()
            assert count_replies(wire) == 1 + MAX_OPEN_REQUESTS + MAX_REQUESTS_A_TURN
            while turns.ready:
                turns.take()
            assert count_replies(wire) == 1 + count + others
            assert wire.is_read
            connection.connection_lost(None)

    run(test)


def count_replies(wire):
    count = at = 0
    while at < len(wire.data):
        at += 4 + int.from_bytes(wire.data[at : at + 4])
        count += 1
    return count


def test_what_came_before_the_end_is_answered_however_much_it_is(run, serving):
    async def test():
        async with serving() as (_, client):
            count = 5 * MAX_REQUESTS_A_TURN + 3
            client.writer.write(OLD_VERSIONS * count + OLD_VERSIONS[:9])
            client.writer.write_eof()
            answers = await client.reader.read()
            size = 4 + int.from_bytes(answers[:4])
            assert answers == answers[:size] * count

    run(test)


def test_a_bad_request_behind_many_good_ones_leaves_them_their_answers(run, serving):
    async def test():
        async with serving() as (bridge, client):
            count = 5 * MAX_REQUESTS_A_TURN + 3
            client.writer.write(OLD_VERSIONS * count + b"\xff" * 100)
            answers = await client.reader.read()
            size = 4 + int.from_bytes(answers[:4])
            assert answers == answers[:size] * count
            assert bridge.counters.malformed_requests == 1

    run(test)
