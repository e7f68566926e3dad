"""Plan of the sample fleet: its clients and the events of their lives.

The tables are created from this plan. Size, time range, end and seed determine it, so
two runs create the same fleet.
"""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

AMSTERDAM = "SampleClusterAmsterdam"
"""Cluster with a proxy: traffic and inferred configurations are known."""
BARCELONA = "SampleClusterBarcelona"
"""Cluster without a proxy: only telemetry and pushed configurations are known."""
BROKERS = (1, 2, 3)
PARTITIONS = 20
"""Partitions of each topic."""
INTERVAL_MS, SHORT_INTERVAL_MS = 300_000, 60_000
MICROS = 1_000_000
_MICROS_PER_MILLI = 1_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DETAILED = ("steady", "orders", "billing", "clicks", "cumulative")
"""Client IDs that are subscribed to all metrics."""
PRODUCER, CONSUMER = "producer", "consumer"
JAVA, LIBRDKAFKA, FRANZ_GO = "java", "librdkafka", "franz_go"
SOFTWARE_NAMES = {
    JAVA: "apache-kafka-java",
    LIBRDKAFKA: "librdkafka",
    FRANZ_GO: "kgo",
}
NEWEST = {JAVA: "4.3.1", LIBRDKAFKA: "2.15.0", FRANZ_GO: "v1.21.4"}

Numbers = npt.NDArray[np.int64]


def count_micros(moment: datetime) -> int:
    """Return microseconds since 1970."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Span:
    """Time range, both ends included."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One client instance: its identity, its lifetime and its behavior."""

    client_id: str | None
    principal: str
    client_type: str
    family: str
    cluster_id: str | None = AMSTERDAM
    version: str = ""
    group_id: str | None = None
    transactional_id: str | None = None
    rack: str | None = None
    topics: tuple[str, ...] = ("orders",)
    started: datetime
    ended: datetime
    """Its last push is not after this timestamp."""
    is_terminated: bool = False
    """Whether its last push is a terminating push."""
    is_new: bool = False
    """Whether it started after the start of the data."""
    has_telemetry: bool = True
    shortened: datetime | None = None
    """When its push interval changes from five minutes to one; None: never."""
    clock_ahead: timedelta = timedelta()
    is_cumulative: bool = False
    reset: datetime | None = None
    """When its cumulative sums restart at zero; None: never."""

    records_per_s: float = 10.0
    record_bytes: float = 100.0
    wave: float = 0.0
    """Amplitude of its daily wave, as a fraction of the rate."""
    latency_ms: float = 5.0
    slow_brokers: Mapping[int, float] = field(default_factory=dict)
    """Broker to the latency of its requests, for brokers with another latency."""
    throttled: Mapping[Span, float] = field(default_factory=dict)
    """Time range of throttling to the mean throttle time in milliseconds."""
    idle: Span | None = None
    """Time range without any activity; None: none."""
    infinite: datetime | None = None
    """The first push after this timestamp contains an infinite value."""
    broker_parts: Mapping[int, float] = field(default_factory=dict)
    """Broker to its fraction of the data; evenly distributed by default."""
    partitions: tuple[int, ...] = ()
    """Partitions that it reads, of its first topic."""
    lags: Mapping[int, float] = field(default_factory=dict)
    """Partition to its lag in records; 3 for all others."""
    rebalances_per_hour: float = 0.0
    connects_per_hour: float = 0.0
    errors_per_hour: float = 0.0
    failed_logins: float = 0.0
    """Failed logins before its first push."""

    pushed: Mapping[str, str | None] | None = None
    """Pushed configuration that its user set; None: it pushes no configuration.
    A None value is redacted."""
    repushed: Mapping[str, str | None] | None = None
    """Pushed configuration after half of its lifetime; None: unchanged."""
    wire: Mapping[str, str] | None = None
    """Configuration that the proxy inferred; None: by `pushed`."""

    number: int = 0
    """Number in the fleet, from 1."""

    @property
    def client_instance_id(self) -> str:
        """Return 22 letters and digits, like Kafka's Uuid.

        The first ones differ, because names of instances are made of them.
        """
        digest = blake2b(str(self.number).encode(), digest_size=16).digest()
        return b64encode(digest, altchars=b"ab").decode()[:22]

    @property
    def is_detailed(self) -> bool:
        """Return whether it is subscribed to all metrics, those of partitions too."""
        return self.client_id in DETAILED

    @property
    def address(self) -> str:
        """Return its source address."""
        host = self.number
        return f"10.{host // 65536}.{host // 256 % 256}.{host % 256}"

    @property
    def client(self) -> tuple[str | None, str, str | None, str]:
        """Return the identity of its client."""
        return self.cluster_id, self.principal, self.client_id, self.client_type

    @property
    def software_version(self) -> str:
        """Return its version, by default the newest of its family."""
        return self.version or NEWEST[self.family]

    def part_of(self, broker: int) -> float:
        """Return the fraction of its data at a broker."""
        return self.broker_parts.get(broker, 1 / len(BROKERS))

    @property
    def first_push(self) -> datetime:
        """Return the timestamp of its first push; each instance has its own second."""
        return self.started + timedelta(seconds=self.number * 7 % 59)

    @property
    def last_push(self) -> datetime:
        """Return the timestamp of its last push, or its end if it never pushes."""
        times = self.push_times()
        if not len(times):
            return self.ended
        return _EPOCH + timedelta(microseconds=int(times[-1]))

    def push_times(self) -> Numbers:
        """Return the timestamps of its pushes, in microseconds since 1970."""
        if not self.has_telemetry:
            return np.empty(0, np.int64)
        first, end = count_micros(self.first_push), count_micros(self.ended) + 1
        step = INTERVAL_MS * _MICROS_PER_MILLI
        times = np.arange(first, end, step)
        if self.shortened is None:
            return times
        place = int(np.searchsorted(times, count_micros(self.shortened)))
        short = SHORT_INTERVAL_MS * _MICROS_PER_MILLI
        later = np.arange(first + place * step, end, short)
        return np.concatenate([times[:place], later])

    def push_intervals_ms(self, times: Numbers) -> Numbers:
        """Return the push interval at each timestamp of `push_times`."""
        if self.shortened is None:
            return np.full(len(times), INTERVAL_MS)
        is_short = times >= count_micros(self.shortened)
        return np.where(is_short, SHORT_INTERVAL_MS, INTERVAL_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFleet:
    """Size and time range of the sample fleet."""

    clients: int
    """Number of clients; the named clients come first, and all of them are present."""
    hours: float
    until: datetime
    """End of the data; timezone-aware."""
    seed: int = 7

    @property
    def since(self) -> datetime:
        """Return the start of the data."""
        return self.until - timedelta(hours=self.hours)

    def at(self, part: float) -> datetime:
        """Return the timestamp at a fraction of the time range, in whole seconds."""
        moment = self.since + timedelta(hours=self.hours) * part
        return moment.replace(microsecond=0)

    def span(self, start: float, end: float) -> Span:
        """Return the time range between two fractions."""
        return Span(self.at(start), self.at(end))
