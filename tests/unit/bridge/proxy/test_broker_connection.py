"""Connections to brokers, whenever their opening is broken off."""

import asyncio
import contextlib
import socket
from types import SimpleNamespace

import pytest
import uvloop

from pipelines.bridge.proxy.relay.broker_connection import connect_to_broker


class CancelledPair:
    """Breaks off as soon as the broker is there, which connect_to_broker awaits yet."""

    def __init__(self):
        self.lost = []

    def broker_made(self, _broker, _node_id):
        self.task.cancel()

    def broker_lost(self, exc):
        self.lost.append(exc)


async def connect_and_cancel():
    is_ended = asyncio.Event()

    async def serve(reader, writer):
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.close()
        is_ended.set()

    pair = CancelledPair()
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        address = server.sockets[0].getsockname()[:2]
        endpoint = SimpleNamespace(
            brokers_name="broker 1",
            find_brokers=lambda: [(1, address)],
            suspect=print,
            broker_tls=None,
        )
        pair.task = asyncio.create_task(connect_to_broker(pair, endpoint))
        with pytest.raises(asyncio.CancelledError):
            await pair.task
        async with asyncio.timeout(60):
            await is_ended.wait()
    return pair.lost


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_a_broker_that_is_given_up_is_lost_once(run):
    assert run(connect_and_cancel()) == [None]


class TellingPair:
    """Notes which of its brokers it is told of."""

    def __init__(self):
        self.told = []

    def broker_made(self, broker, node_id):
        self.told.append((node_id, broker))

    def broker_lost(self, exc):
        self.told.append(exc)


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_the_next_broker_is_taken_where_one_is_down_and_the_pair_is_told_of_one(run):
    async def check():
        ports = []
        for _ in range(2):
            with socket.socket() as unused:
                unused.bind(("127.0.0.1", 0))
                ports.append(unused.getsockname()[1])
        down = [(one, ("127.0.0.1", port)) for one, port in enumerate(ports)]
        is_ended = asyncio.Event()

        async def serve(reader, writer):
            with contextlib.suppress(ConnectionError):
                await reader.read()
            writer.close()
            is_ended.set()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as up:
            address = up.sockets[0].getsockname()[:2]
            pair = TellingPair()
            suspected = []
            endpoint = SimpleNamespace(
                find_brokers=lambda: [*down, (7, address)],
                suspect=suspected.append,
                broker_tls=None,
            )
            await connect_to_broker(pair, endpoint)
            assert suspected == [node_id for node_id, _ in down]
            ((node_id, broker),) = pair.told
            assert node_id == 7
            broker.abort()
            async with asyncio.timeout(60):
                await is_ended.wait()
        pair, endpoint.find_brokers = TellingPair(), lambda: down
        with pytest.raises(ConnectionRefusedError):
            await connect_to_broker(pair, endpoint)
        assert pair.told == []

    run(check())
