"""What names each write of a micro-batch, and what starts micro-batches.

foreachBatch is at-least-once. So each write names a transaction: of two writes to a
table with the same application id, Delta skips the one whose version is not higher.
"""

import logging
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.tables.contract import TableContract

QUERY_ID_PROPERTY = "sql.streaming.queryId"
"""Spark sets it on the thread of a query; it lives as long as the checkpoint."""

_logger = logging.getLogger(__name__)

WriteBatch = Callable[[DataFrame, int], None]
Observer = Callable[[str, int], None]
"""Told a point of a micro-batch (`before client_metrics`) and its number of rows."""


class BatchFailed(Exception):
    """What has ended a micro-batch, as Spark is told of it: a text with all traces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """One micro-batch of one query; a new checkpoint location is a new query."""

    query_id: str
    batch_id: int
    slice_number: int | None = None
    """From 1, where the micro-batch is written in slices; null for the last one, which
    ends the micro-batch."""
    is_continued: bool = False
    """Whether other slices of the micro-batch come before this one."""

    @property
    def is_first(self) -> bool:
        """Whether nothing of the query was written before."""
        return self.batch_id == 0 and not self.is_continued

    def app_id(self, contract: TableContract, step: str) -> str:
        """Return the application id of one step on one table."""
        whole = self.whole_app_id(contract, step)
        number = self.slice_number
        return whole if number is None else f"{whole}/slice-{number}"

    def whole_app_id(self, contract: TableContract, step: str) -> str:
        """Return the application id that says that the whole micro-batch is there."""
        return f"{self.query_id}/{contract.name}/{step}"

    def known_app_ids(self, contract: TableContract, step: str) -> frozenset[str]:
        """Return the application ids of which each says that the rows are there.

        An attempt that was cut off may have written the whole micro-batch at once,
        which is more than what a slice knows.
        """
        return frozenset(
            {self.app_id(contract, step), self.whole_app_id(contract, step)}
        )

    def merge_app_id(self, contract: TableContract) -> str:
        """Return the application id under which `merge` writes."""
        return self.app_id(contract, "merge")


def log_progress(point: str, rows: int) -> None:
    """Log how far a micro-batch is; the default observer.

    For debugging only: people read one line a micro-batch, see `streaming.progress`.
    """
    _logger.debug("%s: %d rows", point, rows)


def read_query_id(micro_batch: DataFrame) -> str:
    """Return the id of the query that a micro-batch belongs to.

    Raises: RuntimeError outside of foreachBatch.
    """
    context = micro_batch.sparkSession.sparkContext
    query_id = context.getLocalProperty(QUERY_ID_PROPERTY)
    if not query_id:
        raise RuntimeError("a transaction is named by its query, and there is none")
    return query_id


@contextmanager
def persisted(frame: DataFrame) -> Iterator[DataFrame]:
    """Keep a frame, in memory and past that on disk, until the block ends."""
    kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield kept
    finally:
        kept.unpersist()


def start_batches(
    records: DataFrame,
    write_batch: WriteBatch,
    *,
    query_name: str,
    checkpoint_location: str,
    trigger_interval_ms: int | None,
) -> StreamingQuery:
    """Start a query that hands each micro-batch to a function.

    Args:
        records: A streaming DataFrame.
        write_batch: Gets the micro-batch and its id; may get the same one twice.
        query_name: Name in Spark's progress and logs.
        checkpoint_location: Folder of the query's progress.
        trigger_interval_ms: Shortest time between two micro-batches; None reads what
            is there now, in micro-batches, and ends.
    """
    writer = (
        records.writeStream.queryName(query_name)
        .option("checkpointLocation", checkpoint_location)
        .foreachBatch(_with_told_errors(write_batch))
    )
    if trigger_interval_ms is None:
        return writer.trigger(availableNow=True).start()
    query = writer.trigger(processingTime=f"{trigger_interval_ms} milliseconds").start()
    _logger.info("%s waits for records, until Ctrl-C", query_name)
    return query


def _with_told_errors(write_batch: WriteBatch) -> WriteBatch:
    """Return a writer whose errors reach Spark in words that it does not look through.

    Behind "py4j.protocol.Py4JJavaError: An error occurred while calling" it looks for
    an interrupt, by an expression that takes a call for each character: of a long trace
    the thread of the query dies, and the query has ended as if all were well. See
    PROXY_ERROR in Spark's StreamExecution.
    """

    def write(records: DataFrame, batch_id: int) -> None:
        try:
            write_batch(records, batch_id)
        except Exception as error:  # noqa: BLE001 - raised again, in other words
            text = "".join(traceback.format_exception(error))
            told = text.replace("py4j.protocol.Py4JJavaError", "Py4JJavaError")
            raise BatchFailed(told) from None

    return write
