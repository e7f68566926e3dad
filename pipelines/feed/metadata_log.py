"""The metadata log: where reading stands, what an answer means, records for the topic.

Strategy: what is at or above the high watermark may still be lost, so reading goes on
from it only when it has moved. The epoch of the quorum is learnt from refusals, and the
epoch of the last record that was read proves that the log is still the same one. Where
it is not, or where it begins behind us, everything is said anew as one full set.
Source: KIP-595, KIP-630, KIP-853, KIP-868; KafkaRaftClient of Kafka 4.3.1.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import NamedTuple

from udfs.cluster.published_records import PublishedRules, publish_record
from udfs.cluster.record_fields import RECORD_FIELDS, name_record

from .metadata_fetch import Fetched, SnapshotId
from .metadata_transactions import (
    TRANSACTION_KEYS,
    MetadataTransactions,
)
from .record_batches import (
    BatchStream,
    LogRecord,
    MalformedBatches,
    RecordBatch,
    UnreadableBatch,
    read_control_records,
    read_records,
)
from .records import FeedRecord, make_record
from .state import (
    CLUSTER_ID,
    EPOCH,
    NOT_BEFORE,
    OBSERVED,
    OFFSET,
    SOURCE,
    TIMESTAMP,
    WITHHELD,
    FeedState,
    Position,
)
from .topic_configs import TOPIC_KEYS, TopicConfigs

METADATA_LOG = "metadata_log"
WANTED = (
    frozenset(one.api_key for one in RECORD_FIELDS.values())
    | TRANSACTION_KEYS
    | TOPIC_KEYS
)
"""API keys of records that are read; all others are counted."""
UNKNOWN_TOPIC, MISSING_RIGHT, UNKNOWN_EPOCH = 3, 31, 75
SNAPSHOT_NOT_FOUND, POSITION_OUT_OF_RANGE = 98, 99
OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_ID, OTHER_CLUSTER = 1, 100, 104
_UNREADABLE = "unreadable batch"
_NO_BATCH = f"{_UNREADABLE}: not found"


class Next(Enum):
    """What an answer to a Fetch leads to."""

    RECORDS = auto()
    """There are records, or none yet."""
    LEADER = auto()
    """Another node leads, or this one in another epoch."""
    SNAPSHOT = auto()
    """The log begins behind us."""
    ANEW = auto()
    """The log is another one than we have read."""
    BROKER = auto()
    """This node is no controller."""
    REFUSED = auto()
    """A right is missing, or it is another cluster."""


class LogPlace:
    """Where reading stands, and in which epoch of the quorum."""

    def __init__(self, position: Position | None) -> None:
        """Go on behind a record, or from the beginning."""
        self.offset = 0 if position is None else position.offset + 1
        """The first that has not been read."""
        self.last_epoch = 0 if position is None else position.epoch
        """Of the record before it."""
        self.leader_epoch = self.last_epoch
        self.transactions = MetadataTransactions()
        self.is_blocked = False
        """Whether the last answer had bytes that are no batch, and nothing before."""
        self.passed_over: Counter[str] = Counter()
        """Records that are never published, by type, since somebody took them."""

    def move_to(self, position: Position | None) -> None:
        """Go on somewhere else; what is held back is read again, or is gone."""
        self.offset = 0 if position is None else position.offset + 1
        self.last_epoch = 0 if position is None else position.epoch
        self.transactions.drop()

    def judge(self, fetched: Fetched) -> Next:
        """Say what an answer leads to; take the epoch that it names."""
        if fetched.leader is not None:
            self.leader_epoch = max(self.leader_epoch, fetched.leader.leader_epoch)
        code = fetched.error_code
        if code in {UNKNOWN_TOPIC, UNKNOWN_TOPIC_ID}:
            return Next.BROKER
        if code in {MISSING_RIGHT, OTHER_CLUSTER}:
            return Next.REFUSED
        if code == OFFSET_OUT_OF_RANGE:
            return Next.ANEW
        if code:
            return Next.LEADER
        if fetched.diverging_end_offset is not None:
            return Next.ANEW
        return Next.RECORDS if fetched.snapshot_id is None else Next.SNAPSHOT

    def take(self, fetched: Fetched) -> list[LogRecord]:
        """Read the records that can no more be lost, and move behind them.

        Returns: Those that may be published: of a metadata transaction all at its end.
        """
        stream = BatchStream()
        stream.receive_data(fetched.records)
        before, unreadable = self.offset, self.passed_over[_NO_BATCH]
        records: list[LogRecord] = []
        for batch in _cut(stream, self.passed_over):
            if batch.last_offset >= fetched.high_watermark:
                break
            if batch.last_offset < self.offset:
                continue
            for one in _read(batch, self.passed_over):
                if one.offset >= self.offset:
                    records += self.transactions.take(one)
            self.offset, self.last_epoch = batch.last_offset + 1, batch.epoch
        is_spoilt = self.passed_over[_NO_BATCH] > unreadable
        self.is_blocked = is_spoilt and self.offset == before
        return records


class SnapshotReader:
    """Reads a snapshot as its pieces come."""

    def __init__(self, snapshot_id: SnapshotId) -> None:
        self.snapshot_id = snapshot_id
        self.position = 0
        """Of the next byte."""
        self.timestamp_ms: int | None = None
        """Of the last record that it contains."""
        self.records: list[LogRecord] = []
        self.passed_over: Counter[str] = Counter()
        self._stream = BatchStream()

    def take(self, piece: bytes) -> None:
        """Add the next piece."""
        self.position += len(piece)
        self._stream.receive_data(piece)
        for batch in _cut(self._stream, self.passed_over):
            if batch.is_control:
                self._take_control(batch)
            else:
                self.records += _read(batch, self.passed_over)

    def _take_control(self, batch: RecordBatch) -> None:
        try:
            controls = read_control_records(batch)
        except UnreadableBatch as error:
            self.passed_over[f"{_UNREADABLE}: {error.reason}"] += 1
            return
        for one in controls:
            if one.last_contained_ms is not None:
                self.timestamp_ms = one.last_contained_ms


def _cut(stream: BatchStream, passed_over: Counter[str]) -> Iterator[RecordBatch]:
    """Return whole batches; one that is none is counted, and ends them."""
    while True:
        try:
            batch = stream.next_batch()
        except UnreadableBatch as error:
            passed_over[f"{_UNREADABLE}: {error.reason}"] += 1
            continue
        except MalformedBatches:
            passed_over[_NO_BATCH] += 1
            return
        if batch is None:
            return
        yield batch


def _read(batch: RecordBatch, passed_over: Counter[str]) -> list[LogRecord]:
    try:
        read = read_records(batch, WANTED)
    except UnreadableBatch as error:
        passed_over[f"{_UNREADABLE}: {error.reason}"] += 1
        return []
    for api_key, count in read.passed_over.items():
        passed_over[name_record(api_key)] += count
    return read.records


class Stamp(NamedTuple):
    """Headers that records of one answer share."""

    cluster_id: str
    observed_ms: int
    not_before_ms: int | None = None


def make_feed_record(
    record: LogRecord, stamp: Stamp, rules: PublishedRules, passed_over: Counter[str]
) -> FeedRecord | None:
    """Return what is published of a record; None: nothing, which is counted."""
    published = publish_record(record.value, rules)
    if published.value is None or published.key is None:
        why = published.frame_error or "hidden name"
        passed_over[f"{published.record_type}: {why}"] += 1
        return None
    return make_record(
        published.key,
        published.value,
        (
            (CLUSTER_ID, stamp.cluster_id),
            (SOURCE, METADATA_LOG),
            (OBSERVED, stamp.observed_ms),
            (OFFSET, record.offset),
            (EPOCH, record.epoch),
            (TIMESTAMP, record.timestamp_ms),
            (NOT_BEFORE, stamp.not_before_ms),
            (WITHHELD, published.withheld or None),
        ),
    )


def make_feed_records(
    records: Sequence[LogRecord],
    stamp: Stamp,
    rules: PublishedRules,
    passed_over: Counter[str],
    topics: TopicConfigs,
) -> list[FeedRecord]:
    """Return what is published of some records, in order.

    Raises:
        UnknownTopic: As TopicConfigs.expand raises it.
    """
    published: list[FeedRecord] = []
    for record in records:
        for one in topics.expand(record, passed_over):
            made = make_feed_record(one, stamp, rules, passed_over)
            if made is not None:
                topics.note(made)
                published.append(made)
    return published


def state_of_snapshot(
    snapshot: SnapshotReader,
    before: FeedState,
    stamp: Stamp,
    rules: PublishedRules,
    topics: TopicConfigs,
) -> FeedState:
    """Return what a snapshot says.

    What was so before keeps the headers of the record that said so: its time is exact,
    while of what is new the snapshot only tells that it was written before its end.
    """
    end = Position(snapshot.snapshot_id.end_offset - 1, snapshot.snapshot_id.epoch)
    timestamp_ms = snapshot.timestamp_ms or stamp.observed_ms
    state = before.begin_anew()
    stamp = stamp._replace(not_before_ms=before.timestamp_ms)
    placed = [
        one._replace(offset=end.offset, epoch=end.epoch, timestamp_ms=timestamp_ms)
        for one in snapshot.records
    ]
    for made in make_feed_records(placed, stamp, rules, snapshot.passed_over, topics):
        known = before.find(made.key)
        state.take(made if known is None or known.value != made.value else known)
    state.position, state.timestamp_ms = end, timestamp_ms
    return state
