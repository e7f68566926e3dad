"""A copied metadata log as records of the cluster's topic.

Strategy: the log in the order of its offsets, each record once. A snapshot is published
as a full set where the log before it does not say all: at the beginning of what was
copied, behind a gap, and behind a batch that cannot be read. The first snapshot of a
cluster, at offset 0, says nothing that the log does not.
A record of a snapshot has no place and time of its own: it was so at the last record
that the snapshot contains, whose offset and time it gets.
Source: KIP-630, KIP-868.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import NamedTuple

from udfs.cluster.published_records import PublishedRules, publish_record
from udfs.cluster.record_fields import RECORD_FIELDS, name_record

from . import state as f
from .log_files import BatchFault, Snapshot
from .metadata_transactions import (
    TRANSACTION_KEYS,
    MetadataTransactions,
)
from .record_batches import (
    SNAPSHOT_FOOTER,
    SNAPSHOT_HEADER,
    ControlRecord,
    LogRecord,
    RecordBatch,
    UnreadableBatch,
    read_control_records,
    read_records,
)
from .records import FeedRecord, make_record
from .topic_configs import TOPIC_KEYS, TopicConfigs

SOURCE = "file"
GAP = "gap"
"""Among the faults: offsets that no file has."""
INCOMPLETE_SET = "incomplete_set"
"""Among the faults: a snapshot without its end, which closes nothing."""
OPEN_TRANSACTION = "open_transaction"
"""Among the faults: a transaction whose end is in no file; none of it is told."""
_FIRST_OFFSET = 0
_WANTED = frozenset(one.api_key for one in RECORD_FIELDS.values()) | TOPIC_KEYS
_WANTED_OF_LOG = _WANTED | TRANSACTION_KEYS

ReadBatches = Callable[[Snapshot], Iterator[RecordBatch | BatchFault]]


class ImportCounts(NamedTuple):
    """What came of the records."""

    published: Counter[str]
    """By type."""
    passed_over: Counter[str]
    """By type: of none of those that are published."""
    faults: Counter[str]
    """By reason: batches and records that were not read, gaps."""
    withheld: Counter[str]
    """By type: values that were taken out."""


class _Place(NamedTuple):
    """Where and when a record stands in the log."""

    offset: int
    epoch: int
    timestamp_ms: int
    set_id: str | None = None


class LogImport:
    """Makes records for the topic; knows how far the log has been read."""

    def __init__(
        self, rules: PublishedRules, *, cluster_id: str, observed_at_ms: int
    ) -> None:
        """Begin before the log.

        Args:
            observed_at_ms: When the files are read.
        """
        self._rules = rules
        self._cluster_id = cluster_id
        self._observed_at_ms = observed_at_ms
        self._transactions = MetadataTransactions()
        self._topics = TopicConfigs()
        self._next_offset = _FIRST_OFFSET
        self._is_whole = True
        """Whether all that was so at that offset has been published."""
        self.counts = ImportCounts(Counter(), Counter(), Counter(), Counter())

    def read_log(
        self,
        batches: Iterable[RecordBatch | BatchFault],
        snapshots: Sequence[Snapshot],
        read_snapshot: ReadBatches,
    ) -> Iterator[FeedRecord]:
        """Return records for the topic, in order.

        Args:
            batches: Of all segments, in the order of offsets.
            snapshots: In the order of offsets.
            read_snapshot: Returns the batches of one of them.
        """
        waiting = [one for one in snapshots if one.end_offset > _FIRST_OFFSET]
        for batch in batches:
            if isinstance(batch, BatchFault):
                self._note_fault(batch.reason)
                continue
            while waiting and waiting[0].end_offset <= batch.last_offset:
                yield from self._reach(waiting.pop(0), batch.base_offset, read_snapshot)
            yield from self._read_batch(batch)
        for one in waiting:
            yield from self._reach(one, None, read_snapshot)
        if self._transactions.begin_offset is not None:
            self._note_fault(OPEN_TRANSACTION)

    def publish_one(self, value: bytes) -> FeedRecord | None:
        """Return a record that stands in no log; None where nothing of it is told."""
        return self._publish(value, None)

    def _reach(
        self, snapshot: Snapshot, next_base: int | None, read_snapshot: ReadBatches
    ) -> Iterator[FeedRecord]:
        """Publish a snapshot, unless the log has said all of it, or will."""
        is_gap = next_base is None or next_base > self._next_offset
        is_missed = is_gap and self._next_offset < snapshot.end_offset
        if self._is_whole and not is_missed:
            return
        self._transactions.drop()
        self._is_whole = yield from self._read_set(snapshot, read_snapshot(snapshot))
        if self._is_whole:
            self._next_offset = max(self._next_offset, snapshot.end_offset)

    def _read_batch(self, batch: RecordBatch) -> Iterator[FeedRecord]:
        if batch.base_offset > self._next_offset:
            self._note_fault(GAP)
        start, self._next_offset = self._next_offset, batch.last_offset + 1
        try:
            read = read_records(batch, _WANTED_OF_LOG)
        except UnreadableBatch as error:
            self._note_fault(error.reason)
            return
        self._count_passed_over(read.passed_over)
        for held in read.records:
            for one in self._transactions.take(held) if held.offset >= start else ():
                place = _Place(one.offset, one.epoch, one.timestamp_ms)
                yield from self._publish_log_record(one, place)

    def _read_set(
        self, snapshot: Snapshot, batches: Iterable[RecordBatch | BatchFault]
    ) -> Generator[FeedRecord, None, bool]:
        """Yield the records of a snapshot; return whether it was complete."""
        offset, epoch = snapshot.end_offset, snapshot.epoch
        set_id = f"{SOURCE}-{self._observed_at_ms}-{offset}-{epoch}"
        place = _Place(offset - 1, epoch, 0, set_id)
        self._topics = TopicConfigs()
        count, is_ended = 0, False
        for batch in batches:
            try:
                controls, records = self._read_snapshot_batch(batch)
            except UnreadableBatch as error:
                self._note_fault(error.reason)
                break
            is_ended |= any(one.control_type == SNAPSHOT_FOOTER for one in controls)
            place = _take_time(place, controls, records)
            for one in records:
                for record in self._publish_log_record(one, place):
                    count += 1
                    yield record
        if is_ended:
            headers = self._headers(place._replace(set_id=None))
            yield f.close_set(set_id, count, f.COVERS, headers)
        else:
            self._note_fault(INCOMPLETE_SET)
        return is_ended

    def _read_snapshot_batch(
        self, batch: RecordBatch | BatchFault
    ) -> tuple[list[ControlRecord], list[LogRecord]]:
        if isinstance(batch, BatchFault):
            raise UnreadableBatch(batch.reason, "")
        read = read_records(batch, _WANTED)
        self._count_passed_over(read.passed_over)
        return read_control_records(batch), read.records

    def _publish_log_record(
        self, record: LogRecord, place: _Place
    ) -> Iterator[FeedRecord]:
        for one in self._topics.expand(record, self.counts.passed_over):
            told = self._publish(one.value, place)
            if told is not None:
                self._topics.note(told)
                yield told

    def _publish(self, value: bytes, place: _Place | None) -> FeedRecord | None:
        told = publish_record(value, self._rules)
        record_type = told.record_type or ""
        if told.withheld:
            self.counts.withheld[record_type] += told.withheld
        if told.frame_error is not None:
            self.counts.faults[told.frame_error] += 1
        if told.key is None or told.value is None:
            return None
        self.counts.published[record_type] += 1
        return make_record(
            told.key,
            told.value,
            [*self._headers(place), (f.WITHHELD, told.withheld or None)],
        )

    def _headers(self, place: _Place | None) -> list[tuple[str, str | int | None]]:
        common: list[tuple[str, str | int | None]] = [
            (f.CLUSTER_ID, self._cluster_id),
            (f.SOURCE, SOURCE),
            (f.OBSERVED, self._observed_at_ms),
        ]
        if place is None:
            return common
        return [
            *common,
            (f.OFFSET, place.offset),
            (f.EPOCH, place.epoch),
            (f.TIMESTAMP, place.timestamp_ms),
            (f.SET_ID, place.set_id),
        ]

    def _count_passed_over(self, api_keys: Counter[int]) -> None:
        for api_key, count in api_keys.items():
            self.counts.passed_over[name_record(api_key)] += count

    def _note_fault(self, reason: str) -> None:
        self.counts.faults[reason] += 1
        self._is_whole = False
        # What is left of a transaction is not all of it.
        self._transactions.drop()


def _take_time(
    place: _Place, controls: Iterable[ControlRecord], records: Sequence[LogRecord]
) -> _Place:
    """Return a place with the time that a snapshot's header says, else its records."""
    for one in controls:
        if one.control_type == SNAPSHOT_HEADER and one.last_contained_ms:
            return place._replace(timestamp_ms=max(one.last_contained_ms, 0))
    if records and not place.timestamp_ms:
        return place._replace(timestamp_ms=records[0].timestamp_ms)
    return place
