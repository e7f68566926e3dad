"""The feed by the controllers' log: find the leader, fetch, write in order.

Strategy: one controller after the other is asked until one of them names the leader or
is it. What one answer holds is written in one transaction. A full set follows when all
that is committed has been read, at the start and after each full_set_ms.
"""

import logging

from pipelines.kafka_client.properties import Address
from pipelines.kafka_wire.faults import ClusterFault, ClusterRefusal, MissingRight
from udfs.cluster.published_records import PublishedRules

from .connections import BrokerLinks, ControllerLinks
from .looks import Faults
from .metadata_fetch import (
    Fetched,
    SnapshotId,
    write_fetch,
    write_fetch_snapshot,
)
from .metadata_log import (
    METADATA_LOG,
    MISSING_RIGHT,
    POSITION_OUT_OF_RANGE,
    SNAPSHOT_NOT_FOUND,
    LogPlace,
    Next,
    SnapshotReader,
    Stamp,
    make_feed_records,
    state_of_snapshot,
)
from .running import Written
from .state import COVERS, WITHHELD, FeedState
from .topic_configs import TopicConfigs, UnknownTopic

logger = logging.getLogger(__name__)

MAX_WAIT_MS = 500
"""A controller answers after so long when there is nothing new."""
MAX_FETCH_BYTES = 8 << 20
PAUSE_S, UNCOMMITTED_PAUSE_S = 0.2, 0.02
_PART = "metadata_log"


class LogSource:
    """Feeds what the controllers write."""

    name = METADATA_LOG

    def __init__(
        self,
        brokers: BrokerLinks,
        controllers: ControllerLinks,
        *,
        rules: PublishedRules,
        full_set_ms: int,
        faults: Faults,
    ) -> None:
        """Ask nothing yet.

        Args:
            brokers: Say which cluster it is.
        """
        self._brokers, self._controllers = brokers, controllers
        self.rules, self.full_set_ms, self.faults = rules, full_set_ms, faults
        self._cluster_id = ""
        self._leader: Address | None = None
        self._next_server = 0

    async def find_cluster(self) -> str:
        """Return the id of the cluster that answers; see FeedSource."""
        answer = await self._brokers.describe_cluster()
        if answer is not None:
            self._cluster_id = answer.cluster_id
        return self._cluster_id

    def rest(self) -> None:
        """See FeedSource."""
        self._controllers.close()

    async def close(self) -> None:
        """See FeedSource."""
        self._controllers.close()
        self._brokers.close()

    async def feed(self, written: Written) -> None:
        """Follow the log; see FeedSource."""
        await _LogFeed(self, written).run()

    def pick_node(self) -> Address:
        """Return the leader, or who is asked for it next."""
        if self._leader is not None:
            return self._leader
        servers = self._controllers.servers
        return servers[self._next_server % len(servers)]

    def turn_from(self, node: Address) -> None:
        """Ask another node than this one the next time."""
        self._leader = None
        servers = self._controllers.servers
        if node == servers[self._next_server % len(servers)]:
            self._next_server += 1

    def turn_to_leader(self, fetched: Fetched) -> bool:
        """Ask the leader that an answer names; return whether it names one."""
        leader = fetched.leader
        endpoint = fetched.endpoints.get(leader.leader_id) if leader else None
        if endpoint is not None:
            self._leader = endpoint
        return endpoint is not None

    async def fetch(self, node: Address, place: LogPlace) -> Fetched:
        """Ask for records from a place on. Raises: ClusterFault."""

        def write(api_version: int) -> bytes:
            return write_fetch(
                api_version,
                offset=place.offset,
                last_epoch=place.last_epoch,
                leader_epoch=place.leader_epoch,
                max_wait_ms=MAX_WAIT_MS,
                max_bytes=MAX_FETCH_BYTES,
                cluster_id=self._cluster_id,
            )

        return await self._controllers.fetch(node, write)

    async def fetch_snapshot(
        self, node: Address, place: LogPlace, snapshot_id: SnapshotId
    ) -> SnapshotReader:
        """Read a whole snapshot.

        Raises: ClusterFault, also where it is no longer there.
        """
        reader = SnapshotReader(snapshot_id)
        while True:
            body = write_fetch_snapshot(
                snapshot_id,
                position=reader.position,
                leader_epoch=place.leader_epoch,
                max_bytes=MAX_FETCH_BYTES,
                cluster_id=self._cluster_id,
            )
            found = await self._controllers.fetch_snapshot(node, body)
            if found.error_code in {SNAPSHOT_NOT_FOUND, POSITION_OUT_OF_RANGE}:
                raise ClusterFault(
                    f"snapshot {snapshot_id.end_offset}-{snapshot_id.epoch} is gone "
                    f"(error {found.error_code}); the next one is read"
                )
            if found.error_code or not (found.piece or found.size_bytes):
                raise ClusterFault(f"snapshot: error {found.error_code}")
            reader.take(found.piece)
            if reader.position >= found.size_bytes:
                return reader


