"""The error codes that a bridge can send, and how it comes to send each."""

import asyncio
import contextlib
import struct
from collections.abc import Callable
from dataclasses import dataclass

from pipelines.bridge.server import BridgeServer
from pipelines.bridge.subscriptions import parse_subscription
from pipelines.embedded import EmbeddedKafka
from tests.bench.outage import frozen
from tests.integration.altering_relay import API_VERSIONS, GET, PUSH, Relay
from tests.integration.raw_pushers import make_frame

LIBRDKAFKA, JAVA = "librdkafka", "java"
INTERVAL_MS = 1_000
AGAIN_S = 60
ONE_METRIC = "org.apache.kafka.producer.connection.creation.total"
SMALL_PUSH_BYTES = {LIBRDKAFKA: 330, JAVA: 600}
"""Between the pushes of one metric and of all."""
NAMES = {
    API_VERSIONS: "ApiVersions",
    GET: "GetTelemetrySubscriptions",
    PUSH: "PushTelemetry",
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One error code, how the bridge comes to send it, and what must follow."""

    api_key: int
    error_code: int
    how: str
    provoke: Callable
    """Takes the stage; runs once the client has pushed, or before it starts."""
    is_before_start: bool = False
    overrides: Callable | None = None
    """Takes the client; returns what differs in the settings."""
    comes_back: bool = True
    again_s: dict | int = AGAIN_S
    """Longest wait for the next accepted push, for all clients or by client."""

    @property
    def name(self):
        return f"{NAMES[self.api_key]} {self.error_code}"


@dataclass
class Stage:
    """Where one case is played."""

    kafka: EmbeddedKafka
    server: BridgeServer
    relay: Relay
    address: tuple
    closing: contextlib.AsyncExitStack


async def change_subscription(stage):
    put_subscription(stage.server, ONE_METRIC)


def put_subscription(server, metrics):
    properties = {"metrics": metrics, "interval.ms": str(INTERVAL_MS)}
    server.cluster.registry.put(parse_subscription("s", properties))


async def alter_compression_type(stage):
    def alter(frame):
        frame.data[frame.body_at + 21] = 9

    stage.relay.alter_next(PUSH, alter)


async def alter_instance_id(stage):
    def alter(frame):
        frame.data[frame.body_at : frame.body_at + 16] = bytes(16)

    stage.relay.alter_next(PUSH, alter)


async def nothing(_stage):
    """The settings of the case do it."""


async def freeze_kafka(stage):
    stage.closing.enter_context(frozen(stage.kafka))


async def ask_early(stage):
    """Ask as the same client instance a moment before the client does."""
    reader, writer = await asyncio.open_connection(*stage.address)
    stage.closing.callback(writer.close)
    writer.write(make_frame(GET, bytes(16) + b"\x00"))
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    instance_id = (await reader.readexactly(size))[11:27]
    # The bridge counts the interval from here, and the client asks within it.
    put_subscription_slowly(stage.server)
    writer.write(make_frame(GET, instance_id + b"\x00"))
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    await reader.readexactly(size)

    def alter(frame):
        frame.data[frame.body_at : frame.body_at + 16] = instance_id

    stage.relay.alter_next(GET, alter)


def put_subscription_slowly(server):
    properties = {"metrics": "*", "interval.ms": "20000"}
    server.cluster.registry.put(parse_subscription("s", properties))


async def alter_version(stage):
    def alter(frame):
        struct.pack_into(">h", frame.data, 2, 99)

    stage.relay.alter_next(API_VERSIONS, alter)


async def alter_software_name(stage):
    def alter(frame):
        frame.data[frame.body_at + 1] = ord("!")

    stage.relay.alter_next(API_VERSIONS, alter)


CASES = (
    Case(
        api_key=PUSH, error_code=89, how="Kafka is frozen", provoke=freeze_kafka,
        overrides=lambda _client: ("bridge.publish_timeout_ms=1000",),
    ),
    Case(
        api_key=GET, error_code=89, how="the relay has asked for the same client",
        provoke=ask_early, is_before_start=True,
        again_s={LIBRDKAFKA: 90, JAVA: 400},
    ),
    Case(
        api_key=PUSH, error_code=117, how="the subscription has changed",
        provoke=change_subscription,
    ),
    Case(
        api_key=PUSH, error_code=76, how="the relay alters the codec",
        provoke=alter_compression_type,
    ),
    Case(
        api_key=PUSH, error_code=118, how="bridge.telemetry_max_bytes is small",
        provoke=nothing, is_before_start=True,
        overrides=lambda client: (
            f"bridge.telemetry_max_bytes={SMALL_PUSH_BYTES[client]}",
        ),
    ),
    Case(
        api_key=PUSH, error_code=42, how="the relay removes the client instance id",
        provoke=alter_instance_id, comes_back=False,
    ),
    Case(
        api_key=API_VERSIONS, error_code=35, how="the relay alters the version",
        provoke=alter_version, is_before_start=True,
    ),
    Case(
        api_key=API_VERSIONS, error_code=42, how="the relay alters the software name",
        provoke=alter_software_name, is_before_start=True,
    ),
)  # fmt: skip
