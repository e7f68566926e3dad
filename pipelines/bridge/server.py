"""Wiring of the bridge: settings in, a listening server until it is told to stop."""

import asyncio
import logging
import random
import socket
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from types import MappingProxyType

from pipelines.bridge.cluster.part import ClusterPart
from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.handlers import Connection, RequestHandlers, serve_metadata
from pipelines.bridge.core.records import Publish, PushIds, max_record_bytes
from pipelines.bridge.feeding import FeedPart, read_clock_ms
from pipelines.bridge.front.acceptor import Clients, raise_open_files
from pipelines.bridge.front.listening import advertised_node, bind_all, plan_listeners
from pipelines.bridge.keeping import DynamicConfigPart
from pipelines.bridge.operations.logs import log_counters, log_refused
from pipelines.bridge.operations.watch import BridgeWatch
from pipelines.bridge.protocol.metadata import AdvertisedNode
from pipelines.bridge.protocol.push_telemetry import COMPRESSION_TYPES
from pipelines.bridge.proxy.relay.part import ProxyPart
from pipelines.bridge.proxy.wire.shown_by_clients import WireOutlet
from pipelines.bridge.publishing.limits import check_limits
from pipelines.bridge.publishing.publisher import Publisher, producer_config
from pipelines.bridge.publishing.telemetry_kafka import TelemetryKafka
from pipelines.bridge.push_config.part import PushConfigPart
from pipelines.bridge.security.sasl_handlers import serve_sasl
from pipelines.bridge.security.security_files import SecurityFiles
from pipelines.bridge.telemetry.handlers import TelemetryHandlers
from pipelines.bridge.telemetry.instances import ClientInstances, TelemetryLimits
from pipelines.kafka_wire.access import check_token, read_access
from pipelines.kafka_wire.topics import ensure_topics
from pipelines.kafka_wire.waiting import is_done_before
from pipelines.settings.clients_cluster import (
    KAFKA,
    ClientsCluster,
    find_clients_cluster,
)
from pipelines.settings.kafka import publisher_config
from pipelines.settings.loading import load_config_catalogs
from pipelines.settings.records import Settings
from pipelines.settings.rules import make_sensitive_key_rules
from pipelines.settings.secret_references import SecretReader

logger = logging.getLogger(__name__)

OnReady = Callable[[str, int], None]
_MS = 1_000
_FLUSH_S = 1.0
_COMPRESSION_IDS = {name: number for number, name in COMPRESSION_TYPES.items()}


def _say_push_only(proxy: ProxyPart) -> str:
    """Return what to add where a listener beside a proxy is named."""
    return (
        f": there clients can only push; to produce or consume they need "
        f"bootstrap.servers={proxy.bootstrap_servers}"
    )


async def run_bridge(
    settings: Settings,
    secrets: SecretReader,
    *,
    on_ready: OnReady,
    stop: asyncio.Event | None = None,
) -> None:
    """Run until stop is set or the task is cancelled, then drain.

    Args:
        secrets: Reads what [kafka] refers to.
        on_ready: Called with host and port of each listener once clients may connect.
        stop: Set it to end in order, for example from a signal handler.
    Raises: InvalidSetting, UnresolvedSecret, MissingService.
    """
    await BridgeServer(settings, secrets).serve(stop or asyncio.Event(), on_ready)


