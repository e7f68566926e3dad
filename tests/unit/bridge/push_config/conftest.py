"""A bridge on loopback, wired as the command wires it; only Kafka is the test."""

import asyncio
import contextlib

import pytest

from pipelines.bridge.protocol.metadata import AdvertisedNode
from pipelines.bridge.server import BridgeServer
from pipelines.settings import load_settings
from pipelines.settings.secret_references import SecretReader
from tests.unit.bridge.push_config.raw_client import connect

NODE = AdvertisedNode(node_id=1, host="h", port=1, cluster_id="c")
DEFAULTS = (
    "bridge.listen_port=0",
    "client_config.enabled=true",
    "client_config.min_push_interval_ms=0",
    "client_config.policy_timeout_ms=20000",
    'subscriptions=[{name="s",metrics=["*"],interval_ms=100,match=[]}]',
)


class Bridge:
    """Everything between the socket and Kafka."""

    def __init__(self, overrides):
        settings = load_settings("base", [*DEFAULTS, *overrides])
        self.server = BridgeServer(settings, SecretReader(environ={}))
        self.server.outlet.publish = self.publish
        self.part = self.server.push_config
        self.records = []
        self.refused = 0
        """So many of the next records Kafka will not take."""

    def publish(self, record, acknowledge):
        if self.refused:
            self.refused -= 1
            acknowledge(False)
            return
        self.records.append(record)
        acknowledge(True)

    def numbers(self):
        return self.part.counters.snapshot()

    def headers(self, place=-1):
        return {name: value.decode() for name, value in self.records[place].headers}


@contextlib.asynccontextmanager
async def serving_bridge(*overrides):
    bridge = Bridge(overrides)
    front, clients = bridge.server.front, []
    with front.bind():
        ((listener, host, port),) = front.endpoints()
        front.nodes = {listener.name: NODE}
        await front.prepare()

        async def open_client(client_id="app-1"):
            clients.append(await connect(host, port, client_id))
            return clients[-1]

        try:
            yield bridge, open_client
        finally:
            for client in clients:
                client.close()
            await front.close()
            await bridge.part.close()


@pytest.fixture(name="serving")
def serving_fixture():
    """Serve on loopback: `async with serving(*overrides) as (bridge, connect)`."""
    return serving_bridge


@pytest.fixture(name="run")
def run_fixture():
    """Run one coroutine function, for so long."""

    def run(test):
        async def limited():
            async with asyncio.timeout(20):
                await test()

        asyncio.run(limited())

    return run
