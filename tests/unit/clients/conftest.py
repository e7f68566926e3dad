"""The real bridge on loopback, with only Kafka left out, and nodes that misbehave."""

import asyncio
import contextlib
import logging

import pytest

from pipelines.bridge.protocol.metadata import AdvertisedNode
from tests.unit.bridge.push_config.conftest import Bridge


class Logged(logging.Handler):
    """What a logger was told, as level and text."""

    def __init__(self):
        super().__init__()
        self.lines = []
        self.logger = logging.Logger("test.clients")  # noqa: LOG001 - of one test only
        self.logger.addHandler(self)

    def emit(self, record):
        self.lines.append((record.levelname, record.getMessage()))

    @property
    def warnings(self):
        return [text for level, text in self.lines if level == "WARNING"]


@pytest.fixture
def log():
    return Logged()


@contextlib.asynccontextmanager
async def serving_bridge(*overrides, node_address=None):
    """Yield a bridge and its address, which is what it tells in Metadata."""
    bridge = Bridge(overrides)
    front = bridge.server.front
    with front.bind():
        ((listener, host, port),) = front.endpoints()
        told = node_address or (host, port)
        node = AdvertisedNode(
            node_id=1, host=told[0], port=told[1], cluster_id="cluster"
        )
        front.nodes = {listener.name: node}
        await front.prepare()
        try:
            yield bridge, f"{host}:{port}"
        finally:
            await front.close()
            await bridge.part.close()


@pytest.fixture(name="serving")
def serving_fixture():
    return serving_bridge


@pytest.fixture(name="run")
def run_fixture():
    """Run one coroutine function, for so long."""

    def run(test):
        async def limited():
            async with asyncio.timeout(30):
                await test()

        asyncio.run(limited())

    return run