class BridgeServer:
    """One bridge; serves once."""

    def __init__(
        self,
        settings: Settings,
        secrets: SecretReader,
        *,
        on_bootstrap: Callable[[str], None] = lambda _servers: None,
        on_pages: Callable[[str], None] = lambda _url: None,
        accepted_cluster_id: str | None = None,
    ) -> None:
        """Check the settings; nothing is asked and nothing listens yet.

        Args:
            secrets: Reads what [kafka] and [upstream] refer to.
            on_bootstrap: Called with the proxy's bootstrap.servers, before on_ready.
            on_pages: Called with the address of the metrics pages, after on_ready.
            accepted_cluster_id: May be fed in place of what was at its address.
        Raises: InvalidSetting, UnresolvedSecret.
        """
        self._on_bootstrap = on_bootstrap
        self._on_pages = on_pages
        self.counters = BridgeCounters()
        self._settings = settings
        self._bridge = settings.bridge
        check_limits(settings.bridge)
        self._kafka = publisher_config(settings.kafka, secrets)
        kafka = ClientsCluster(KAFKA, settings.kafka)
        self._kafka_access = read_access(self._kafka, key_name=kafka.key_name)
        self._rules = make_sensitive_key_rules(
            settings.sensitive_keys, load_config_catalogs()
        )
        self.push_config = PushConfigPart(settings, self._rules, time.monotonic)
        self.watch = BridgeWatch(settings.bridge, self.counters, self._rules)
        """Metrics and health; parts add their metrics to watch.state.groups."""
        self.watch.state.groups.update(self.push_config.metric_groups)
        section, clients_kafka = clients_cluster = find_clients_cluster(settings)
        self.cluster = ClusterPart(
            settings,
            publisher_config(clients_kafka, secrets, key_prefix=f"{section}.")
            if clients_cluster.is_apart
            else self._kafka,
            self.counters,
            time.monotonic_ns,
        )
        self.watch.follow_quotas(self.cluster.quotas)
        given = (settings, secrets, self._kafka, self.cluster)
        self.feed = FeedPart(*given, accepted_cluster_id)
        self.watch.state.feed = self.feed.counters
        self.dynamic_configs = DynamicConfigPart(
            settings, self._kafka, self._rules, read_clock_ms
        )
        self.watch.state.dynamic_configs = self.dynamic_configs.counters
        self.watch.ask_parts = self.dynamic_configs.why_not_ready
        self.proxy = (
            ProxyPart(settings, secrets, self.counters, self._rules, self.cluster.known)
            if settings.proxy.enabled
            else None
        )
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
        async with self.watch.serving():
            await self._serve(stop, on_ready)

    async def _serve(self, stop: asyncio.Event, on_ready: OnReady) -> None:
        bridge = self._bridge
        with ExitStack() as bound:
            taken = bind_all(self._listeners, is_shared=bridge.workers > 1)
            sockets = [bound.enter_context(one) for one in taken]
            nodes = {
                listener.name: advertised_node(bridge, listener, one.getsockname()[1])
                for listener, one in zip(self._listeners, sockets, strict=True)
            }
            record_bytes = max_record_bytes(
                max(bridge.telemetry_max_bytes, self.push_config.max_value_bytes)
            )
            kafka = TelemetryKafka(
                partial(self._prepare_kafka, record_bytes), is_needed=not self._is_apart
            )
            if self.cluster.is_apart and not await is_done_before(
                stop, self.cluster.start()
            ):
                return
            if not await is_done_before(stop, kafka.find()):
                return
            publisher = self._open_publisher(record_bytes)
            if not kafka.is_found:
                publisher.shut()
            try:
                heard = (sockets, nodes, publisher, stop, on_ready)
                if await is_done_before(stop, self.dynamic_configs.start()):
                    await self._listen(*heard, kafka=kafka)
            finally:
                await self.push_config.close()
                await self.feed.close()
                self.dynamic_configs.close()
                await self.cluster.close()
                await publisher.close(_FLUSH_S)
                log_counters("bridge has stopped", self.counters)
        if publisher.failure is not None:
            raise publisher.failure

    async def _listen(
        self,
        sockets: Sequence[socket.socket],
        nodes: Mapping[str, AdvertisedNode],
        publisher: Publisher,
        stop: asyncio.Event,
        on_ready: OnReady,
        *,
        kafka: TelemetryKafka,
    ) -> None:
        first = next(iter(nodes.values()))
        handlers = self.make_handlers(first, publisher.publish, by_listener=nodes)
        clients = self.make_clients()
        for listener, one in zip(self._listeners, sockets, strict=True):
            await clients.listen(listener, handlers, one)
        if self.proxy is not None:
            # As in make_handlers: the ids are unique, not secret.
            push_ids = PushIds(random.Random().getrandbits)  # noqa: S311 - see above
            outlet = WireOutlet(
                publish=publisher.publish,
                push_ids=push_ids,
                now_ms=read_clock_ms,
                cluster=self.cluster.known,
            )
            await self.proxy.start(handlers, clients, publisher, outlet)
            self.watch.carries_data = self._is_apart
        async with asyncio.TaskGroup() as group:
            endings = {
                group.create_task(stop.wait()),
                group.create_task(publisher.has_failed.wait()),
            }
            others = [self.watch.follow(publisher), self.cluster.follow()]
            others += [kafka.find_later(publisher), self.feed.run()]
            others.append(self.dynamic_configs.run())
            others.append(clients.keep_watch())
            if self.proxy is not None:
                others.append(self.proxy.follow())
            tasks = {*endings, *(group.create_task(one) for one in others)}
            self._security.start()
            try:
                self._say_endpoints(sockets, on_ready)
                await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
            finally:
                self.watch.is_stopping = True
                for task in tasks:
                    task.cancel()
                self._security.stop()
                if self.proxy is not None:
                    await self.proxy.close()
                await clients.drain(
                    self._bridge.drain_timeout_ms / _MS, publisher.refuse_waiting
                )

    @property
    def _is_apart(self) -> bool:
        """Whether data passes to another Kafka than the one that takes telemetry."""
        return self.proxy is not None and self.proxy.is_apart

    async def _prepare_kafka(self, record_bytes: int) -> None:
        """Find or make the topics, and read the subscriptions where they are there.

        Raises: MissingService.
        """
        await check_token(self._kafka_access, KAFKA)
        await ensure_topics(
            self._kafka,
            self._find_topics(),
            self._settings.topics,
            bridge_id=self._bridge.bridge_id,
            max_record_bytes=record_bytes,
        )
        await self.feed.prepare()
        await self.dynamic_configs.prepare()
        if not self.cluster.is_apart:
            await self.cluster.start()

    def _find_topics(self) -> list[str]:
        """Return the topics that are written."""
        of_proxy = () if self.proxy is None else self.proxy.topics
        return [self._settings.topics.telemetry, *self.push_config.topics, *of_proxy]

    def make_clients(self) -> Clients:
        """Return what keeps the connections of this bridge; there are none yet."""
        return Clients(
            self._settings,
            self._security,
            self.counters,
            raise_open_files(),
            self.cluster.quotas,
        )

    def _say_endpoints(
        self, sockets: Sequence[socket.socket], on_ready: OnReady
    ) -> None:
        """Log all addresses, then report them, so that they end the start."""
        for listener, one in zip(self._listeners, sockets, strict=True):
            host, port = one.getsockname()[:2]
            logger.info(
                "listener %s (%s) listens on %s port %d%s",
                *(listener.name, listener.security_protocol, host, port),
                "" if self.proxy is None else _say_push_only(self.proxy),
            )
            self.endpoints[listener.name] = (host, port)
        pages_url = self.watch.pages_url
        if pages_url is not None:
            logger.info("metrics and health: %s", pages_url)
        if self.proxy is not None:
            self._on_bootstrap(self.proxy.bootstrap_servers)
        for host, port in self.endpoints.values():
            on_ready(host, port)
        if pages_url is not None:
            self._on_pages(pages_url)

    def _note_topics(self, connection: Connection) -> None:
        """Say where data goes when a client looks for it at a listener."""
        if self.proxy is not None:
            fields = {
                "reason": "data_at_endpoint",
                "connection_id": connection.connection_id,
            }
            logger.warning(
                "a client of listener %s asks for topics%s",
                connection.identity.listener,
                _say_push_only(self.proxy),
                extra=fields,
            )

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
            is_revived=self._is_apart,
        )

    def make_handlers(
        self,
        node: AdvertisedNode,
        publish: Publish,
        now_ms: Callable[[], int] = read_clock_ms,
        *,
        by_listener: Mapping[str, AdvertisedNode] = MappingProxyType({}),
    ) -> RequestHandlers:
        """Wire everything that is served, on all listeners.

        Args:
            node: What clients are told about this bridge.
            publish: Writes a record and says once whether Kafka has it.
            now_ms: Milliseconds since 1970-01-01T00:00:00Z.
            by_listener: What clients of some listeners are told instead.
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
            limits=limits, registry=self.cluster.registry, make_uuid=uuid.uuid4
        )
        # Seeded by the system; the ids are unique, not secret.
        push_ids = PushIds(random.Random().getrandbits)  # noqa: S311 - see above
        self.watch.count_instances = instances.__len__
        telemetry = TelemetryHandlers(
            bridge_id=bridge.bridge_id,
            rules=self._rules,
            instances=instances,
            push_ids=push_ids,
            publish=publish,
            now_ms=now_ms,
            counters=self.counters,
            cluster=self.cluster.known,
            top=self.watch.top,
            on_refused=log_refused,
        )
        return self.push_config.serve_with(
            [
                serve_metadata(node, by_listener, note_topics=self._note_topics),
                *serve_sasl(),
                *telemetry.served(),
                *self.cluster.served(),
                *self.dynamic_configs.served(),
            ],
            forget=telemetry.forget,
            make_instance_id=instances.make_instance_id,
            push_ids=push_ids,
            publish=publish,
            now_ms=now_ms,
            answers=self.counters.answers,
            cluster=self.cluster.known,
            meter=self.cluster.quotas.meter,
        )
