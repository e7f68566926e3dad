"""Wiring of the bridge: settings in, a listening server until it is told to stop."""

import asyncio
import itertools
import logging
import random
import socket
import time
import uuid
from collections.abc import Callable

from pipelines.kafka_connection import publisher_config
from pipelines.secret_references import SecretReader
from pipelines.setting_records import Settings

from .client_instances import ClientInstances, TelemetryLimits
from .cluster_part import ClusterPart
from .counters import BridgeCounters
from .handlers import RequestHandlers, serve_metadata
from .limits import check_limits
from .listening import (
    LISTENER_KEYS,
    advertised_node,
    bind_listener,
    not_available,
)
from .logs import log_refused
from .producer_config import producer_config
from .protocol.metadata import AdvertisedNode
from .publisher import Publisher
from .push_config_part import PushConfigPart
from .records import PushIds, max_record_bytes
from .stopping import is_done_before
from .telemetry import COMPRESSION_TYPES
from .telemetry_handlers import Publish, TelemetryHandlers
from .topics import ensure_topics
from .transport import BridgeConnection
from .watch import BridgeWatch

logger = logging.getLogger(__name__)

OnReady = Callable[[str, int], None]
_MS = 1_000
_NS_PER_MS = 1_000_000
_LAST_REPLIES_S = 1.0
_FLUSH_S = 1.0
_COMPRESSION_IDS = {name: number for number, name in COMPRESSION_TYPES.items()}


async def run_bridge(
    settings: Settings,
    secrets: SecretReader,
    *,
    on_ready: OnReady,
    stop: asyncio.Event | None = None,
) -> None:
    """Run until stop is set or the task is cancelled, then drain.

    Args:
        settings: All of conf/.
        secrets: Reads what [kafka] refers to.
        on_ready: Called with host and port once clients may connect.
        stop: Set it to end in order, for example from a signal handler.
    Raises: InvalidSetting, UnresolvedSecret, MissingService.
    """
    await BridgeServer(settings, secrets).serve(stop or asyncio.Event(), on_ready)


