"""Real sockets on loopback; only Kafka's answer is given by the test."""

import asyncio
import contextlib
import struct
import time
import uuid

import pytest
from kio.index import load_response_schema
from kio.schema.api_versions.v3.request import ApiVersionsRequest
from kio.schema.errors import ErrorCode
from kio.schema.get_telemetry_subscriptions.v0.request import (
    GetTelemetrySubscriptionsRequest,
)
from kio.schema.metadata.v13.request import MetadataRequest
from kio.schema.push_telemetry.v0.request import PushTelemetryRequest
from kio.serial import entity_reader

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.handlers import RequestHandlers, serve_metadata
from pipelines.bridge.core.records import PushIds
from pipelines.bridge.front.admission import Connections
from pipelines.bridge.front.delays import Delays
from pipelines.bridge.front.listening import bind_listener
from pipelines.bridge.front.transport import BridgeConnection, Endpoint
from pipelines.bridge.front.turn_queue import TurnQueue
from pipelines.bridge.protocol.metadata import AdvertisedNode
from pipelines.bridge.telemetry.handlers import TelemetryHandlers
from pipelines.bridge.telemetry.instances import ClientInstances, TelemetryLimits
from pipelines.bridge.telemetry.selections import SubscriptionRegistry
from pipelines.bridge.telemetry.subscriptions import parse_subscription
from pipelines.settings import load_settings
from udfs.sensitive.sensitive_keys import compile_rules

MAX_REQUEST_BYTES = 2_000
LIMITS = load_settings("local").limits
GET = GetTelemetrySubscriptionsRequest(client_instance_id=None)
SOFTWARE = ApiVersionsRequest(client_software_name="app", client_software_version="1.2")
METADATA = MetadataRequest(
    topics=(), allow_auto_topic_creation=False,
    include_topic_authorized_operations=False,
)  # fmt: skip
NONE = ErrorCode.none


class WatchedEnd(BridgeConnection):
    """A connection that also tells the test when it is lost."""

    def connection_lost(self, exc):
        super().connection_lost(exc)
        self.lost.put_nowait(self)


@pytest.fixture(scope="session")
def push_request():
    """Build a push to be written by kio: push_request(client_instance_id, …)."""

    def build(instance_id, subscription_id):
        return PushTelemetryRequest(
            client_instance_id=instance_id,
            subscription_id=subscription_id,
            terminating=False,
            compression_type=0,
            metrics=b"abc",
        )

    return build


class Bridge:
    """A listening transport whose publisher is the test."""

    def __init__(self):
        self.counters = BridgeCounters()
        self.published = asyncio.Queue()
        self.connections = []
        self.lost = asyncio.Queue()
        registry = SubscriptionRegistry(
            [parse_subscription("s", {"metrics": "*", "interval.ms": "100"})]
        )
        self.now_ms = 1_700_000_000_000
        limits = TelemetryLimits(
            telemetry_max_bytes=1_000,
            accepted_compression_types=(4,),
            max_client_instances=10,
        )
        self.instances = ClientInstances(
            limits=limits, registry=registry, make_uuid=uuid.uuid4
        )
        telemetry = TelemetryHandlers(
            bridge_id="bridge-1",
            rules=compile_rules([], {}),
            instances=self.instances,
            push_ids=PushIds(lambda _bits: 0),
            publish=lambda record, done: self.published.put_nowait((record, done)),
            now_ms=self._tick,
            counters=self.counters,
        )
        node = AdvertisedNode(node_id=1, host="h", port=1, cluster_id="c")
        self.handlers = RequestHandlers([serve_metadata(node), *telemetry.served()])
        loop = asyncio.get_running_loop()
        call_soon = loop.call_soon
        turns = TurnQueue(call_soon, time.monotonic)
        self.endpoint = Endpoint(
            listener="PLAINTEXT",
            handlers=self.handlers,
            connections=Connections(LIMITS, self.counters, time.monotonic),
            counters=self.counters,
            handshakes=TurnQueue(call_soon, time.monotonic),
            turns=turns,
            delays=Delays(loop.call_at, loop.time, turns.push),
            max_request_bytes=MAX_REQUEST_BYTES,
        )

    def _tick(self):
        self.now_ms += 100
        return self.now_ms

    def connect(self):
        connection = WatchedEnd(len(self.connections) + 1, self.endpoint)
        connection.lost = self.lost
        self.connections.append(connection)
        return connection


class Client:
    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.sent = []

    @property
    def address(self):
        return self.writer.get_extra_info("peername")

    async def ask(self, frame, body):
        self.send(frame, body)
        return (await self.receive())[1]

    async def subscribe(self, frame):
        response = await self.ask(frame, GET)
        return response.client_instance_id, response.subscription_id

    def send(self, frame, *bodies, client_id="app-1"):
        for body in bodies:
            correlation_id = len(self.sent)
            self.sent.append(body)
            self.writer.write(frame(body, correlation_id, client_id))

    async def receive(self):
        """Return the next reply; replies must come in the order of the requests."""
        size = struct.unpack(">i", await self.reader.readexactly(4))[0]
        reply = await self.reader.readexactly(size)
        correlation_id = struct.unpack_from(">i", reply)[0]
        body = self.sent[correlation_id]
        schema = load_response_schema(body.__api_key__, body.__version__)
        has_tags = schema.__header_schema__.__version__ == 1
        return correlation_id, entity_reader(schema)(reply, 4 + has_tags)[0]

    async def is_closed(self):
        return await self.reader.read() == b""


@contextlib.asynccontextmanager
async def serving():
    bridge = Bridge()
    loop = asyncio.get_running_loop()
    with bind_listener("127.0.0.1", 0) as listener:
        server = await loop.create_server(bridge.connect, sock=listener)
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        try:
            yield bridge, Client(reader, writer)
        finally:
            writer.close()
            server.close()
            for connection in bridge.connections:
                connection.abort()
            while bridge.counters.open_connections:
                await bridge.lost.get()


def run(test):
    async def limited():
        async with asyncio.timeout(20):
            await test()

    asyncio.run(limited())


@pytest.fixture(name="serving")
def serving_fixture():
    """Serve on loopback: `async with serving() as (bridge, client)`."""
    return serving


@pytest.fixture(name="run")
def run_fixture():
    """Run one coroutine function, for so long."""
    return run
