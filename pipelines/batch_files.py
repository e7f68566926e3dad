"""What a micro-batch has become: counts, and files that wait to be committed.

Source: the columns of `udfs.spark.encode_push_files`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .table_files import NewFile

INLINE_BYTES = 4 << 20
"""Files up to this come with the counts; a task makes few small ones, so that what
comes at once is bounded. Larger ones are fetched one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFiles:
    """The files of one micro-batch, kept by Spark until they are committed."""

    encoded: DataFrame
    records: int
    """Of the topic, whatever became of them."""
    listed: Sequence[Row]
    """table, event_date, row_count, statistics, size, content or null."""

    def count_rows(self, table: str) -> int:
        """Return how many rows a table gets."""
        return sum(row["row_count"] for row in self.listed if row["table"] == table)

    def iter_files(self, table: str) -> Iterator[NewFile]:
        """Return the files of a table, the large ones fetched as they are asked for."""
        wanted = [row for row in self.listed if row["table"] == table]
        for row in wanted:
            if row["content"] is not None:
                yield _new_file(row)
        large_bytes = sum(row["size"] for row in wanted if row["content"] is None)
        if not large_bytes:
            return
        files = self.encoded.where("push IS NULL").select("file.*")
        is_large = F.octet_length("content") > INLINE_BYTES
        of_table = files.where((F.col("table") == table) & is_large)
        for row in of_table.toLocalIterator():
            yield _new_file(row)


def read_batch_files(encoded: DataFrame) -> BatchFiles:
    """Run the decode of a micro-batch and learn what came of it.

    Args:
        encoded: From encode_push_files, persisted.
    """
    size = F.octet_length("file.content")
    rows = encoded.where("push IS NULL").select(
        "records",
        *(f"file.{name}" for name in ("table", "event_date", "row_count")),
        "file.statistics",
        size.alias("size"),
        F.when(size <= INLINE_BYTES, F.col("file.content")).alias("content"),
    )
    found = rows.collect()
    return BatchFiles(
        encoded=encoded,
        records=sum(row["records"] or 0 for row in found),
        listed=[row for row in found if row["table"] is not None],
    )


def select_pushes(encoded: DataFrame) -> DataFrame:
    """Keep the usable pushes, as encode_push_files has them."""
    return encoded.where("push IS NOT NULL").select("push.*")


def _new_file(row: Row) -> NewFile:
    return NewFile(
        event_date=row["event_date"],
        content=bytes(row["content"]),
        statistics=row["statistics"],
    )
