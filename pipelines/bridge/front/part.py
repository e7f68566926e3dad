"""Part of the bridge that owns its listeners and their connections."""

import contextlib
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.handlers import (
    Connection,
    RequestHandlers,
    ServedRequest,
    serve_metadata,
)
from pipelines.bridge.core.parts import QuietPart
from pipelines.bridge.protocol.metadata import AdvertisedNode
from pipelines.bridge.security.sasl_handlers import serve_sasl
from pipelines.bridge.security.security_files import SecurityFiles
from pipelines.settings.listener_records import ListenerSettings
from pipelines.settings.records import Settings
from pipelines.settings.secret_references import SecretReader

from .acceptor import Clients, LimitsOfAddresses, raise_open_files
from .listening import advertised_node, bind_all, plan_listeners

_MS = 1_000


class FrontPart(QuietPart):
    """Listeners of one bridge process."""

    def __init__(
        self,
        settings: Settings,
        secrets: SecretReader,
        counters: BridgeCounters,
        limits: LimitsOfAddresses,
        *,
        make_handlers: Callable[[], RequestHandlers],
        refuse_waiting: Callable[[], None],
        note_topics: Callable[[Connection], None],
    ) -> None:
        """Check the settings; nothing listens yet.

        Args:
            limits: How many connections an address may open.
            make_handlers: Returns the handlers of the listeners; called by prepare.
            refuse_waiting: Refuses pushes that Kafka has not acknowledged.
            note_topics: Called with a connection that requests topics.
        Raises: InvalidSetting, UnresolvedSecret.
        """
        self._settings, self._counters, self._limits = settings, counters, limits
        self._make_handlers = make_handlers
        self._refuse_waiting, self._note_topics = refuse_waiting, note_topics
        self.listeners = plan_listeners(settings)
        self._security = SecurityFiles(self.listeners, settings.authentication, secrets)
        self._sockets: list[socket.socket] = []
        self.nodes: Mapping[str, AdvertisedNode] = {}
        """Address that clients of each listener are told, by its name."""
        self.clients: Clients | None = None
        """All connections, after prepare."""

    @contextlib.contextmanager
    def bind(self) -> Iterator[None]:
        """Hold the addresses of all listeners while the block runs.

        Raises: MissingService if an address is taken; InvalidSetting.
        """
        is_shared = self._settings.bridge.workers > 1
        with contextlib.ExitStack() as bound:
            taken = bind_all(self.listeners, is_shared=is_shared)
            self._sockets = [bound.enter_context(one) for one in taken]
            self.nodes = {
                listener.name: advertised_node(self._settings.bridge, listener, port)
                for listener, _, port in self.endpoints()
            }
            yield

    def endpoints(self) -> Iterator[tuple[ListenerSettings, str, int]]:
        """Return each listener with the host and port that it is bound to."""
        for listener, one in zip(self.listeners, self._sockets, strict=True):
            host, port = one.getsockname()[:2]
            yield listener, host, port

    async def prepare(self) -> None:
        """Accept connections on all listeners.

        Raises: MissingService if another program listens there already.
        """
        self.clients = clients = Clients(
            self._settings,
            self._security,
            self._counters,
            raise_open_files(),
            self._limits,
        )
        handlers = self._make_handlers()
        for listener, one in zip(self.listeners, self._sockets, strict=True):
            await clients.listen(listener, handlers, one)
        self._security.start()

    async def run(self) -> None:
        """Close overdue connections until cancelled."""
        if self.clients is not None:
            await self.clients.keep_watch()

    async def close(self) -> None:
        """Accept nobody any more, and close all connections in order."""
        if self.clients is not None:
            self._security.stop()
            drain_s = self._settings.bridge.drain_timeout_ms / _MS
            await self.clients.drain(drain_s, self._refuse_waiting)

    def handlers(self) -> Iterable[ServedRequest]:
        """Return Metadata, and SASL requests of authenticated connections."""
        first = next(iter(self.nodes.values()))
        metadata = serve_metadata(first, self.nodes, note_topics=self._note_topics)
        return [metadata, *serve_sasl()]
