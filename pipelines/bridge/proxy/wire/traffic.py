"""What all clients of a proxy produce and fetch, on its way to Kafka.

Strategy: each connection counts for itself. When a time is over, the counts of all
connections of a principal and client id become one record, with an entry for each
broker, and begin anew. API versions are told again with all that is counted, and once
where nothing is, so that a connection without data is no record each time.
Times begin where the clock says so, not where a bridge was started, so that what
several bridges count of one client is about the same time.
A record that Kafka does not take goes with the next ones, as it is: whoever reads it
twice knows it by its push_id. How many clients are told apart is bounded.
Source: the value stands in docs/reference/topics.md.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from pipelines.bridge.core.client_identity import ClientIdentity
from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.records import (
    OWN_HEADER_BYTES,
    Record,
    RecordOutlet,
    identity_headers,
)
from pipelines.bridge.proxy.frames.traffic import (
    COUNTS,
    TrafficClient,
    TrafficCounts,
    TrafficWatch,
)
from pipelines.settings.records import Settings
from udfs.sensitive.redacted_keys import make_redaction_headers
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

MOST_CLIENTS = 20_000
"""Told apart in one time; the data of others passes uncounted."""
MOST_RETIRED = 60
"""Client ids that one connection may leave behind in one time: each is a record."""
RECORDS_AT_ONCE = 20
_CONNECTIONS_AT_ONCE = 1_000
_EARLY = 10
"""By this part of a time a timer may be early."""
_OF_CONNECTION = frozenset(
    {"broker_id", "client_source_address", "client_source_port", "listener"}
)
"""Headers of one connection; a record is about all connections of a client."""

Who = tuple[str, bytes]
"""Principal and client id."""


@dataclass(slots=True)
class _Total:
    """One client in one time."""

    identity: ClientIdentity
    """Of the connection that was looked at last."""
    of_brokers: dict[int, tuple[TrafficCounts, set[int]]] = field(default_factory=dict)
    """By broker: counts, and the ids of the connections that they are of."""

    def add(self, connection_id: int, broker_id: int, counts: TrafficCounts) -> None:
        total, connection_ids = self.of_brokers.setdefault(
            broker_id, (TrafficCounts(), set())
        )
        total.add(counts)
        if counts.has_data:
            connection_ids.add(connection_id)


class ClientTraffic:
    """The data of all connections of one proxy, since its last records."""

    def __init__(
        self,
        settings: Settings,
        rules: SensitiveKeyRules,
        outlet: RecordOutlet,
        counters: BridgeCounters,
        *,
        note_failure: Callable[[Exception], None],
    ) -> None:
        """Start with nothing.

        Args:
            settings: Say how long a time is, and name topic and bridge.
            rules: For client ids that are not to be written.
            outlet: Where records go.
            note_failure: Takes a fault of the bridge itself.
        """
        self._topic = settings.topics.traffic
        self._bridge_id = settings.bridge.bridge_id
        self._interval_ms = settings.proxy.traffic_interval_ms
        self._rules = rules
        self._outlet = outlet
        self._counters = counters
        self._note_failure = note_failure
        self._open: set[TrafficWatch] = set()
        """Connections that have ever had a request."""
        self._totals: dict[Who, _Total] = {}
        """What is over, or was looked at, and has no record yet."""
        self._again: list[Record] = []
        """What Kafka has not taken."""
        self._start_ms = self._find_start()

    def watch(self, client: TrafficClient) -> TrafficWatch:
        """Return what counts the data of one connection."""
        return TrafficWatch(
            client, begin=self._open.add, end=self._end, retire=self._retire
        )

    def pause_ms(self) -> int:
        """Return how long it is until the time is over."""
        interval_ms, now_ms = self._interval_ms, self._outlet.now_ms()
        left_ms = self._start_ms + interval_ms - now_ms
        # The clock may have been set; a timer that was early must not begin two times.
        is_usual = 0 < left_ms <= interval_ms + interval_ms // _EARLY
        return left_ms if is_usual else interval_ms - now_ms % interval_ms

    def publish_round(self) -> Iterator[None]:
        """Publish what has passed until now.

        Yields: Nothing, after some connections or records, so that data may pass
            meanwhile.
        """
        if self._outlet.cluster.cluster_id is None:
            # Nobody could say what this is about; the next time takes it, too.
            return
        for number, watch in enumerate(list(self._open), 1):
            if watch in self._open:
                self._gather(watch)
            if not number % _CONNECTIONS_AT_ONCE:
                yield
        now_ms, start_ms = self._outlet.now_ms(), self._start_ms
        self._start_ms = self._find_start()
        window_ms = now_ms - start_ms
        # The clock may have been set back.
        window = start_ms, window_ms if window_ms > 0 else self._interval_ms
        totals, self._totals = self._totals, {}
        again, self._again = self._again, []
        due: list[Record | _Total] = [*again, *totals.values()]
        for number, one in enumerate(due, 1):
            try:
                self._publish(
                    self._make_record(one, window, now_ms)
                    if isinstance(one, _Total)
                    else one
                )
            except Exception as error:  # noqa: BLE001 - what one is called must not end the others
                self._counters.lost_traffic_records += 1
                self._note_failure(error)
            if not number % RECORDS_AT_ONCE:
                yield

    def _find_start(self) -> int:
        """Return when the time began that it is; a timer may be early by a little."""
        interval_ms = self._interval_ms
        now_ms = self._outlet.now_ms() + interval_ms // _EARLY
        return now_ms - now_ms % interval_ms

    def _gather(self, watch: TrafficWatch) -> None:
        """Take the counts of an open connection, once it is known whose it is."""
        if watch.client.is_named():
            for client_id, counts in watch.by_id.items():
                self._take(watch, client_id, counts, is_open=True)
            watch.begin_anew()

    def _retire(self, watch: TrafficWatch, client_id: bytes) -> None:
        """Take the counts of a client ID, unless its connection has not logged in."""
        if not watch.client.is_named():
            return
        if watch.retired > MOST_RETIRED:
            self._counters.lost_traffic_records += 1
        else:
            self._take(watch, client_id, watch.by_id[client_id])

    def _end(self, watch: TrafficWatch) -> None:
        """Take the counts of a connection, unless it has never logged in."""
        self._open.discard(watch)
        if watch.client.is_named():
            for client_id, counts in watch.by_id.items():
                self._take(watch, client_id, counts)

    def _take(
        self,
        watch: TrafficWatch,
        client_id: bytes,
        counts: TrafficCounts,
        *,
        is_open: bool = False,
    ) -> None:
        connection = watch.client.connection
        identity = connection.identity
        if counts.is_empty or identity.broker_id is None:
            return
        who = identity.principal, client_id
        total = self._totals.get(who)
        if total is None:
            if len(self._totals) >= MOST_CLIENTS:
                self._counters.lost_traffic_records += 1
                if not is_open:
                    return
                # Closed connections were added first, and are replaced first.
                del self._totals[next(iter(self._totals))]
            total = self._totals[who] = _Total(identity)
        text = client_id.decode(errors="replace") if client_id else None
        total.identity = replace(identity, client_id=text)
        total.add(connection.connection_id, identity.broker_id, counts)

    def _make_record(
        self, total: _Total, window: tuple[int, int], now_ms: int
    ) -> Record:
        """Return the record of one client and time."""
        outlet = self._outlet
        said = identity_headers(
            total.identity, self._bridge_id, self._rules, outlet.cluster.cluster_id
        )
        headers = [one for one in said.headers if one[0] not in _OF_CONNECTION]
        known = dict(headers)
        key = b"/".join((known["principal"], known.get("client_id", b"")))
        value = write_traffic(total.of_brokers, *window)
        return Record(
            topic=self._topic,
            key=key,
            value=value,
            headers=[
                *headers,
                ("received_at_ms", b"%d" % now_ms),
                ("push_id", outlet.push_ids.make(now_ms)),
                *make_redaction_headers(said.violations),
            ],
            timestamp_ms=now_ms,
            is_aside=True,
            size_bytes=len(key) + len(value) + said.size_bytes + OWN_HEADER_BYTES,
        )

    def _publish(self, record: Record) -> None:
        self._outlet.publish(record, partial(self._finish, record))

    def _finish(
        self,
        record: Record,
        is_stored: bool,  # noqa: FBT001 - the one thing that a publisher says
    ) -> None:
        if is_stored:
            self._counters.traffic_records += 1
        elif len(self._again) < MOST_CLIENTS:
            self._again.append(record)
        else:
            self._counters.lost_traffic_records += 1


def write_traffic(
    of_brokers: dict[int, tuple[TrafficCounts, set[int]]],
    window_start_ms: int,
    window_ms: int,
) -> bytes:
    """Return the value of a record.

    Args:
        of_brokers: By broker what has passed, and on which connections.
        window_start_ms: Milliseconds since 1970-01-01T00:00:00Z.
        window_ms: From there to the end.
    """
    brokers = [
        {
            "broker_id": broker_id,
            **{name: getattr(counts, name) for name in COUNTS},
            "connections": len(connection_ids),
            "api_versions": sorted(counts.api_versions),
        }
        for broker_id, (counts, connection_ids) in sorted(of_brokers.items())
    ]
    said = {
        "window_start_ms": window_start_ms,
        "window_ms": window_ms,
        "brokers": brokers,
    }
    return json.dumps(said).encode()
