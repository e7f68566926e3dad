"""Listeners on loopback with real TLS and SASL; only Kafka's answer is made up."""

import asyncio
import contextlib
import io
import ssl
import struct
import uuid

from kio.index import load_request_schema, load_response_schema
from kio.schema.get_telemetry_subscriptions.v0.request import (
    GetTelemetrySubscriptionsRequest,
)
from kio.schema.push_telemetry.v0.request import PushTelemetryRequest
from kio.serial import entity_reader, entity_writer

from pipelines.bridge.client_instances import ClientInstances, TelemetryLimits
from pipelines.bridge.clients import Clients
from pipelines.bridge.counters import BridgeCounters
from pipelines.bridge.handlers import RequestHandlers, serve_metadata
from pipelines.bridge.listening import advertised_node, bind_all, plan_listeners
from pipelines.bridge.records import PushIds
from pipelines.bridge.sasl_handlers import serve_sasl
from pipelines.bridge.security_files import SecurityFiles
from pipelines.bridge.selections import SubscriptionRegistry
from pipelines.bridge.subscriptions import parse_subscription
from pipelines.bridge.telemetry_handlers import TelemetryHandlers
from pipelines.secret_references import SecretReader
from pipelines.settings import load_settings

PASSWORD = "pencil"


class Bridge:
    """Listeners whose pushes are all taken, in one loop."""

    def __init__(self, words):
        self.settings = load_settings("local", words)
        self.listeners = plan_listeners(self.settings)
        self.files = SecurityFiles(
            self.listeners, self.settings.authentication, SecretReader(environ={})
        )
        self.counters = BridgeCounters()
        self.records = []
        self.ports = {}
        self.clients = Clients(self.settings, self.files, self.counters, 20_000)
        self._now_ms = 1_700_000_000_000

    def _publish(self, record, acknowledge):
        self.records.append(record)
        acknowledge(True)

    def _tick(self):
        self._now_ms += 100
        return self._now_ms

    def _telemetry(self):
        registry = SubscriptionRegistry(
            [parse_subscription("s", {"metrics": "*", "interval.ms": "100"})]
        )
        limits = TelemetryLimits(
            telemetry_max_bytes=1_000,
            accepted_compression_types=(4,),
            max_client_instances=1_000,
        )
        return TelemetryHandlers(
            bridge_id="bridge-1",
            instances=ClientInstances(
                limits=limits, registry=registry, make_uuid=uuid.uuid4
            ),
            push_ids=PushIds(lambda _bits: 0),
            publish=self._publish,
            now_ms=self._tick,
            counters=self.counters,
        )

    async def start(self):
        telemetry = self._telemetry()
        served = [*serve_sasl(), *telemetry.served()]
        servers = []
        for listener, bound in zip(
            self.listeners, bind_all(self.listeners), strict=True
        ):
            port = self.ports[listener.name] = bound.getsockname()[1]
            node = advertised_node(self.settings.bridge, listener, port)
            handlers = RequestHandlers(
                [serve_metadata(node), *served], forget=telemetry.forget
            )
            servers.append(await self.clients.listen(listener, handlers, bound))
        return servers


class Client:
    """A client that speaks frames, and nothing by itself."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    def send(self, api_key, version, **fields):
        schema = load_request_schema(api_key, version)
        body = schema(**fields)
        header = schema.__header_schema__(
            request_api_key=api_key,
            request_api_version=version,
            correlation_id=1,
            client_id="app-1",
        )
        buffer = io.BytesIO()
        for message in (header, body):
            entity_writer(type(message))(buffer, message)
        data = buffer.getvalue()
        self.writer.write(struct.pack(">i", len(data)) + data)

    async def receive(self, api_key, version):
        size = struct.unpack(">i", await self.reader.readexactly(4))[0]
        reply = await self.reader.readexactly(size)
        schema = load_response_schema(api_key, version)
        start = 4 + (schema.__header_schema__.__version__ == 1)
        return entity_reader(schema)(reply, start)[0]

    async def ask(self, api_key, version, **fields):
        self.send(api_key, version, **fields)
        return await self.receive(api_key, version)

    async def log_in(self, name="alice", password=PASSWORD):
        """Authenticate by PLAIN; return the last answer."""
        await self.ask(17, 1, mechanism="PLAIN")
        token = f"\0{name}\0{password}".encode()
        return await self.ask(36, 2, auth_bytes=token)

    async def push(self):
        """Push once; return the answer's error."""
        got = await self.ask(
            71, 0, client_instance_id=GetTelemetrySubscriptionsRequest(
                client_instance_id=None
            ).client_instance_id,
        )  # fmt: skip
        body = PushTelemetryRequest(
            client_instance_id=got.client_instance_id,
            subscription_id=got.subscription_id,
            terminating=False,
            compression_type=0,
            metrics=b"m",
        )
        fields = {name: getattr(body, name) for name in body.__slots__}
        return (await self.ask(72, 0, **fields)).error_code

    async def is_closed(self):
        """Wait for the end; whatever comes before it is passed over."""
        try:
            while await self.reader.read(65_536):
                pass
        except (ConnectionError, ssl.SSLError):
            return True
        return True


@contextlib.asynccontextmanager
async def serving(words):
    bridge = Bridge(words)
    servers = await bridge.start()
    made = []

    async def connect(listener, context=None):
        options = {"ssl": context, "server_hostname": "localhost"} if context else {}
        port = bridge.ports[listener]
        client = Client(*await asyncio.open_connection("127.0.0.1", port, **options))
        made.append(client)
        return client

    try:
        yield bridge, connect
    finally:
        for client in made:
            client.writer.transport.abort()
        for server in servers:
            server.close()
        await bridge.clients.drain(0.01, lambda: None)
