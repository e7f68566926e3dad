"""Micro-batches that are too large to be written at once, written in slices.

Spark fixes the offsets of a micro-batch before it runs, by their number alone. So the
records are measured, first of all or where an attempt at once found them too much, and
where they are large, ranges of offsets are written one after the other, each to every
table, the ledger last, as if it were a micro-batch. What was cut is kept with the
checkpoint location: another attempt has the same slices, and each table knows which of
them it has.
"""

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables import transactions
from pipelines.delta_tables.batch_files import BatchCounts

from .checkpoint_files import (
    delete_checkpoint_files,
    read_checkpoint_file,
    write_checkpoint_file,
)

SLICE_BYTES = 64 << 20
"""Of the records of a slice, and a granule more."""
GRANULE_OFFSETS = 32
"""Offsets that are measured, and so cut, together."""
UNREAD_BYTES = 1_024
"""What a record costs of which no more than the fault is written."""

Ranges = Mapping[int, tuple[int, int]]
"""Partition to its first offset, and the offset behind its last one."""
ReadRanges = Callable[[SparkSession, Ranges], DataFrame]
AtOnce = Callable[[DataFrame, transactions.Transaction], BatchCounts | None]
"""Writes a micro-batch, or nothing of it and says None where it would be too much."""
_FILE_NAME = "slices-{}.json"
_FILE_NUMBER = re.compile(r"slices-(\d+)\.json")

_logger = logging.getLogger(__name__)


class Granule(NamedTuple):
    """Records of one partition that follow each other."""

    partition: int
    first: int
    last: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SlicedBatches:
    """Writes micro-batches of one query."""

    read_ranges: ReadRanges
    write_slice: Callable[[DataFrame, transactions.Transaction], BatchCounts]
    note_counts: Callable[..., None]
    """As BatchListener.note_counts."""
    observer: transactions.Observer
    checkpoint_location: str
    max_value_bytes: int
    """Largest value that is read; of a larger one only its place is kept."""
    slice_bytes: int
    write_at_once: AtOnce | None = None
    """Tried first; null where records are measured before anything is made of them."""

    def write(self, records: DataFrame, batch_id: int) -> None:
        """Write one micro-batch, in as many slices as it needs."""
        query_id = transactions.read_query_id(records)
        whole = transactions.Transaction(query_id=query_id, batch_id=batch_id)
        slices = self._read_slices(records, batch_id)
        if slices is None and self.write_at_once is not None:
            counts = self.write_at_once(records, whole)
            if counts is not None:
                self._note(batch_id, [counts])
                return
        if slices is None:
            slices = self._cut(records, batch_id)
        self._note(batch_id, self._write_slices(records, whole, slices))

    def _write_slices(
        self,
        records: DataFrame,
        whole: transactions.Transaction,
        slices: Sequence[Ranges],
    ) -> list[BatchCounts]:
        written = []
        for number, ranges in enumerate(slices, start=1):
            is_last = number == len(slices)
            transaction = replace(
                whole,
                slice_number=None if is_last else number,
                is_continued=number > 1,
            )
            of_slice = self.read_ranges(records.sparkSession, ranges)
            written.append(self.write_slice(of_slice, transaction))
        return written

    def _note(self, batch_id: int, written: Sequence[BatchCounts]) -> None:
        self.note_counts(
            batch_id,
            rows=sum(one.rows for one in written),
            quarantined=sum(one.quarantined for one in written),
        )
        self.observer("before commit", sum(one.records for one in written))

    def _read_slices(
        self, records: DataFrame, batch_id: int
    ) -> Sequence[Ranges] | None:
        """Return the slices of a micro-batch as another attempt had them, if any."""
        session, place = records.sparkSession, self.checkpoint_location
        known = read_checkpoint_file(session, place, _FILE_NAME.format(batch_id))
        return None if known is None else _parse_slices(known)

    def _cut(self, records: DataFrame, batch_id: int) -> Sequence[Ranges]:
        """Return the slices of a micro-batch, and keep them where there are several."""
        session, place = records.sparkSession, self.checkpoint_location
        granules = _measure(records, self.max_value_bytes)
        slices = cut_slices(granules, self.slice_bytes)
        if len(slices) > 1:
            size_mib = sum(one.size_bytes for one in granules) >> 20
            _logger.info(
                "batch %d: %d MiB, in %d slices", batch_id, size_mib, len(slices)
            )
            keep_slices(session, place, batch_id, slices)
        return slices


def keep_slices(
    session: SparkSession,
    checkpoint_location: str,
    batch_id: int,
    slices: Sequence[Ranges],
) -> None:
    """Keep the slices of a micro-batch, and delete those of the batches before it.

    Spark starts a micro-batch after the former one is committed, so that only the
    newest one can come again.
    """
    name = _FILE_NAME.format(batch_id)
    write_checkpoint_file(session, checkpoint_location, name, json.dumps(slices))

    def is_old(name: str) -> bool:
        found = _FILE_NUMBER.fullmatch(name)
        return found is not None and int(found[1]) < batch_id

    delete_checkpoint_files(session, checkpoint_location, is_old)


def cut_slices(granules: Iterable[Granule], max_bytes: int) -> Sequence[Ranges]:
    """Cut records into slices of bounded size.

    Args:
        granules: All of a micro-batch, in any order.
        max_bytes: Of a slice; a granule above it is a slice of its own.
    Returns: Slices, of which each partition's offsets ascend from one to the next.
    """
    slices: list[dict[int, tuple[int, int]]] = []
    size = 0
    for one in sorted(granules):
        if not slices or size + one.size_bytes > max_bytes:
            slices.append({})
            size = 0
        first, _ = slices[-1].get(one.partition, (one.first, 0))
        slices[-1][one.partition] = first, one.last + 1
        size += one.size_bytes
    return slices


def _measure(records: DataFrame, max_value_bytes: int) -> list[Granule]:
    """Return how large records are, without bringing them anywhere."""
    value = F.coalesce(F.octet_length("value"), F.lit(0))
    size = F.when(value > max_value_bytes, UNREAD_BYTES).otherwise(value)
    granule = F.floor(F.col("offset") / GRANULE_OFFSETS)
    measured = records.groupBy("partition", granule.alias("granule")).agg(
        F.min("offset"), F.max("offset"), F.sum(size + _headers_size())
    )
    return [Granule(*row) for row in measured.drop("granule").collect()]


def _headers_size() -> Column:
    """Return the bytes of a record's headers; a lambda would not be compiled."""
    texts = F.array_join(F.col("headers.value").cast("array<string>"), "")
    return F.coalesce(F.octet_length(texts), F.lit(0))


def _parse_slices(text: str) -> Sequence[Ranges]:
    """Return slices from JSON, which made texts of partitions and lists of pairs."""
    return [
        {int(partition): (first, end) for partition, (first, end) in ranges.items()}
        for ranges in json.loads(text)
    ]
