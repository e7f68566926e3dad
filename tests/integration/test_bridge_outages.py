"""What clients hear when Kafka is gone or frozen, and when the bridge stops."""

import asyncio
import contextlib
import io
import os
import signal
import struct

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.get_telemetry_subscriptions.v0 import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from kio.schema.push_telemetry.v0 import PushTelemetryRequest, PushTelemetryResponse
from kio.serial import entity_reader, entity_writer

from pipelines.bridge.server import BridgeServer
from pipelines.embedded import EmbeddedKafka
from pipelines.settings import load_settings
from pipelines.settings.secret_references import SecretReader
from tests.support.kafka.stopped_processes import stop_process

NONE, REFUSED = ErrorCode.none, ErrorCode.throttling_quota_exceeded
ANSWERS = {71: GetTelemetrySubscriptionsResponse, 72: PushTelemetryResponse}
PUBLISH_TIMEOUT_MS = 1_500


@pytest.fixture(scope="module")
def own_kafka(java):
    """A broker that these tests freeze and stop."""
    with EmbeddedKafka(java=java) as cluster:
        yield cluster


class Client:
    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    async def ask(self, body):
        self.send(body)
        return await self.receive(body)

    def send(self, body):
        buffer = io.BytesIO()
        header = body.__header_schema__(
            request_api_key=body.__api_key__,
            request_api_version=0,
            correlation_id=1,
            client_id="raw",
        )
        for message in (header, body):
            entity_writer(type(message))(buffer, message)
        self.writer.write(struct.pack(">i", buffer.tell()) + buffer.getvalue())

    async def receive(self, body):
        size = struct.unpack(">i", await self.reader.readexactly(4))[0]
        reply = await self.reader.readexactly(size)
        return entity_reader(ANSWERS[body.__api_key__])(reply, 5)[0]

    async def subscribe(self):
        got = await self.ask(GetTelemetrySubscriptionsRequest(client_instance_id=None))
        return PushTelemetryRequest(
            client_instance_id=got.client_instance_id,
            subscription_id=got.subscription_id,
            terminating=False,
            compression_type=0,
            metrics=b"metrics",
        )


@contextlib.asynccontextmanager
async def bridge(cluster, *overrides):
    """Run a bridge; yield it, its stop and a way to connect."""
    subscription = '{name="s",metrics=["*"],interval_ms=100,match=[]}'
    settings = load_settings(
        "local",
        [
            f"kafka.bootstrap_servers={cluster.bootstrap_servers}",
            "topics.telemetry=outages",
            "bridge.listen_port=0",
            f"bridge.publish_timeout_ms={PUBLISH_TIMEOUT_MS}",
            f"subscriptions=[{subscription}]",
            *overrides,
        ],
    )
    server = BridgeServer(settings, SecretReader(environ={}))
    stop, endpoint = asyncio.Event(), asyncio.get_running_loop().create_future()

    clients = []

    async def connect():
        clients.append(Client(*await asyncio.open_connection(*await endpoint)))
        return clients[-1]

    async with asyncio.timeout(180), asyncio.TaskGroup() as group:
        group.create_task(
            server.serve(stop, lambda host, port: endpoint.set_result((host, port)))
        )
        await endpoint
        try:
            yield server, stop, connect
        finally:
            stop.set()
            for client in clients:
                client.writer.close()


@contextlib.contextmanager
def frozen(cluster):
    (pid,) = cluster.pids.values()
    stop_process(pid)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


async def sync(connect):
    """Return once the bridge has handled what was sent before."""
    await (await connect()).subscribe()


async def push_until_taken(client):
    """Push as one new instance after the other; each waits for Kafka by itself."""
    while True:
        answer = await client.ask(await client.subscribe())
        if answer.error_code is NONE:
            return


def test_push_in_flight_is_answered_before_the_bridge_stops(own_kafka):
    async def test():
        # What is in flight has as long as it needs; the drain ends behind it.
        patient = "bridge.publish_timeout_ms=29000"
        async with bridge(own_kafka, patient) as (server, stop, connect):
            client = await connect()
            # A new broker takes its time before it takes a producer.
            await push_until_taken(client)
            push = await client.subscribe()
            client.send(push)
            await sync(connect)
            stop.set()
            assert (await client.receive(push)).error_code is NONE
            assert await client.reader.read() == b""
        assert server.counters.open_connections == 0

    asyncio.run(test())


def test_frozen_kafka_refuses_the_push_and_keeps_the_connection(own_kafka):
    async def test():
        async with bridge(own_kafka) as (server, _, connect):
            client = await connect()
            await push_until_taken(client)
            refused = server.counters.publish_timeouts
            push = await client.subscribe()
            with frozen(own_kafka):
                assert (await client.ask(push)).error_code is REFUSED
            assert server.counters.publish_timeouts == refused + 1
            # The same connection goes on, and Kafka takes pushes again.
            await push_until_taken(client)

    asyncio.run(test())


def test_acknowledgement_after_the_refusal_is_counted(own_kafka):
    async def test():
        # Answers are due long before librdkafka gives up.
        fast = "bridge.publish_timeout_ms=300"
        async with bridge(own_kafka, fast) as (server, _, connect):
            client = await connect()
            await push_until_taken(client)
            while not server.counters.late_acknowledgements:
                push = await client.subscribe()
                with frozen(own_kafka):
                    assert (await client.ask(push)).error_code is REFUSED
                await push_until_taken(client)
            counters = server.counters
            assert counters.late_acknowledgements <= counters.publish_timeouts

    asyncio.run(test())


def test_stop_with_a_frozen_kafka_refuses_what_is_in_flight_and_then_closes(own_kafka):
    async def test():
        slow = "bridge.publish_timeout_ms=29000"
        quick = "bridge.drain_timeout_ms=300"
        async with bridge(own_kafka, slow, quick) as (_, stop, connect):
            client = await connect()
            push = await client.subscribe()
            with frozen(own_kafka):
                client.send(push)
                await sync(connect)
                stop.set()
                assert (await client.receive(push)).error_code is REFUSED
                assert await client.reader.read() == b""

    asyncio.run(test())


def test_stopped_kafka_refuses_pushes_and_goes_on_when_it_is_back(own_kafka):
    async def test():
        async with bridge(own_kafka) as (_, _, connect):
            client = await connect()
            push = await client.subscribe()
            own_kafka.kill(1)
            assert (await client.ask(push)).error_code is REFUSED
            await asyncio.to_thread(own_kafka.restart, 1)
            await push_until_taken(client)

    asyncio.run(test())
