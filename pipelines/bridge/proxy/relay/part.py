"""Part of the bridge that is the proxy: brokers, their ports, and clients."""

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping
from functools import partial

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.handlers import RequestHandlers
from pipelines.bridge.core.parts import QuietPart
from pipelines.bridge.core.records import RecordOutlet
from pipelines.bridge.front.acceptor import Clients
from pipelines.bridge.front.listening import BACKLOG
from pipelines.bridge.front.part import FrontPart
from pipelines.bridge.proxy.frames.line import Care
from pipelines.bridge.proxy.rules.answer_room import AnswerRoom
from pipelines.bridge.proxy.rules.keep_alive import KeepAlive
from pipelines.bridge.proxy.rules.plan import plan_proxy
from pipelines.bridge.proxy.rules.shared import ProxyRules
from pipelines.bridge.proxy.rules.telemetry_gate import PublisherSigns, TelemetryGate
from pipelines.bridge.proxy.rules.token_owners import TokenOwners
from pipelines.bridge.proxy.wire.shown_by_clients import (
    WireConfigs,
    watched_cares,
)
from pipelines.bridge.proxy.wire.traffic import ClientTraffic
from pipelines.bridge.publishing.part import PublishingPart
from pipelines.bridge.security.distinguished_names import format_distinguished_name
from pipelines.bridge.security.security_files import SecurityFiles
from pipelines.errors import describe_exception
from pipelines.kafka_wire.access import read_access
from pipelines.kafka_wire.client import ClusterClient
from pipelines.kafka_wire.faults import ClusterFault
from pipelines.settings.records import Settings
from pipelines.settings.secret_references import SecretReader
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .broker_list import read_brokers
from .endpoint import ProxyEndpoint
from .greeting import find_source
from .pairs import ProxiedConnection
from .ports import Ports

logger = logging.getLogger(__name__)

_MS = 1_000
_LOOK_FOR_RESETS_S = 0.5


