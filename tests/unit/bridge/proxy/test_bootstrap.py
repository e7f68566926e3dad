"""The one address where clients find all brokers, before brokers on loopback."""

import asyncio
import contextlib
import errno
import logging
import struct

import pytest
import uvloop
from kio.schema.metadata.v12.request import MetadataRequest
from kio.schema.metadata.v12.response import MetadataResponse, MetadataResponseBroker
from kio.serial import entity_reader
from kio.static.primitive import i32

from pipelines.bridge.proxy.relay import part, ports
from pipelines.bridge.server import BridgeServer
from pipelines.errors import MissingService
from pipelines.kafka_wire.cluster_requests import encode_request
from pipelines.kafka_wire.messages import NO_THROTTLE
from pipelines.settings import load_settings
from pipelines.settings.secret_references import SecretReader
from tests.support.bridge.base_ports import pick_base_port
from tests.support.kafka_answers import OFFERED, Answers, Broker

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

    def crash(self, node_id):
        """End a broker's connections as well."""
        self.stop(node_id)
        for writer in self.brokers[node_id]._serving.values():
            writer.transport.abort()

    async def restart(self, node_id):
        """Accept again at the same port."""
        broker = self.brokers[node_id]
        broker._server = await asyncio.start_server(
            broker._serve, "127.0.0.1", broker.port
        )

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
            "bridge.listen_port=0",
            # There is no Kafka that takes records.
            "proxy.traffic_interval_ms=0",
            f"upstream.bootstrap_servers={servers}",
            *changes,
        ],
    )
    server = BridgeServer(settings, SecretReader(environ={}))
    with server.front.bind():
        await server.front.prepare()
        try:
            await server.proxy.prepare()
            yield server.proxy
        finally:
            await server.proxy.close()
            await server.front.close()
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


async def is_refused(servers):
    """Return whether the system itself refuses a connection."""
    host, _, port = servers.rpartition(":")
    try:
        _, writer = await asyncio.open_connection(host, int(port))
    except ConnectionError as error:
        # Reset: it waited to be accepted when the port was closed.
        return isinstance(error, ConnectionRefusedError)
    writer.close()
    return False


async def until(condition):
    """Wait until something holds that nothing tells of."""
    async with asyncio.timeout(PATIENCE_S):
        while not await condition():  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_port_of_a_broker_that_is_down_is_closed_until_it_is_back(run):
    async def check():
        async with proxied((1, 2), "proxy.base_port=0") as (cluster, proxy):
            first, second = (
                f"127.0.0.1:{proxy.brokers.known[node_id].port}" for node_id in (1, 2)
            )
            _, before = await ask(first)
            cluster.stop(1)
            # One client finds it out; all others are refused.
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                await ask(first)
            await until(lambda: is_refused(first))
            assert not await is_refused(second)
            assert not await is_refused(proxy.bootstrap_servers)
            # The cluster still names it, and the port stays closed.
            await proxy._read()
            assert await is_refused(first)
            await cluster.restart(1)
            await until(lambda: is_open(first))
            name, told = await ask(first)
            assert (name, told) == ("broker 1", before)

    run(check())


async def is_open(servers):
    return not await is_refused(servers)


def test_port_of_a_broker_that_drops_its_clients_and_is_down_is_closed():
    async def run():
        async with proxied((1, 2), "proxy.base_port=0") as (cluster, proxy):
            host, port = "127.0.0.1", proxy.brokers.known[1].port
            reader, writer = await asyncio.open_connection(host, port)
            await cluster.brokers[1].has_connection.wait()
            cluster.crash(1)
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
            writer.close()
            await until(lambda: is_refused(f"{host}:{port}"))

    asyncio.run(run())


def test_port_of_a_broker_that_only_drops_a_connection_stays_open():
    async def run():
        async with proxied((1,), "proxy.base_port=0") as (cluster, proxy):
            servers = f"127.0.0.1:{proxy.brokers.known[1].port}"
            cluster.brokers[1].hangs_up_after = 1
            for _ in range(3):
                await ask(servers)
            await asyncio.sleep(0.1)
            assert not await is_refused(servers)

    asyncio.run(run())


def test_closed_proxy_opens_no_port_when_its_brokers_end():
    async def run():
        async with proxied((1,), "proxy.base_port=0") as (cluster, proxy):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", proxy.brokers.known[1].port
            )
            await cluster.brokers[1].has_connection.wait()
            await proxy.close()
            cluster.crash(1)
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
            writer.close()
            await asyncio.sleep(0.1)
            assert await is_refused(proxy.bootstrap_servers)

    asyncio.run(run())


def test_bootstrap_port_is_closed_while_no_broker_is_reached():
    async def run():
        async with proxied((1, 2), "proxy.base_port=0") as (cluster, proxy):
            cluster.stop(1)
            cluster.stop(2)
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                await ask(proxy.bootstrap_servers)
            await until(lambda: is_refused(proxy.bootstrap_servers))
            await cluster.restart(2)
            await until(lambda: is_open(proxy.bootstrap_servers))
            assert (await ask(proxy.bootstrap_servers))[0] == "broker 2"

    asyncio.run(run())


def test_bootstrap_port_is_opened_for_other_brokers_than_those_that_were_down():
    async def run():
        async with proxied((1, 2), "proxy.base_port=0") as (cluster, proxy):
            cluster.listed = [1]
            await proxy._read()
            cluster.stop(1)
            proxy._ports.suspect(1)
            await until(lambda: is_refused(proxy.bootstrap_servers))
            cluster.listed = [2]
            await proxy._read()
            await until(lambda: is_open(proxy.bootstrap_servers))
            assert (await ask(proxy.bootstrap_servers))[0] == "broker 2"

    asyncio.run(run())


@pytest.mark.parametrize(
    ("error", "is_reached"),
    [
        (OSError("Multiple exceptions: refused, unreachable"), False),
        (OSError(errno.ECONNREFUSED, "refused"), False),
        (OSError(errno.EMFILE, "too many open files"), None),
        (UnicodeError("label empty or too long"), False),
    ],
)
def test_check_of_a_broker_tells_its_faults_from_our_own(
    monkeypatch, error, is_reached
):
    async def fail(*_):
        raise error

    monkeypatch.setattr(asyncio, "open_connection", fail)
    assert asyncio.run(ports._is_reached(("broker", 9092))) is is_reached


def test_port_of_a_broker_that_left_while_it_was_down_is_opened_when_it_is_back():
    async def run():
        async with proxied((1, 2), "proxy.base_port=0") as (cluster, proxy):
            first = f"127.0.0.1:{proxy.brokers.known[1].port}"
            cluster.stop(1)
            proxy._ports.suspect(1)
            await until(lambda: is_refused(first))
            cluster.listed = [2]
            await proxy._read()
            assert await is_refused(first)
            await cluster.restart(1)
            cluster.listed = [1, 2]
            await proxy._read()
            assert (await ask(first))[0] == "broker 1"

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
    names = {part.__name__, ports.__name__}
    said = [one.getMessage() for one in caplog.records if one.name in names]
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
