"""Listeners on loopback with real TLS and SASL; only Kafka's answer is made up."""

import asyncio
import contextlib
import io
import ssl
import struct

from kio.index import load_request_schema, load_response_schema
from kio.schema.get_telemetry_subscriptions.v0.request import (
    GetTelemetrySubscriptionsRequest,
)
from kio.schema.push_telemetry.v0.request import PushTelemetryRequest
from kio.serial import entity_reader, entity_writer

from pipelines.bridge.server import BridgeServer
from pipelines.settings import load_settings
from pipelines.settings.secret_references import SecretReader

SUBSCRIPTION = 'subscriptions=[{name="s",metrics=["*"],interval_ms=100,match=[]}]'
PASSWORD = "pencil"


class Bridge:
    """Listeners whose pushes are all taken, in one loop."""

    def __init__(self, words):
        self.settings = load_settings("local", [*words, SUBSCRIPTION])
        self.server = BridgeServer(self.settings, SecretReader(environ={}))
        self.counters = self.server.counters
        self.server.outlet.publish = self._publish
        self.server.outlet.now_ms = self._tick
        self.bound = self.server.front.bind()
        self.records = []
        self.ports = {}
        self._now_ms = 1_700_000_000_000

    @property
    def clients(self):
        return self.server.front.clients

    def _publish(self, record, acknowledge):
        self.records.append(record)
        acknowledge(True)

    def _tick(self):
        self._now_ms += 100
        return self._now_ms

    async def start(self):
        front = self.server.front
        self.bound.__enter__()
        self.ports = {one.name: port for one, _, port in front.endpoints()}
        await front.prepare()


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
        return (await self.ask(72, 0, **await self.subscribe())).error_code

    async def subscribe(self):
        """Return the fields of a push that fits what is asked for."""
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
        return {name: getattr(body, name) for name in body.__slots__}

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
    await bridge.start()
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
        await bridge.clients.drain(0.01, lambda: None)
