"""The pages of a bridge that waits for a Kafka that says nothing."""

import asyncio
import contextlib
import socket

import pytest
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from pipelines.bridge.quotas.limits import Tags
from pipelines.bridge.quotas.shares import ShareUse
from pipelines.bridge.server import BridgeServer
from pipelines.errors import MissingService
from pipelines.settings import load_settings
from pipelines.settings.secret_references import SecretReader

SECRETS = SecretReader(environ={})


async def fetch(port, path):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\n\r\n".encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return int(head.split()[1]), body.decode()


class Silent(asyncio.Protocol):
    """A Kafka that takes connections and never answers."""

    def __init__(self):
        self.is_asked = asyncio.Event()
        self.transports = []

    def connection_made(self, transport):
        self.transports.append(transport)
        self.is_asked.set()

    def close(self):
        for transport in self.transports:
            transport.abort()


@contextlib.asynccontextmanager
async def waiting_bridge(*overrides):
    """Run a bridge in front of a silent port; yield it once it has asked there."""
    kafka = Silent()
    loop = asyncio.get_running_loop()
    silent = await loop.create_server(lambda: kafka, "127.0.0.1", 0)
    settings = load_settings(
        "local",
        [
            f"kafka.bootstrap_servers=127.0.0.1:{silent.sockets[0].getsockname()[1]}",
            "bridge.listen_port=0",
            *overrides,
        ],
    )
    server, stop = BridgeServer(settings, SECRETS), asyncio.Event()
    async with asyncio.timeout(20), silent, asyncio.TaskGroup() as group:
        group.create_task(server.serve(stop, pytest.fail))
        await kafka.is_asked.wait()
        try:
            yield server
        finally:
            stop.set()
            kafka.close()


def test_bridge_that_waits_for_kafka_lives_and_is_not_ready():
    async def test():
        async with waiting_bridge() as server:
            port = server.watch.http_port
            assert await fetch(port, "/healthz") == (200, "ok\n")
            status, reason = await fetch(port, "/readyz")
            assert (status, reason) == (503, "Kafka has not answered yet\n")
            status, text = await fetch(port, "/metrics")
            assert status == 200
            assert "kafka_clientele_bridge_ready 0.0" in text
            assert 'bridge_id="bridge-1"' in text
            assert (await fetch(port, "/no-page"))[0] == 404
            status, index = await fetch(port, "/")
            assert status == 200
            for path in ("/metrics", "/healthz", "/readyz"):
                assert f'href="{path}"' in index

    asyncio.run(test())


def test_bridge_that_stops_is_not_ready():
    async def test():
        async with waiting_bridge() as server:
            port = server.watch.http_port
            server.watch.is_stopping = True
            assert await fetch(port, "/readyz") == (503, "the bridge is stopping\n")

    asyncio.run(test())


def test_proxy_is_ready_for_data_whatever_the_telemetry_kafka_says():
    async def test():
        async with waiting_bridge() as server:
            port = server.watch.http_port
            server.watch.carries_data = True
            assert await fetch(port, "/readyz") == (
                200,
                "data passes, telemetry is refused: Kafka has not answered yet\n",
            )
            server.watch.is_stopping = True
            assert (await fetch(port, "/readyz"))[0] == 503

    asyncio.run(test())


def test_port_of_minus_one_serves_no_pages():
    async def test():
        async with waiting_bridge("bridge.http_port=-1") as server:
            assert server.watch.http_port is None

    asyncio.run(test())


def test_taken_port_of_the_pages_is_named_with_its_key():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = load_settings(
            "local", [f"bridge.http_port={port}", "bridge.listen_port=0"]
        )
        bridge = BridgeServer(settings, SECRETS)
        with pytest.raises(MissingService, match=rf"127\.0\.0\.1:{port}.*http_port"):
            asyncio.run(bridge.serve(asyncio.Event(), pytest.fail))


class Answering:
    """A publisher whose Kafka is the test."""

    held_bytes = 12
    acknowledged_s = refused_s = None

    def __init__(self):
        self.asked = asyncio.Event()

    async def is_answered(self, _timeout_s):
        self.asked.set()
        return True


