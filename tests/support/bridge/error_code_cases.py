"""The error codes that a bridge can send, and how it comes to send each.

And what else a client must live with: a connection that is cut, a version not its own.
"""

import asyncio
import contextlib
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from pipelines.bridge.server import BridgeServer
from pipelines.bridge.telemetry.subscriptions import parse_subscription
from pipelines.embedded import EmbeddedKafka
from tests.bench.outage import frozen
from tests.support.bridge.altering_relay import API_VERSIONS, GET, LOST, PUSH, Relay
from tests.support.clients.raw_pushers import make_frame

LIBRDKAFKA, JAVA, OLD_JAVA = "librdkafka", "java", "java-3.9.2"
INTERVAL_MS = 1_000
AGAIN_S = 180
JAVAS_WAIT_S = 400
"""More than the five minutes that Java waits after some errors."""
ONE_METRIC = "org.apache.kafka.producer.connection.creation.total"
SMALL_PUSH_BYTES = {LIBRDKAFKA: 330, JAVA: 600, OLD_JAVA: 600}
"""Between the pushes of one metric and of all."""
NAMES = {
    API_VERSIONS: "ApiVersions",
    GET: "GetTelemetrySubscriptions",
    PUSH: "PushTelemetry",
}


_VERSION_AT = 2
_HIGHEST_AT = 14
"""In the reply of version 0 that lists ApiVersions alone."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One error code, how the bridge comes to send it, and what must follow."""

    api_key: int
    error_code: int | None
    how: str
    provoke: Callable
    """Takes the stage; runs once the client has pushed, or before it starts."""
    is_before_start: bool = False
    overrides: Callable | None = None
    """Takes the client; returns what differs in the settings."""
    gone: frozenset = frozenset()
    """Clients that never push again."""
    waits_s: dict = field(default_factory=dict)
    """Longest wait for the next accepted push, where it is not AGAIN_S, by client."""

    @property
    def name(self):
        code = "lost" if self.error_code is LOST else self.error_code
        return f"{NAMES[self.api_key]} {code}"

    def patience_s(self, client):
        """Return how long to wait for a client, also for one that must not come."""
        return self.waits_s.get(client, AGAIN_S)


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
        struct.pack_into(">h", frame.data, _VERSION_AT, 99)
        frame.alter_reply = partial(limit_version, frame.api_version)

    stage.relay.alter_next(API_VERSIONS, alter)


def limit_version(known, reply):
    """Offer what the client knows: one that speaks version 99 would know them all."""
    (offered,) = struct.unpack_from(">h", reply, _HIGHEST_AT)
    struct.pack_into(">h", reply, _HIGHEST_AT, min(offered, known))


async def speak_version_5(stage):
    """Let every connection begin as those of Java 4.4 and franz-go do."""

    def alter(frame):
        assert frame.api_version in {3, 4}
        struct.pack_into(">h", frame.data, _VERSION_AT, 5)
        frame.data[-1:-1] = b"\x00\xff\xff\xff\xff"  # no ClusterId, no NodeId
        stage.relay.alter_next(API_VERSIONS, alter)

    stage.relay.alter_next(API_VERSIONS, alter)


async def cut_connection(stage):
    def alter(frame):
        frame.is_lost = True

    stage.relay.alter_next(PUSH, alter)


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
        waits_s={LIBRDKAFKA: 90, JAVA: JAVAS_WAIT_S, OLD_JAVA: JAVAS_WAIT_S},
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
        provoke=alter_instance_id, gone=frozenset({LIBRDKAFKA, JAVA, OLD_JAVA}),
        waits_s={JAVA: JAVAS_WAIT_S, OLD_JAVA: JAVAS_WAIT_S},
    ),
    Case(
        api_key=PUSH, error_code=LOST, how="the relay cuts the connection",
        provoke=cut_connection, gone=frozenset({OLD_JAVA}),
        waits_s={JAVA: JAVAS_WAIT_S, OLD_JAVA: JAVAS_WAIT_S},
    ),
    Case(
        api_key=API_VERSIONS, error_code=0, how="the relay raises the version to 5",
        provoke=speak_version_5, is_before_start=True,
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
