"""Connections to brokers, whenever their opening is broken off."""

import asyncio
import contextlib
from types import SimpleNamespace

import pytest
import uvloop

from pipelines.bridge.proxy.broker_connection import connect_to_broker


class CancelledPair:
    """Breaks off as soon as the broker is there, which connect_to_broker awaits yet."""

    def __init__(self):
        self.lost = []

    def broker_made(self, _broker):
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
            brokers_name="broker 1", find_brokers=lambda: [address], broker_tls=None
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
