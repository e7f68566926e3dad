"""The one address where clients find all brokers, before brokers on loopback."""

import asyncio
import contextlib
import logging
import struct

import pytest
from kio.schema.metadata.v12.request import MetadataRequest
from kio.schema.metadata.v12.response import MetadataResponse, MetadataResponseBroker
from kio.serial import entity_reader
from kio.static.primitive import i32

from pipelines.bridge.protocol.cluster_requests import encode_request
from pipelines.bridge.protocol.metadata import AdvertisedNode
from pipelines.bridge.protocol.replies import NO_THROTTLE
from pipelines.bridge.proxy.relay import part
from pipelines.bridge.server import BridgeServer
from pipelines.errors import MissingService
from pipelines.settings import load_settings
from pipelines.settings.secret_references import SecretReader
from tests.support.bridge.base_ports import pick_base_port
from tests.support.kafka_answers import OFFERED, Answers, Broker

NODE = AdvertisedNode(node_id=1, host="h", port=1, cluster_id="c")
PATIENCE_S = 60


class Cluster:
    """Brokers by node id; each names those that are listed, and says who it is."""

    def __init__(self):
        self.brokers = {}
        self.listed = []

    @contextlib.asynccontextmanager
    async def running(self, *node_ids):
        async with contextlib.AsyncExitStack() as stack:
            for node_id in node_ids:
                answers = Answers({**OFFERED, 3: (12, 12)})
                answers.others = lambda _, node_id=node_id: self._describe(node_id)
                broker = await stack.enter_async_context(Broker(answers))
                self.brokers[node_id] = broker
            self.listed = list(node_ids)
            yield self

    def stop(self, node_id):
        """Let a broker accept nobody any more; the others still name it."""
        self.brokers[node_id]._server.close()

    def _describe(self, node_id):
        return MetadataResponse(
            throttle_time=NO_THROTTLE,
            cluster_id=f"broker {node_id}",
            controller_id=i32(node_id),
            topics=(),
            brokers=tuple(
                MetadataResponseBroker(
                    node_id=i32(one), host="127.0.0.1", port=i32(self.brokers[one].port)
                )
                for one in self.listed
            ),
        )  # fmt: skip


@contextlib.asynccontextmanager
async def proxied(node_ids, *changes):
    """Start brokers and a proxy; no bridge around it, as nobody pushes."""
    async with (
        Cluster().running(*node_ids) as cluster,
        proxy_of(cluster, *changes) as proxy,
    ):
        yield cluster, proxy


@contextlib.asynccontextmanager
async def proxy_of(cluster, *changes):
    servers = ",".join(f"127.0.0.1:{one.port}" for one in cluster.brokers.values())
    settings = load_settings(
        "base",
        [
            "proxy.enabled=true",
            # There is no Kafka that takes records.
            "proxy.traffic_interval_ms=0",
            f"upstream.bootstrap_servers={servers}",
            *changes,
        ],
    )
    server = BridgeServer(settings, SecretReader(environ={}))
    await server.proxy.start(
        server.make_handlers(NODE, publish=None), server.make_clients(), None, None
    )
    try:
        yield server.proxy
    finally:
        await server.proxy.close()
        await server.cluster.close()


async def ask(servers):
    """Return which broker answers, and which ones it names at which ports."""
    host, _, port = servers.rpartition(":")
    async with asyncio.timeout(PATIENCE_S):
        reader, writer = await asyncio.open_connection(host, int(port))
        request = MetadataRequest(
            topics=(),
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=False,
        )
        try:
            writer.write(encode_request(request, correlation_id=7, client_id="c"))
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            answer = await reader.readexactly(size)
        finally:
            # Also of a client that is let go: older Pythons warn of one left open.
            writer.close()
        await writer.wait_closed()
    # Behind the correlation id and no tags.
    response, _ = entity_reader(MetadataResponse)(answer[5:], 0)
    told = {one.node_id: (one.host, one.port) for one in response.brokers}
    return response.cluster_id, told


def test_it_is_at_the_base_port_and_no_brokers_not_even_broker_0s():
    async def run():
        base = pick_base_port(brokers=2)
        async with proxied((0, 1, 2), f"proxy.base_port={base}") as (_, proxy):
            assert proxy.bootstrap_servers == f"127.0.0.1:{base}"
            _, told = await ask(proxy.bootstrap_servers)
            seen = [await ask(f"{host}:{port}") for host, port in told.values()]
        ports = {node_id: port - base for node_id, (_, port) in told.items()}
        assert ports == {0: -1, 1: 1, 2: 2}
        assert [name for name, _ in seen] == [f"broker {one}" for one in told]

    asyncio.run(run())


def test_brokers_take_turns_and_one_that_is_down_is_passed_over():
    async def run():
        async with proxied((1, 2, 3), "proxy.base_port=0") as (cluster, proxy):
            first = [(await ask(proxy.bootstrap_servers))[0] for _ in range(6)]
            cluster.stop(2)
            then = [(await ask(proxy.bootstrap_servers))[0] for _ in range(6)]
        assert {name: first.count(name) for name in first} == {
            "broker 1": 2, "broker 2": 2, "broker 3": 2,
        }  # fmt: skip
        assert set(then) == {"broker 1", "broker 3"}

    asyncio.run(run())


def test_it_stays_as_brokers_come_and_go():
    async def run():
        async with proxied((0, 1, 2), "proxy.base_port=0") as (cluster, proxy):
            before, seen = proxy.bootstrap_servers, []
            for listed in ([1], [2], [0, 2], [0]):
                cluster.listed = listed
                await proxy._read()
                answers = [await ask(proxy.bootstrap_servers) for _ in range(2)]
                seen.append({name for name, _ in answers})
                assert all(list(told) == listed for _, told in answers)
            assert proxy.bootstrap_servers == before
        assert seen == [
            {"broker 1"}, {"broker 2"}, {"broker 0", "broker 2"}, {"broker 0"},
        ]  # fmt: skip

    asyncio.run(run())


def test_a_client_is_let_go_where_no_broker_is_reached():
    async def run():
        async with proxied((1, 2), "proxy.base_port=0") as (cluster, proxy):
            cluster.stop(1)
            cluster.stop(2)
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await ask(proxy.bootstrap_servers)
            assert proxy._counters.failed_upstream_connections == 1

    asyncio.run(run())


def test_it_is_logged_before_any_brokers_address(caplog):
    caplog.set_level(logging.INFO)

    async def run():
        host = "proxy.advertised_host=localhost"
        async with proxied((1, 2), "proxy.base_port=0", host) as (_, proxy):
            for node_id in (1, 2):
                await ask(f"127.0.0.1:{proxy.brokers.known[node_id].port}")
            return proxy.bootstrap_servers

    servers = asyncio.run(run())
    said = [one.getMessage() for one in caplog.records if one.name == part.__name__]
    assert servers.startswith("localhost:")
    assert said[0] == f"clients set bootstrap.servers={servers}"
    assert all("is reached by" in one for one in said[1:3])


def test_a_port_that_is_taken_ends_the_start():
    async def run():
        base = pick_base_port()
        async with await asyncio.start_server(print, "127.0.0.1", base):
            with pytest.raises(MissingService, match=rf"{base} .*proxy\.base_port"):
                async with proxied((1,), f"proxy.base_port={base}"):
                    pytest.fail("it has started")

    asyncio.run(run())