class ProxyPart(QuietPart):
    """Ports of one bridge process in front of the brokers."""

    def __init__(
        self,
        settings: Settings,
        secrets: SecretReader,
        counters: BridgeCounters,
        rules: SensitiveKeyRules,
        outlet: RecordOutlet,
        *,
        front: FrontPart,
        publishing: PublishingPart,
        make_handlers: Callable[[], RequestHandlers],
    ) -> None:
        """Check the settings; nothing is asked and nothing listens yet.

        Args:
            outlet: Destination of records; its cluster is told the brokers' id.
            front: Has the connections.
            publishing: Has the producer, whose signs decide how long a push waits.
            make_handlers: Returns the handlers that answer instead of the brokers;
                called by prepare.
        Raises: InvalidSetting, UnresolvedSecret.
        """
        self._settings = settings
        self._outlet, self._front, self._publishing = outlet, front, publishing
        self._make_handlers = make_handlers
        self._sensitive_key_rules = rules
        self._wire_configs: WireConfigs | None = None
        self._traffic: ClientTraffic | None = None
        self._counters = counters
        self._plan = plan = plan_proxy(settings)
        self.bootstrap_servers = ""
        """What clients set, once they may connect."""
        connection = plan.connection(secrets)
        self._access = read_access(connection, key_name=plan.cluster.key_name)
        self._ports = Ports(
            plan,
            settings.proxy.listen_host,
            is_shared=settings.bridge.workers > 1,
            accept=self._accept,
        )
        self.brokers = self._ports.brokers
        """Which broker is behind which port."""
        self._security = SecurityFiles(
            [plan.listener], settings.authentication, secrets, table="proxy"
        )
        self._client = ClusterClient(self._access, client_id=settings.bridge.bridge_id)
        self._waiting: set[ProxiedConnection] = set()
        self._room: AnswerRoom
        self._keep_alive: KeepAlive
        self._rules: ProxyRules
        self._cares: Mapping[int, Care]
        self._clients: Clients
        self._last_fault = ""

    async def prepare(self) -> None:
        """Ask for the brokers and listen for each of them.

        Raises: ClusterFault, MissingService when a port cannot be had.
        """
        clients = self._front.clients
        if clients is None:
            raise RuntimeError("the proxy is prepared after the front")
        outlet = self._outlet
        if self._settings.proxy.traffic_interval_ms:
            self._traffic = ClientTraffic(
                self._settings,
                self._sensitive_key_rules,
                outlet,
                self._counters,
                note_failure=self._note_failure,
            )
        self._rules = self._make_rules(self._make_handlers())
        interval_s = self._settings.proxy.keep_alive_interval_ms / _MS
        self._keep_alive = KeepAlive(interval_s, self._rules.now_s)
        self._room = AnswerRoom(
            self._settings.proxy.max_buffered_response_bytes,
            stall_s=self._settings.limits.write_timeout_ms / _MS,
            now_s=self._rules.now_s,
        )
        self._cares = self._rules.cares()
        if self._settings.proxy.wire_configs:
            self._cares = watched_cares(self._cares)
            self._wire_configs = WireConfigs(
                self._settings,
                self._sensitive_key_rules,
                outlet,
                self._counters,
                note_failure=self._note_failure,
            )
        self._clients = clients
        self._security.start()
        try:
            await self._read()
        except ClusterFault as error:
            raise ClusterFault(
                f"{error}; proxy.enabled is true, and only Kafka at "
                f"{self._access.place} can say which brokers there are"
            ) from None
        if self._ports.fault is not None:
            raise self._ports.fault
        # Behind the brokers: there is somebody to be connected to.
        port = self._ports.open_bootstrap()
        self.bootstrap_servers = self._plan.bootstrap_servers(port)
        # No broker's port has been named yet: theirs are when they are accepted at.
        logger.info("clients set bootstrap.servers=%s", self.bootstrap_servers)
        # Clients are told where to connect once they may.
        await self._ports.wait_until_open()

    async def run(self) -> None:
        """Look for brokers, and for clients that are gone, until cancelled."""
        poll_s = self._settings.proxy.metadata_poll_ms / _MS
        async with asyncio.TaskGroup() as group:
            group.create_task(self._look_for_resets())
            group.create_task(self._keep_pairs_alive())
            if self._wire_configs is not None:
                group.create_task(self._publish_wire_configs(self._wire_configs))
            if self._traffic is not None:
                group.create_task(self._publish_traffic(self._traffic))
            while True:
                await asyncio.sleep(poll_s)
                await self._try_read()

    async def close(self) -> None:
        """Accept nobody any more; the connections end with those of the bridge."""
        self._security.stop()
        await self._ports.close()
        if self._wire_configs is not None:
            self._wire_configs.publish_new()
        if self._traffic is not None:
            for _ in self._traffic.publish_round():
                pass
        await self._client.close()

    def _make_endpoint(self, node_id: int | None) -> ProxyEndpoint:
        """Return what the clients of one port have in common.

        Args:
            node_id: The broker behind it; None for any of them.
        """
        plan = self._plan
        has_tls = plan.listener.security_protocol == "SSL"
        context = partial(self._security.context, plan.listener.name)
        return ProxyEndpoint(
            listener=plan.listener.name,
            brokers_name="any broker" if node_id is None else f"broker {node_id}",
            find_brokers=(
                self.brokers.take_turns
                if node_id is None
                else partial(self.brokers.places_of, node_id)
            ),
            find_address=self.brokers.find_address,
            suspect=self._ports.suspect,
            rules=self._rules,
            cares=self._cares,
            connections=self._clients.connections,
            counters=self._counters,
            max_request_bytes=self._settings.bridge.max_request_bytes,
            keep_alive=self._keep_alive,
            room=self._room,
            waiting=self._waiting,
            tls_context=context if has_tls else None,
            find_principal=self._find_principal,
            broker_tls=self._access.tls,
            networks=plan.networks,
            wire_configs=self._wire_configs,
        )

    def _make_rules(self, handlers: RequestHandlers) -> ProxyRules:
        settings, loop = self._settings, asyncio.get_running_loop()
        answer_s = settings.proxy.telemetry_answer_ms / _MS
        return ProxyRules(
            handlers=handlers,
            gate=TelemetryGate(self._read_signs, answer_s=answer_s),
            has_sasl=self._plan.has_sasl,
            claim_name=settings.authentication.oauth_principal_claim,
            now_s=loop.time,
            answer_later=partial(loop.call_later, answer_s),
            note_late=self._note_late,
            note_failure=self._note_failure,
            find_owner=TokenOwners(
                self._client.forward,
                loop.call_later,
                partial(logger.warning, "no owner of a delegation token: %s"),
            ).find,
            traffic=self._traffic,
        )

    def _read_signs(self) -> PublisherSigns:
        publisher = self._publishing.publisher
        if publisher is None:
            raise RuntimeError("the proxy serves no pushes before publishing is ready")
        return PublisherSigns(
            waits_since_s=publisher.waits_since_s,
            acknowledged_s=publisher.acknowledged_s,
            refused_s=publisher.refused_s,
            holds_records=publisher.held_bytes > publisher.aside_bytes,
        )

    def _note_late(self) -> None:
        self._counters.late_telemetry_answers += 1

    def _note_failure(self, error: Exception) -> None:
        self._counters.unexpected_errors += 1
        logger.error("unexpected error: %s", describe_exception(error))

    def _find_principal(self, subject: bytes) -> str:
        return self._plan.principal_rules.find_name(format_distinguished_name(subject))

    async def _read(self) -> None:
        told = await read_brokers(
            self._client, self._access.place, self._outlet.cluster
        )
        for node_id in self.brokers.update(told):
            logger.info("broker %d has left", node_id)
            self._ports.close_port(node_id)
        # Whoever had the port may be gone.
        self._ports.open_missing()

    async def _try_read(self) -> None:
        try:
            await self._read()
        except ClusterFault as error:
            if str(error) != self._last_fault:
                self._last_fault = str(error)
                logger.warning("the brokers stay as they are: %s", error)
            return
        if self._last_fault:
            self._last_fault = ""
            logger.info("the brokers are followed again")

    async def _accept(
        self, node_id: int | None, bound: socket.socket
    ) -> asyncio.Server:
        endpoint = self._make_endpoint(node_id)
        connection_ids = self._clients.connection_ids

        def connect() -> ProxiedConnection:
            return ProxiedConnection(next(connection_ids), endpoint)

        return await asyncio.get_running_loop().create_server(
            self._clients.rates.guard(connect, partial(find_source, endpoint.networks)),
            sock=bound,
            backlog=BACKLOG,
        )

    async def _publish_wire_configs(self, wire_configs: WireConfigs) -> None:
        """Publish what is new of the clients' configurations, now and then."""
        pause_s = self._settings.proxy.wire_configs_interval_ms / _MS
        while True:
            await asyncio.sleep(pause_s)
            for _ in wire_configs.publish_round():
                await asyncio.sleep(0)

    async def _publish_traffic(self, traffic: ClientTraffic) -> None:
        """Publish what clients have produced and fetched, when a time is over."""
        while True:
            await asyncio.sleep(traffic.pause_ms() / _MS)
            for _ in traffic.publish_round():
                await asyncio.sleep(0)

    async def _keep_pairs_alive(self) -> None:
        """Let brokers hear of clients that only push."""
        while True:
            await asyncio.sleep(self._keep_alive.tick_s)
            for _ in self._keep_alive.look():
                await asyncio.sleep(0)

    async def _look_for_resets(self) -> None:
        """Find what is gone among those whose reading waits: nothing else tells."""
        while True:
            await asyncio.sleep(_LOOK_FOR_RESETS_S)
            for one in self._room.find_stalled():
                self._counters.stalled_responses += 1
                one.abort()
            for pair in list(self._waiting):
                if pair.is_reset():
                    pair.abort()
