"""One bridge process: its parts, and their life."""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from pipelines.bridge.cluster.part import ClusterPart
from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.handlers import Connection, RequestHandlers
from pipelines.bridge.core.parts import Part
from pipelines.bridge.core.records import PushIds, RecordOutlet
from pipelines.bridge.dynamic_configs.part import DynamicConfigPart
from pipelines.bridge.exposition.client_labels import ClientLabels
from pipelines.bridge.front.part import FrontPart
from pipelines.bridge.operations.logs import log_counters, log_refused
from pipelines.bridge.operations.watch import BridgeWatch
from pipelines.bridge.protocol.software import api_versions_api
from pipelines.bridge.proxy.relay.part import ProxyPart
from pipelines.bridge.publishing.limits import check_limits
from pipelines.bridge.publishing.part import PublishingPart
from pipelines.bridge.push_config.part import PushConfigPart
from pipelines.bridge.telemetry.part import TelemetryPart
from pipelines.feed.part import FeedPart
from pipelines.kafka_wire.access import check_token, read_access
from pipelines.kafka_wire.waiting import is_done_before
from pipelines.log_times import read_clock_ms
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
_SERVE = "serve"


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
        check_limits(settings.bridge)
        self._settings = settings
        self._on_bootstrap, self._on_pages = on_bootstrap, on_pages
        counters = self.counters = BridgeCounters()
        kafka = publisher_config(settings.kafka, secrets)
        connection = _read_connection(settings, secrets) or kafka
        catalogs = load_config_catalogs()
        rules = make_sensitive_key_rules(settings.sensitive_keys, catalogs)
        labels = ClientLabels(rules)
        self.cluster = ClusterPart(
            settings, connection, counters, time.monotonic_ns, labels
        )
        # Seeded by the system; the ids are unique, not secret.
        push_ids = PushIds(random.Random().getrandbits)  # noqa: S311 - see above
        outlet = self.outlet = RecordOutlet(
            push_ids=push_ids, now_ms=read_clock_ms, cluster=self.cluster.known
        )
        shared = (settings, rules, outlet)
        self.telemetry = TelemetryPart(
            *shared,
            labels,
            counters,
            registry=self.cluster.registry,
            now_s=time.monotonic,
            on_refused=log_refused,
        )
        self.push_config = PushConfigPart(
            *shared,
            labels,
            now_s=time.monotonic,
            make_instance_id=self.telemetry.instances.make_instance_id,
        )
        self._is_apart = settings.proxy.enabled and self.cluster.is_apart
        """Whether data passes to another Kafka than the one that takes telemetry."""
        self.publishing = PublishingPart(
            settings,
            kafka,
            outlet,
            counters,
            max_value_bytes=max(
                settings.bridge.telemetry_max_bytes, self.push_config.max_value_bytes
            ),
            is_needed=not self._is_apart,
            check_login=_make_login_check(settings, kafka),
        )
        self.dynamic_configs = DynamicConfigPart(
            settings, kafka, rules, read_clock_ms, self._is_kafka_found
        )
        self.feed = FeedPart(
            settings,
            secrets,
            kafka=kafka,
            connection=connection,
            now_ms=read_clock_ms,
            follower=self.cluster.follower,
            accepted_cluster_id=accepted_cluster_id,
            is_kafka_found=self._is_kafka_found,
        )
        self.front = FrontPart(
            settings,
            secrets,
            counters,
            self.cluster.quotas,
            make_handlers=self.make_handlers,
            refuse_waiting=self.publishing.refuse_waiting,
            note_topics=self._note_topics,
        )
        self.proxy = (
            ProxyPart(
                settings,
                secrets,
                counters,
                rules,
                outlet,
                front=self.front,
                publishing=self.publishing,
                make_handlers=self._make_proxy_handlers,
            )
            if settings.proxy.enabled
            else None
        )
        self.endpoints: dict[str, tuple[str, int]] = {}
        """Host and port of each listener, by its name, once clients may connect."""
        first: list[Part] = [self.publishing, self.cluster]
        if self.cluster.is_apart:
            # Its answer decides whether the bridge starts, whatever [kafka] says.
            first.reverse()
        self.parts: list[Part] = [
            *first,
            self.telemetry,
            self.push_config,
            self.feed,
            self.dynamic_configs,
            self.front,
            *((self.proxy,) if self.proxy else ()),
        ]
        """In the order of prepare; each needs only parts before it."""
        self.watch = BridgeWatch(settings.bridge, counters, self.parts)

    async def serve(self, stop: asyncio.Event, on_ready: OnReady) -> None:
        """Listen until stop is set, this task is cancelled or the producer fails.

        Raises: InvalidSetting, MissingService.
        """
        async with self.watch.serving():
            with self.front.bind():
                try:
                    if await is_done_before(stop, self._prepare()):
                        await self._run(stop, on_ready)
                finally:
                    self.watch.is_stopping = True
                    for part in reversed(self.parts):
                        await part.close()
                    log_counters("bridge has stopped", self.counters)
        if self.publishing.failure is not None:
            raise self.publishing.failure

    async def _prepare(self) -> None:
        for part in self.parts:
            await part.prepare()
        self.watch.carries_data = self._is_apart

    async def _run(self, stop: asyncio.Event, on_ready: OnReady) -> None:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(part.run()) for part in self.parts]
            endings = [
                group.create_task(stop.wait()),
                group.create_task(self.publishing.wait_for_failure()),
            ]
            try:
                self._announce(on_ready)
                await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (*endings, *tasks):
                    task.cancel()

    def make_handlers(self) -> RequestHandlers:
        """Return what answers clients of the listeners: the handlers of all parts."""
        return self._dispatch(self.parts)

    def _make_proxy_handlers(self) -> RequestHandlers:
        """Return what answers clients of the proxy instead of the brokers."""
        answering: list[Part] = [self.push_config, self.dynamic_configs]
        if self._settings.proxy.telemetry == _SERVE:
            answering.append(self.telemetry)
        return self._dispatch(answering)

    def _dispatch(self, parts: Sequence[Part]) -> RequestHandlers:
        config = self._settings.client_config
        version = config.instance_id_api_version if config.enabled else None
        return RequestHandlers(
            [one for part in parts for one in part.handlers()],
            api_versions=api_versions_api(version),
            answers=self.counters.answers,
            meter=self.cluster.quotas.meter,
        )

    def _is_kafka_found(self) -> bool:
        return self.publishing.is_found

    def _announce(self, on_ready: OnReady) -> None:
        """Log all addresses, then report them, so that they end the start."""
        for listener, host, port in self.front.endpoints():
            logger.info(
                "listener %s (%s) listens on %s port %d%s",
                *(listener.name, listener.security_protocol, host, port),
                self._say_push_only(),
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
                self._say_push_only(),
                extra=fields,
            )

    def _say_push_only(self) -> str:
        """Return what to add where a listener beside a proxy is named."""
        if self.proxy is None:
            return ""
        return (
            f": there clients can only push; to produce or consume they need "
            f"bootstrap.servers={self.proxy.bootstrap_servers}"
        )


def _read_connection(
    settings: Settings, secrets: SecretReader
) -> Mapping[str, str] | None:
    """Return the properties of the clients' cluster; None if it is that of [kafka]."""
    section, kafka = cluster = find_clients_cluster(settings)
    if not cluster.is_apart:
        return None
    return publisher_config(kafka, secrets, key_prefix=f"{section}.")


def _make_login_check(
    settings: Settings, kafka: Mapping[str, str]
) -> Callable[[], Awaitable[None]]:
    cluster = ClientsCluster(KAFKA, settings.kafka)
    access = read_access(kafka, key_name=cluster.key_name)
    return partial(check_token, access, KAFKA)
