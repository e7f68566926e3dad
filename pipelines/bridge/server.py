"""Wiring of the bridge: settings in, a listening server until it is told to stop."""

import asyncio
import logging
import random
import socket
import time
import uuid
from collections.abc import Callable, Coroutine
from contextlib import ExitStack

from pipelines.kafka_connection import publisher_config
from pipelines.secret_references import SecretReader
from pipelines.setting_records import Settings

from .client_instances import ClientInstances, TelemetryLimits
from .clients import Clients, raise_open_files
from .counters import BridgeCounters
from .handlers import Connection, RequestHandlers, ServedRequest, serve_metadata
from .listening import advertised_node, bind_all, plan_listeners
from .protocol.metadata import AdvertisedNode
from .publisher import Publisher, producer_config
from .records import PushIds, max_record_bytes
from .sasl_handlers import serve_sasl
from .security_files import SecurityFiles
from .selections import SubscriptionRegistry
from .subscriptions import load_subscriptions
from .telemetry import COMPRESSION_TYPES
from .telemetry_handlers import TelemetryHandlers
from .topics import ensure_topic

logger = logging.getLogger(__name__)

OnReady = Callable[[str, int], None]
REPORT_INTERVAL_S = 60.0
_MS = 1_000
_NS_PER_MS = 1_000_000
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
        on_ready: Called with host and port of each listener once clients may connect.
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
        self._kafka = publisher_config(settings.kafka, secrets)
        self.registry = SubscriptionRegistry(load_subscriptions(settings.subscriptions))
        """Subscriptions in force; clients hear of a change at their next request."""
        self.endpoints: dict[str, tuple[str, int]] = {}
        """Host and port of each listener, by its name, once clients may connect."""
        self._listeners = plan_listeners(settings)
        self._security = SecurityFiles(
            self._listeners, settings.authentication, secrets
        )

    async def serve(self, stop: asyncio.Event, on_ready: OnReady) -> None:
        """Listen until stop is set, this task is cancelled or the producer fails.

        Raises: InvalidSetting, MissingService.
        """
        bridge = self._bridge
        with ExitStack() as bound:
            sockets = bind_all(self._listeners)
            for one in sockets:
                bound.enter_context(one)
            nodes = [
                advertised_node(bridge, listener, one.getsockname()[1])
                for listener, one in zip(self._listeners, sockets, strict=True)
            ]
            record_bytes = max_record_bytes(bridge.telemetry_max_bytes)
            found_topic = ensure_topic(
                self._kafka,
                self._settings.topics,
                bridge_id=bridge.bridge_id,
                max_record_bytes=record_bytes,
            )
            if not await _is_done_before(stop, found_topic):
                return
            publisher = self._open_publisher(record_bytes)
            try:
                await self._listen(sockets, nodes, publisher, stop, on_ready)
            finally:
                await publisher.close(_FLUSH_S)
                logger.info("bridge has stopped: %s", self.counters.as_text())
        if publisher.failure is not None:
            raise publisher.failure

    async def _listen(
        self,
        sockets: list[socket.socket],
        nodes: list[AdvertisedNode],
        publisher: Publisher,
        stop: asyncio.Event,
        on_ready: OnReady,
    ) -> None:
        served, forget = self._make_handlers(publisher)
        clients = Clients(
            self._settings, self._security, self.counters, raise_open_files()
        )
        servers = []
        for listener, node, one in zip(self._listeners, nodes, sockets, strict=True):
            handlers = RequestHandlers([serve_metadata(node), *served], forget=forget)
            servers.append(await clients.listen(listener, handlers, one))
        async with asyncio.TaskGroup() as group:
            endings = {
                group.create_task(stop.wait()),
                group.create_task(publisher.has_failed.wait()),
            }
            tasks = {
                *endings,
                group.create_task(self._report_counters()),
                group.create_task(clients.keep_watch()),
            }
            self._security.start()
            try:
                for listener, one in zip(self._listeners, sockets, strict=True):
                    host, port = one.getsockname()[:2]
                    logger.info(
                        "listener %s (%s) is %s port %d",
                        listener.name,
                        listener.security_protocol,
                        host,
                        port,
                    )
                    self.endpoints[listener.name] = (host, port)
                    on_ready(host, port)
                await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                for server in servers:
                    server.close()
                self._security.stop()
                await clients.drain(
                    self._bridge.drain_timeout_ms / _MS, publisher.refuse_waiting
                )

    async def _report_counters(self) -> None:
        while True:
            await asyncio.sleep(REPORT_INTERVAL_S)
            logger.info("bridge: %s", self.counters.as_text())

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

    def _make_handlers(
        self, publisher: Publisher
    ) -> tuple[list[ServedRequest], Callable[[Connection], None]]:
        """Return what all listeners serve, and what forgets a closed connection."""
        bridge = self._bridge
        limits = TelemetryLimits(
            telemetry_max_bytes=bridge.telemetry_max_bytes,
            accepted_compression_types=tuple(
                _COMPRESSION_IDS[name] for name in bridge.accepted_compression_types
            ),
            max_client_instances=bridge.max_client_instances,
        )
        telemetry = TelemetryHandlers(
            bridge_id=bridge.bridge_id,
            instances=ClientInstances(
                limits=limits, registry=self.registry, make_uuid=uuid.uuid4
            ),
            push_ids=PushIds(random.SystemRandom().getrandbits),
            publish=publisher.publish,
            now_ms=lambda: time.time_ns() // _NS_PER_MS,
            counters=self.counters,
        )
        return [*serve_sasl(), *telemetry.served()], telemetry.forget


async def _is_done_before(
    stop: asyncio.Event, work: Coroutine[None, None, object]
) -> bool:
    """Do some work to its end, or give it up when stop is set."""
    tasks = [asyncio.create_task(work), asyncio.create_task(stop.wait())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        is_done = tasks[0].done()
        if is_done:
            tasks[0].result()
    finally:
        for task in tasks:
            task.cancel()
    return is_done