def test_bridge_is_ready_once_kafka_has_answered():
    async def test():
        settings = load_settings("local")
        server, publisher = BridgeServer(settings, SECRETS), Answering()
        watch, server.publishing.publisher = server.watch, publisher
        assert watch.why_not_ready() == "Kafka has not answered yet"
        following = asyncio.create_task(server.publishing._probe())
        await publisher.asked.wait()
        await asyncio.sleep(0)
        assert watch.why_not_ready() is None
        text = (await watch.make_metrics_page()).body.decode()
        assert "kafka_clientele_bridge_unacknowledged_bytes 12.0" in text
        publisher.refused_s = asyncio.get_running_loop().time()
        assert "newest pushes" in watch.why_not_ready()
        following.cancel()

    asyncio.run(test())


def test_a_bridge_whose_quotas_nobody_has_told_is_ready_and_says_so():
    async def test():
        settings = load_settings("local")
        server, publisher = BridgeServer(settings, SECRETS), Answering()
        watch, server.publishing.publisher = server.watch, publisher
        following = asyncio.create_task(server.publishing._probe())
        await publisher.asked.wait()
        await asyncio.sleep(0)
        page = await watch._make_ready_page()
        assert page.status == 200
        assert page.body.decode() == (
            "ready, no quota is enforced: the clients' cluster has not been asked yet\n"
        )
        server.cluster.quotas = FollowedQuotas()
        assert (await watch._make_ready_page()).body == b"ready\n"
        text = (await watch.make_metrics_page()).body.decode()
        assert 'kafka_server_Produce_byte_rate{client_id="",user="alice"} 5.0' in text
        following.cancel()

    asyncio.run(test())


def test_metrics_page_of_a_client_id_that_is_a_secret_does_not_show_it():
    async def test():
        server = BridgeServer(load_settings("local"), SECRETS)
        server.cluster.quotas = FollowedQuotas("password=CANARY-hunter2")
        text = (await server.watch.make_metrics_page()).body.decode()
        assert "CANARY" not in text
        assert 'Produce_byte_rate{client_id="(redacted)",user="alice"} 5.0' in text

    asyncio.run(test())


class FollowedQuotas:
    """Quotas that are enforced, and one client that uses them."""

    def __init__(self, client_id=""):
        self._tags = Tags("alice", client_id)

    def why_not_enforced(self):
        return None

    def shown_uses(self):
        return [ShareUse("producer_byte_rate", self._tags, 5.0, 0.0, 0)]


def test_unexpected_error_is_counted_and_shows_no_arguments(caplog):
    async def test():
        async with waiting_bridge() as server:
            secret = b"payload of a client"
            asyncio.get_running_loop().call_soon(len, secret, secret)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert server.counters.unexpected_errors == 1
            assert "unexpected error: TypeError" in caplog.text
            assert "payload" not in caplog.text

    asyncio.run(test())


PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0,"
    "application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5"
)
"""What Prometheus 2 says that it takes."""


def test_a_scraper_that_asks_for_openmetrics_gets_it_with_the_same_values():
    async def test():
        server = BridgeServer(load_settings("local"), SECRETS)
        server.counters.accepted_pushes = 3
        page = await server.watch.make_metrics_page(PROMETHEUS)
        plain = await server.watch.make_metrics_page()
        assert page.content_type.startswith("application/openmetrics-text; version=1.0")
        assert plain.content_type.startswith("text/plain; version=0.0.4")
        families = openmetrics.text_string_to_metric_families(page.body.decode())
        samples = {s.name: s.value for one in families for s in one.samples}
        assert samples["kafka_clientele_bridge_accepted_pushes_total"] == 3
        told = text_string_to_metric_families(plain.body.decode())
        assert samples.keys() == {s.name for one in told for s in one.samples}

    asyncio.run(test())


@pytest.mark.parametrize(
    "accept", ["application/openmetrics-text;version=new", "*/*", "text/html,;,=", ";"]
)
def test_what_nobody_serves_gets_plain_text(accept):
    async def test():
        watch = BridgeServer(load_settings("local"), SECRETS).watch
        page = await watch.make_metrics_page(accept)
        assert page.content_type.startswith("text/plain; version=0.0.4")

    asyncio.run(test())
