"""Wiring of quotas: those of the clients' cluster, kept by this worker."""

from collections.abc import Callable

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.handlers import ServedRequest
from pipelines.bridge.quotas.addresses import AddressRates
from pipelines.bridge.quotas.limits import QuotaLimits
from pipelines.bridge.quotas.metering import QuotaMeter
from pipelines.bridge.quotas.rates import QuotaWindows
from pipelines.bridge.quotas.shares import NS_PER_MS, ClientQuotas, ShareUse
from pipelines.kafka_wire.client import ClusterClient
from pipelines.settings.records import Settings

from .followed_quotas import QuotaFollower

NowNs = Callable[[], int]


class QuotaPart:
    """One worker's quotas; nothing where bridge.quotas_enforced is false."""

    def __init__(
        self,
        settings: Settings,
        client: ClusterClient,
        counters: BridgeCounters,
        now_ns: NowNs,
        *,
        section: str,
    ) -> None:
        """Read the settings; nothing is asked yet.

        Args:
            client: Asks the clients' cluster.
            now_ns: A clock that never steps back, in nanoseconds.
            section: The table of conf/ that names the cluster.
        """
        bridge = settings.bridge
        self.is_enforced = bridge.quotas_enforced
        self._now_ns = now_ns
        self._most_shown = bridge.metrics_top_instances
        self._counters = counters
        windows = QuotaWindows(
            samples=bridge.quota_window_num, window_ms=bridge.quota_window_size_ms
        )
        self._clients = ClientQuotas(windows, bridge.push_quota)
        self._addresses = AddressRates(windows)
        config = settings.client_config
        self._meter = QuotaMeter(
            self._clients,
            counters,
            now_ns,
            push_config_key=config.api_key if config.enabled else None,
        )
        self._follower = QuotaFollower(
            client.link,
            self.put,
            self._note_fault,
            poll_ms=bridge.quotas_poll_ms,
            section=section,
        )

    def meter(self, served: ServedRequest) -> ServedRequest:
        """Return what answers an API, its costs recorded where quotas are enforced."""
        return self._meter.meter(served) if self.is_enforced else served

    def put(self, limits: QuotaLimits) -> None:
        """Put limits in force."""
        self._clients.update(limits)
        self._addresses.update(limits)

    def connect(self, address: str) -> int:
        """Record a connection; return for how many milliseconds it must wait instead.

        Nulls: 0 where it need not.
        """
        return self._addresses.connect(address, self._now_ms())

    def are_addresses_limited(self) -> bool:
        """Say whether connect may say anything but 0."""
        return self._addresses.are_limited

    def why_not_enforced(self) -> str | None:
        """Return why no quota is enforced; None where they are, or are not wanted."""
        if not self.is_enforced or self._follower.has_read:
            return None
        return self._follower.fault or "the clients' cluster has not been asked yet"

    def shown_uses(self) -> list[ShareUse]:
        """Return what /metrics shows: who had to wait last, then who uses most."""
        return list(self._clients.uses(self._now_ms(), self._most_shown))

    async def prepare(self, timeout_s: float) -> None:
        """Look at the cluster once, so that the first clients have their limits."""
        if self.is_enforced:
            await self._follower.look(timeout_s)

    async def run(self) -> None:
        """Look again and again; ends at once where nothing is enforced."""
        if self.is_enforced:
            await self._follower.follow()

    def _note_fault(self) -> None:
        self._counters.failed_quota_looks += 1

    def _now_ms(self) -> int:
        return self._now_ns() // NS_PER_MS
