"""What a micro-batch has become: counts, files that wait to be committed, instances.

Source: the columns of `udfs.spark.encode_push_files`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.contract import TableContract
from pipelines.tables.telemetry import QUARANTINE

INLINE_BYTES = 4 << 20
"""Files up to this come with the counts; a task makes few small ones, so that what
comes at once is bounded. Larger ones are fetched one by one."""


class BatchCounts(NamedTuple):
    """What some records have become."""

    records: int
    rows: int
    """Of what the job is for."""
    quarantined: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFiles:
    """What one micro-batch has become, until it is committed."""

    encoded: DataFrame
    records: int
    """Of the topic, whatever became of them."""
    listed: Sequence[Row]
    """The rows of files; content is null where a file is stored or large."""
    deciding: pa.Table | None
    """The pushes that say who their client instances are, of all tasks; null where no
    push is usable."""
    is_too_much: bool = False
    """Whether some of them were left out."""

    def count_rows(self, table: str) -> int:
        """Return how many rows a table gets."""
        return sum(row["row_count"] for row in self.listed if row["table"] == table)

    def count(self, contract: TableContract) -> BatchCounts:
        """Return what the records have become, a table being what the job is for."""
        rows, quarantined = map(self.count_rows, (contract.name, QUARANTINE.name))
        return BatchCounts(self.records, rows, quarantined)


def read_batch_files(encoded: DataFrame, *, with_content: bool) -> BatchFiles:
    """Run the decode of a micro-batch and learn what came of it.

    Args:
        encoded: From encode_push_files; persisted, unless the workers store the files.
        with_content: Whether the driver is to have the bytes of small files.
    """
    max_bytes = INLINE_BYTES if with_content else 0
    inline = F.when(F.octet_length("content") <= max_bytes, F.col("content"))
    found = encoded.withColumn("content", inline).collect()
    streams = [row["deciding"] for row in found if row["deciding"] is not None]
    # An empty one stands for what was left out.
    tables = [pa.ipc.open_stream(one).read_all() for one in streams if one]
    return BatchFiles(
        encoded=encoded,
        records=sum(row["records"] or 0 for row in found),
        listed=[row for row in found if row["table"] is not None],
        deciding=pa.concat_tables(tables) if tables else None,
        is_too_much=len(tables) < len(streams),
    )


def without_pushes(encoded: DataFrame) -> DataFrame:
    """Keep what is not a push, as read_batch_files takes it."""
    return encoded.where("push IS NULL").drop("push")


def select_pushes(encoded: DataFrame) -> DataFrame:
    """Keep the pushes that came back beside the files."""
    return encoded.where("push IS NOT NULL").select("push.*")