class _LogFeed:
    """One time of leading."""

    def __init__(self, source: LogSource, written: Written) -> None:
        self._source, self._written = source, written
        self._place = LogPlace(written.state.position)
        self._topics = TopicConfigs(
            written.state.list_keys(), is_whole=written.state.position is None
        )
        self._anew: FeedState | None = None
        """Folded in place of being written, while the log is read from its start."""
        self._due_ms = 0

    async def run(self) -> None:
        while True:
            await self._written.topic.wait_for_loss(0)
            node = self._source.pick_node()
            pause_s = PAUSE_S
            try:
                fetched = await self._source.fetch(node, self._place)
                pause_s = await _STEPS[self._place.judge(fetched)](self, node, fetched)
            except ClusterFault as fault:
                self._source.faults.note(_PART, fault)
                self._source.turn_from(node)
            self._count()
            await self._written.topic.wait_for_loss(pause_s)

    def _count(self) -> None:
        passed_over = self._place.passed_over
        self._written.counters.passed_over.update(passed_over)
        passed_over.clear()

    async def take_records(self, _node: Address, fetched: Fetched) -> float:
        """Write what is committed, and a full set where all of it is read."""
        self._written.counters.looks += 1
        before = self._place.offset
        read = self._place.take(fetched)
        if self._place.is_blocked:
            raise ClusterFault(f"the metadata log is no log at offset {before}")
        self._source.faults.clear(_PART)
        stamp = Stamp(self._written.cluster_id, self._written.now_ms())
        try:
            records = make_feed_records(
                read, stamp, self._source.rules, self._place.passed_over, self._topics
            )
        except UnknownTopic:
            logger.info(
                "Reading the metadata log from its start to resolve the ID of a "
                "removed topic: offset=%d",
                before,
            )
            self._read_from_start()
            return 0
        if self._anew is not None:
            for one in records:
                self._anew.take(one)
        elif records:
            self._written.counters.withheld_values += sum(
                one.number(WITHHELD) or 0 for one in records
            )
            await self._written.write(records)
        if self._place.offset >= fetched.high_watermark:
            await self._write_due_set()
        is_stuck = bool(fetched.records) and self._place.offset == before
        return UNCOMMITTED_PAUSE_S if is_stuck else 0

    async def _write_due_set(self) -> None:
        now_ms = self._written.now_ms()
        if self._anew is None and now_ms < self._due_ms:
            return
        said = self._anew or self._written.state
        await self._written.write_full_set(METADATA_LOG, COVERS, said)
        self._anew = None
        self._due_ms = now_ms + self._source.full_set_ms

    async def find_leader(self, node: Address, fetched: Fetched) -> float:
        """Turn to the node that leads."""
        if not self._source.turn_to_leader(fetched):
            self._source.turn_from(node)
            return PAUSE_S
        return 0 if self._source.pick_node() != node else UNCOMMITTED_PAUSE_S

    async def take_snapshot(self, node: Address, fetched: Fetched) -> float:
        """Write a snapshot as a full set."""
        if fetched.snapshot_id is None:
            return PAUSE_S
        logger.info(
            "the metadata log begins behind offset %d: snapshot %d-%d is a full set",
            self._place.offset,
            fetched.snapshot_id.end_offset,
            fetched.snapshot_id.epoch,
        )
        reader = await self._source.fetch_snapshot(
            node, self._place, fetched.snapshot_id
        )
        written = self._written
        stamp = Stamp(written.cluster_id, written.now_ms())
        self._topics = TopicConfigs()
        said = state_of_snapshot(
            reader, written.state, stamp, self._source.rules, self._topics
        )
        written.counters.passed_over.update(reader.passed_over)
        await written.write_full_set(METADATA_LOG, COVERS, said)
        self._anew = None
        self._place.move_to(said.position)
        return 0

    async def begin_anew(self, _node: Address, fetched: Fetched) -> float:
        """Read the log from its start, as one full set."""
        logger.warning(
            "the metadata log is no longer the one that was read up to offset %d "
            "(it parts at %s): all of it is a full set",
            self._place.offset,
            fetched.diverging_end_offset,
        )
        self._read_from_start()
        return 0

    def _read_from_start(self) -> None:
        self._place.move_to(None)
        self._topics = TopicConfigs()
        self._anew = self._written.state.begin_anew()

    async def name_broker(self, node: Address, fetched: Fetched) -> float:
        """Say which node is no controller."""
        raise ClusterRefusal(
            f"cluster.controller_servers: {node[0]}:{node[1]} is no controller (it "
            f"answers error {fetched.error_code})"
        )

    async def name_right(self, node: Address, fetched: Fetched) -> float:
        """Say which right is missing."""
        place = f"{node[0]}:{node[1]}"
        if fetched.error_code == MISSING_RIGHT:
            raise MissingRight(
                f"controller {place} does not show its log: the bridge's principal "
                f"needs CLUSTER_ACTION on the cluster"
            )
        raise ClusterRefusal(
            f"cluster.controller_servers: {place} belongs to another cluster than the "
            f"brokers"
        )


_STEPS = {
    Next.RECORDS: _LogFeed.take_records,
    Next.LEADER: _LogFeed.find_leader,
    Next.SNAPSHOT: _LogFeed.take_snapshot,
    Next.ANEW: _LogFeed.begin_anew,
    Next.BROKER: _LogFeed.name_broker,
    Next.REFUSED: _LogFeed.name_right,
}
