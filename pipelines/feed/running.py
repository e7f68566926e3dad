"""The feed: whoever leads says what is so in the clients' cluster, and what changes.

Strategy: find which cluster answers, compete for its topic, restore from the topic what
was said last, and go on from there. Whatever goes wrong with the topic begins that
anew, so that nothing is written twice and nothing is left out.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pipelines.kafka_wire.faults import ClusterFault

from .led_topic import FeedTopic
from .records import (
    FeedCounters,
    FeedRecord,
    LeadRefused,
    LostLead,
)
from .state import (
    CLUSTER_ID,
    EPOCH,
    OBSERVED,
    OFFSET,
    SERVERS,
    SOURCE,
    TIMESTAMP,
    FeedState,
    Position,
    holds_full_set,
    last_cluster_at,
    make_full_set,
    restore,
    type_of,
)

logger = logging.getLogger(__name__)

RETRY_S = 5.0
"""Between two attempts at what an operator has to put right."""
LEAD_RETRY_S = 1.0


class FeedSource(Protocol):
    """Who is asked about the cluster once this bridge leads."""

    name: str
    """Header `source` of its records."""

    async def find_cluster(self) -> str:
        """Return the id of the cluster that answers. Raises: ClusterFault."""

    async def feed(self, written: "Written") -> None:
        """Write what is so and what changes, for ever. Raises: LostLead."""

    def rest(self) -> None:
        """Ask nothing more for now."""

    async def close(self) -> None:
        """Close all connections."""


@dataclass(slots=True, kw_only=True)
class Written:
    """The topic while this bridge leads, and what stands in it."""

    topic: FeedTopic
    state: FeedState
    cluster_id: str
    servers: str
    counters: FeedCounters
    now_ms: Callable[[], int]
    make_set_id: Callable[[], str]

    async def write(self, records: Sequence[FeedRecord]) -> None:
        """Write records, all or none. Raises: LostLead."""
        await self.topic.publish(records)
        for one in records:
            self.state.take(one)
            self.counters.published[type_of(one.key)] += 1

    async def write_full_set(
        self,
        source: str,
        covers: Sequence[str],
        said: FeedState,
        *,
        changes: Sequence[FeedRecord] = (),
    ) -> None:
        """Write all that is so as one set.

        Args:
            covers: What the set is whole of.
            said: What is so.
            changes: Stand before the set, in the same transaction.
        """
        full = make_full_set(
            said.records(),
            self.make_set_id(),
            covers,
            self.closing_headers(source, said.position, said.timestamp_ms),
        )
        await self.write([*changes, *full])
        self.counters.full_sets += 1

    def closing_headers(
        self, source: str, position: Position | None, timestamp_ms: int | None
    ) -> list[tuple[str, str | int | None]]:
        """Return what the record says that closes a set."""
        return [
            (CLUSTER_ID, self.cluster_id),
            (SOURCE, source),
            (OBSERVED, self.now_ms()),
            (OFFSET, None if position is None else position.offset),
            (EPOCH, None if position is None else position.epoch),
            (TIMESTAMP, timestamp_ms),
            (SERVERS, self.servers),
        ]


class ClusterFeed:
    """One bridge's part in the feed: most of the time it waits for its turn."""

    def __init__(
        self,
        source: FeedSource,
        topic: FeedTopic,
        *,
        topic_name: str,
        servers: str,
        accepted_cluster_id: str | None,
        counters: FeedCounters,
        now_ms: Callable[[], int],
        make_set_id: Callable[[], str],
    ) -> None:
        """Ask nothing yet.

        Args:
            servers: Where the clients' cluster is, as conf/ says.
            accepted_cluster_id: A cluster that may take the place of another one there.
            make_set_id: Makes texts that are never the same.
        """
        self._source, self._topic = source, topic
        self._topic_name, self._servers = topic_name, servers
        self._accepted = accepted_cluster_id
        self._counters = counters
        self._now_ms, self._make_set_id = now_ms, make_set_id
        self._said = ""

    async def run(self) -> None:
        """Compete and feed, for ever."""
        while True:
            pause_s = LEAD_RETRY_S
            try:
                await self._lead_and_feed()
            except LostLead as error:
                self._say(f"the cluster is fed no longer by this bridge: {error}")
            except (ClusterFault, LeadRefused) as error:
                kind = "refused" if isinstance(error, LeadRefused) else "unreachable"
                self._counters.faults["feed", kind] += 1
                self._say(f"the cluster is not fed: {error}", is_fault=True)
                pause_s = RETRY_S
            finally:
                self._counters.is_feeding = False
                self._source.rest()
            await asyncio.sleep(pause_s)

    async def close(self) -> None:
        """Let another bridge feed."""
        await self._topic.close()
        await self._source.close()

    async def _lead_and_feed(self) -> None:
        cluster_id = await self._source.find_cluster()
        await self._topic.lead(f"{self._topic_name}.{cluster_id}")
        self._counters.elections += 1
        name = self._source.name
        records = await self._topic.read_back(
            lambda found: holds_full_set(found, cluster_id, name)
        )
        self._check_cluster(cluster_id, records)
        self._counters.is_feeding = True
        self._say(f"this bridge feeds cluster {cluster_id} from {name}")
        await self._source.feed(
            Written(
                topic=self._topic,
                state=restore(records, cluster_id, name),
                cluster_id=cluster_id,
                servers=self._servers,
                counters=self._counters,
                now_ms=self._now_ms,
                make_set_id=self._make_set_id,
            )
        )

    def _check_cluster(self, cluster_id: str, records: Sequence[FeedRecord]) -> None:
        """Check that no other cluster was at the same address.

        Raises: ClusterFault.
        """
        before = last_cluster_at(records, self._servers)
        if before in {None, cluster_id} or self._accepted == cluster_id:
            return
        self._counters.faults["cluster_id", "refused"] += 1
        raise ClusterFault(
            f"{self._servers} was cluster {before} and now is {cluster_id}: start the "
            f"bridge with --accept-cluster-id {cluster_id} if that is meant"
        )

    def _say(self, text: str, *, is_fault: bool = False) -> None:
        if text != self._said:
            self._said = text
            logger.log(logging.WARNING if is_fault else logging.INFO, "%s", text)
