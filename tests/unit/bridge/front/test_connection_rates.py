"""Connections of an address that makes too many, on real sockets."""

import asyncio
import contextlib
import time

import pytest

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.front.admission import Connections
from pipelines.bridge.front.connection_rates import ConnectionRates, find_peer
from pipelines.bridge.front.delays import Delays
from pipelines.bridge.front.turn_queue import TurnQueue
from pipelines.kafka_client.primitives import MalformedBytes
from pipelines.settings import load_settings

WAIT_MS = 200


class Echo(asyncio.Protocol):
    """What serves a connection."""

    def __init__(self, site):
        self._site = site

    def connection_made(self, transport):
        self._transport = transport
        self._site.begun += 1

    def data_received(self, data):
        self._transport.write(data)

    def connection_lost(self, exc):
        self._site.ended += exc is None


class Site:
    """A server whose addresses wait as often as the test says."""

    def __init__(self, waits_ms, find_source):
        loop = asyncio.get_running_loop()
        self.begun = self.ended = 0
        self.asked = []
        self.waits_ms = list(waits_ms)
        self.counters = BridgeCounters()
        limits = load_settings("local").limits
        turns = TurnQueue(loop.call_soon, time.monotonic)
        self.has_asked, self.is_empty = asyncio.Event(), asyncio.Event()
        self.connections = Connections(
            limits, self.counters, time.monotonic, on_empty=self.is_empty.set
        )
        self.delays = Delays(loop.call_at, loop.time, turns.push)
        self.is_limited = True
        rates = ConnectionRates(
            are_limited=lambda: self.is_limited,
            connect=self._connect,
            connections=self.connections,
            delays=self.delays,
            counters=self.counters,
        )
        self.make = rates.guard(lambda: Echo(self), find_source)

    def _connect(self, address):
        self.asked.append(address)
        self.has_asked.set()
        return self.waits_ms.pop(0) if self.waits_ms else 0

    @contextlib.asynccontextmanager
    async def client(self):
        reader, writer = await asyncio.open_connection(*self.address)
        try:
            yield reader, writer
        finally:
            writer.close()


@contextlib.asynccontextmanager
async def serving(*waits_ms, find_source=find_peer):
    site = Site(waits_ms, find_source)
    server = await asyncio.get_running_loop().create_server(site.make, "127.0.0.1", 0)
    site.address = server.sockets[0].getsockname()
    async with asyncio.timeout(20), server:
        yield site


async def echo(client, text=b"hello"):
    """Return how long an answer took, in milliseconds."""
    reader, writer = client
    began_s = time.monotonic()
    writer.write(text)
    assert await reader.readexactly(len(text)) == text
    return (time.monotonic() - began_s) * 1_000


def test_a_connection_waits_as_long_and_as_often_as_it_must(run):
    async def test():
        async with serving(WAIT_MS, WAIT_MS) as site, site.client() as client:
            assert await echo(client) >= 2 * WAIT_MS - 20
            assert site.asked == ["127.0.0.1"] * 3
            assert site.begun == site.counters.delayed_connections == 1
            assert len(site.connections) == len(site.delays) == 0

    run(test)


@pytest.mark.parametrize("is_limited", [True, False])
def test_one_that_need_not_wait_does_not(run, is_limited):
    async def test():
        async with serving() as site, site.client() as client:
            site.is_limited = is_limited
            await echo(client)
            await echo(client, b"again")
            assert len(site.delays) == site.counters.delayed_connections == 0

    run(test)


def test_one_that_leaves_meanwhile_never_begins(run):
    async def test():
        async with serving(60_000) as site:
            async with site.client() as (_, writer):
                await site.has_asked.wait()
                (waiting,) = site.connections
                assert waiting.is_owed
                writer.write(b"early")
            waiting.drain()
            await site.is_empty.wait()
            assert site.begun == len(site.delays) == 0

    run(test)


def test_the_address_that_counts_may_have_to_be_waited_for(run):
    def find_source(_address, early):
        if early.startswith(b"bad"):
            raise MalformedBytes("no header")
        return early.split(b" ")[1].decode() if early.count(b" ") > 1 else None

    async def test():
        async with serving(find_source=find_source) as site:
            async with site.client() as (reader, writer):
                writer.write(b"from 10.9.8.7")
                await writer.drain()
                await asyncio.sleep(0.05)
                assert site.begun == 0
                writer.write(b" hello")
                assert await reader.readexactly(19) == b"from 10.9.8.7 hello"
                assert site.asked == ["10.9.8.7"]
            async with site.client() as client:
                # What is no header is for whoever serves to refuse.
                await echo(client, b"bad one")
                assert site.asked == ["10.9.8.7"]

    run(test)