class BridgeServer:
    """One bridge; serves once."""

    def __init__(self, settings: Settings, secrets: SecretReader) -> None:
        self.counters = BridgeCounters()
        self._settings = settings
        self._bridge = settings.bridge
        check_limits(settings.bridge)
        self._kafka = publisher_config(settings.kafka, secrets)
        self.push_config = PushConfigPart(settings)
        self.watch = BridgeWatch(settings.bridge, self.counters)
        """Metrics and health; parts add their metrics to watch.state.groups."""
        self._cluster = ClusterPart(settings, self._kafka)
        self._connections: set[BridgeConnection] = set()
        self._has_no_connection = asyncio.Event()
        self._has_no_connection.set()

    async def serve(self, stop: asyncio.Event, on_ready: OnReady) -> None:
        """Listen until stop is set, this task is cancelled or the producer fails.

        Raises: InvalidSetting, MissingService.
        """
        async with self.watch.serving():
            await self._serve(stop, on_ready)

    async def _serve(self, stop: asyncio.Event, on_ready: OnReady) -> None:
        bridge = self._bridge
        with bind_listener(bridge.listen_host, bridge.listen_port) as listener:
            node = advertised_node(bridge, listener.getsockname()[1])
            record_bytes = max_record_bytes(
                max(bridge.telemetry_max_bytes, self.push_config.max_value_bytes)
            )
            found_topics = ensure_topics(
                self._kafka,
                [self._settings.topics.telemetry, *self.push_config.topics],
                self._settings.topics,
                bridge_id=bridge.bridge_id,
                max_record_bytes=record_bytes,
            )
            if not await is_done_before(stop, found_topics):
                return
            if not await is_done_before(stop, self._cluster.start()):
                return
            publisher = self._open_publisher(record_bytes)
            try:
                await self._listen(listener, node, publisher, stop, on_ready)
            finally:
                await self.push_config.close()
                await self._cluster.close()
                await publisher.close(_FLUSH_S)
                logger.info("bridge has stopped: %s", self.counters.as_text())
        if publisher.failure is not None:
            raise publisher.failure

    async def _listen(
        self,
        listener: socket.socket,
        node: AdvertisedNode,
        publisher: Publisher,
        stop: asyncio.Event,
        on_ready: OnReady,
    ) -> None:
        handlers = self.make_handlers(node, publisher.publish)
        loop = asyncio.get_running_loop()
        # TLS is one more argument here; nothing else of the bridge will notice it.
        try:
            server = await loop.create_server(self._connect_to(handlers), sock=listener)
        except OSError as error:
            # Another program bound the same port before either of them listened.
            host, port = listener.getsockname()[:2]
            raise not_available(host, port, LISTENER_KEYS, error) from None
        async with asyncio.TaskGroup() as group:
            endings = {
                group.create_task(stop.wait()),
                group.create_task(publisher.has_failed.wait()),
            }
            others = (self.watch.follow(publisher), self._cluster.follow())
            tasks = {*endings, *(group.create_task(one) for one in others)}
            try:
                host, port = listener.getsockname()[:2]
                logger.info("bridge listens on %s port %d", host, port)
                on_ready(host, port)
                await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
            finally:
                self.watch.is_stopping = True
                for task in tasks:
                    task.cancel()
                server.close()
                await self._drain(publisher)

    def _connect_to(self, handlers: RequestHandlers) -> Callable[[], BridgeConnection]:
        connection_ids = itertools.count(1)

        def connect() -> BridgeConnection:
            connection = BridgeConnection(
                next(connection_ids),
                handlers=handlers,
                listener=self._bridge.listener,
                max_request_bytes=self._bridge.max_request_bytes,
                counters=self.counters,
                on_lost=self._forget,
            )
            self._connections.add(connection)
            self._has_no_connection.clear()
            return connection

        return connect

    def _forget(self, connection: BridgeConnection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._has_no_connection.set()

    async def _drain(self, publisher: Publisher) -> None:
        """Close each connection when it is owed nothing.

        Clients written in Java before 4.2 never push again when their connection
        drops while a push is in flight. So a push that Kafka has not acknowledged in
        time is refused, which they survive, before its connection is closed.
        """
        for connection in list(self._connections):
            connection.drain()
        if await self._is_idle_within(self._bridge.drain_timeout_ms / _MS):
            return
        publisher.refuse_waiting()
        if await self._is_idle_within(_LAST_REPLIES_S):
            return
        for connection in list(self._connections):
            connection.abort()

    async def _is_idle_within(self, timeout_s: float) -> bool:
        try:
            async with asyncio.timeout(timeout_s):
                await self._has_no_connection.wait()
        except TimeoutError:
            return False
        return True

    def _open_publisher(self, record_bytes: int) -> Publisher:
        bridge = self._bridge
        return Publisher(
            producer_config(
                self._kafka,
                bridge_id=bridge.bridge_id,
                publish_timeout_ms=bridge.publish_timeout_ms,
                max_record_bytes=record_bytes,
                max_unacknowledged_bytes=bridge.max_unacknowledged_bytes,
            ),
            topic=self._settings.topics.telemetry,
            publish_timeout_ms=bridge.publish_timeout_ms,
            max_unacknowledged_bytes=bridge.max_unacknowledged_bytes,
            counters=self.counters,
        )

    def make_handlers(
        self,
        node: AdvertisedNode,
        publish: Publish,
        now_ms: Callable[[], int] = lambda: time.time_ns() // _NS_PER_MS,
    ) -> RequestHandlers:
        """Wire everything that is served.

        Args:
            node: What clients are told about this bridge.
            publish: Writes a record and says once whether Kafka has it.
            now_ms: Milliseconds since 1970-01-01T00:00:00Z.
        """
        bridge = self._bridge
        limits = TelemetryLimits(
            telemetry_max_bytes=bridge.telemetry_max_bytes,
            accepted_compression_types=tuple(
                _COMPRESSION_IDS[name] for name in bridge.accepted_compression_types
            ),
            max_client_instances=bridge.max_client_instances,
        )
        instances = ClientInstances(
            limits=limits, registry=self._cluster.registry, make_uuid=uuid.uuid4
        )
        # Seeded by the system; the ids are unique, not secret.
        push_ids = PushIds(random.Random().getrandbits)  # noqa: S311 - see above
        self.watch.count_instances = instances.__len__
        telemetry = TelemetryHandlers(
            bridge_id=bridge.bridge_id,
            instances=instances,
            push_ids=push_ids,
            publish=publish,
            now_ms=now_ms,
            counters=self.counters,
            top=self.watch.top,
            on_refused=log_refused,
        )
        return self.push_config.serve_with(
            [serve_metadata(node), *telemetry.served(), *self._cluster.served()],
            forget=telemetry.forget,
            make_instance_id=instances.make_instance_id,
            push_ids=push_ids,
            publish=publish,
            now_ms=now_ms,
            answers=self.counters.answers,
        )
