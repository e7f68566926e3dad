"""What all clients of a proxy show of their configurations, on its way to Kafka.

Strategy: a client that has shown something new waits for the next round; so it is
one record for all that came meanwhile, and no more than one in each round. What Kafka
does not take waits for another round. How many may wait is bounded. A client whose
record would take more than what it has sent allows is looked at once it has sent more.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.records import RecordOutlet
from pipelines.bridge.protocol.shown_configs import WIRE_REQUESTS
from pipelines.bridge.proxy.frames.config_watch import Client, WireWatch
from pipelines.bridge.proxy.frames.line import Care
from pipelines.bridge.proxy.frames.shown_configs import ShownConfigs
from pipelines.settings.records import Settings
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .records import make_wire_config_record

MOST_WAITING = 20_000
"""Clients that wait for a round; what others show is only counted."""
RECORDS_AT_ONCE = 20
MOST_RECORDS = 1_000
"""Of one round: the pushes of clients share the way to Kafka."""


class WireConfigs:
    """What is new of all connections of one proxy."""

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
            settings: Say how often is looked, and name topic and bridge.
            outlet: Where records go.
            note_failure: Takes a fault of the bridge itself.
        """
        self._settings = settings
        self._rules = rules
        self._outlet = outlet
        self._counters = counters
        self._note_failure = note_failure
        self._waiting: dict[ShownConfigs, None] = {}

    def watch(self, client: Client) -> WireWatch:
        """Return what looks at the requests of one connection."""
        return WireWatch(
            client,
            gap_limit=self._settings.proxy.wire_configs_sample_requests,
            counters=self._counters,
            tell=self._wait,
        )

    def publish_round(self) -> Iterator[None]:
        """Publish what is new now; what Kafka refuses waits for the next round.

        Yields: Nothing, after some records, so that data may pass meanwhile.
        """
        left = min(MOST_RECORDS, len(self._waiting))
        while left > 0:
            left -= self.publish_new(min(left, RECORDS_AT_ONCE)) or left
            yield

    def publish_new(self, most: int = MOST_RECORDS) -> int:
        """Publish what connections have shown since their last record.

        Args:
            most: Records at once; making one takes some 50 µs.
        Returns: How many clients had something.
        """
        chosen = list(islice(self._waiting, most))
        for shown in chosen:
            del self._waiting[shown]
            try:
                self._publish(shown)
            except Exception as error:  # noqa: BLE001 - what one shows must not end the others
                self._counters.lost_wire_configs += 1
                self._note_failure(error)
        return len(chosen)

    def _publish(self, shown: ShownConfigs) -> None:
        outlet, now_ms = self._outlet, self._outlet.now_ms()
        identity = replace(shown.connection.identity, client_id=shown.client_id)
        record = make_wire_config_record(
            shown.configs,
            client_type=shown.client_type,
            identity=identity,
            rules=self._rules,
            topic=self._settings.topics.wire_configs,
            bridge_id=self._settings.bridge.bridge_id,
            push_id=outlet.push_ids.make(now_ms),
            received_at_ms=now_ms,
            cluster_id=outlet.cluster.cluster_id,
        )
        if not shown.allowance.spend(record.size_bytes):
            shown.is_held_back = True
            return
        outlet.publish(record, partial(self._finish, shown, record.size_bytes))

    def _finish(
        self,
        shown: ShownConfigs,
        size_bytes: int,
        is_stored: bool,  # noqa: FBT001 - the one thing that a publisher says
    ) -> None:
        if is_stored:
            self._counters.wire_config_records += 1
        else:
            shown.allowance.give_back(size_bytes)
            self._wait(shown)

    def _wait(self, shown: ShownConfigs) -> None:
        if len(self._waiting) < MOST_WAITING:
            self._waiting[shown] = None
        elif shown not in self._waiting:
            self._counters.lost_wire_configs += 1


def watched_cares(cares: Mapping[int, Care]) -> dict[int, Care]:
    """Return what requests need where they are looked at as well."""
    looked_at = dict.fromkeys(WIRE_REQUESTS, Care.SEEN)
    return {**looked_at, **cares}
