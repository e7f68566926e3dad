"""Writes by public APIs of Spark and Delta alone: any build, any catalog.

A row goes to its table as Spark writes it. What a micro-batch has become travels as the
bytes that the kernels made: a table's rows are read from these where they are written.

No public API tells what transactions a table knows, though Delta skips those. But only
the first micro-batch of a run can be one that an earlier run has begun, and only one
that this run has begun before can come again in it: of all others it is known that they
are new.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date

import pyarrow as pa
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import StructType

from pipelines.tables.contract import IS_DELETED, PUSH, TableContract
from udfs.files.table_files import iter_rows
from udfs.spark_types import arrow_schema

from .batch_files import BatchFiles
from .merging import read_version
from .noted_offsets import read_at
from .states import StateTable
from .transactions import Transaction
from .ways import ROWS_PER_FILE, Observed, StoreFile

PLACE = "_clientele_place"
"""Column of a table whose pushes are replaced: the partition of a row."""
_EVENT_DATE, _PUSH_ID = "event_date", "push_id"


class SparkWriter:
    """One way of writing to tables; see ways.Way."""

    name = "spark"
    needs_content = False

    def __init__(self, names: Mapping[str, str]) -> None:
        """Take the SQL identifiers of tables, by contract name."""
        self._names = names
        self._begun = BegunBatches()

    def find_store(
        self, _spark: SparkSession, _contracts: Sequence[TableContract]
    ) -> StoreFile | None:
        """Return None: files in the folder of a table are Delta's own."""
        return None

    def append(
        self, batch: BatchFiles, contract: TableContract, transaction: Transaction
    ) -> None:
        """Append the rows of a micro-batch."""
        encoded, table = batch.encoded, self._names[contract.name]
        session = encoded.sparkSession
        stored = session.table(table)
        schema = stored.select(*contract.column_names).schema
        of_table = encoded.where(F.col("table") == contract.name)
        rows = of_table.transform(_read_rows, schema, contract.partition_by[0])
        is_new = self._begun.note(contract, "append", transaction)
        if transaction.slice_number is not None and not is_new:
            # Another way may have written the whole micro-batch at once: Delta knows
            # that by the name of the whole, and skips none of its slices.
            dates = {
                one["event_date"]
                for one in batch.listed
                if one["table"] == contract.name
            }
            rows = _filter_missing(rows, self._read_dates(session, contract, dates))
        (
            rows.writeTo(table)
            .option("txnAppId", transaction.app_id(contract, "append"))
            .option("txnVersion", str(transaction.batch_id))
            .append()
        )

    def _read_dates(
        self, session: SparkSession, contract: TableContract, dates: Iterable[date]
    ) -> DataFrame:
        """Return what names rows of some dates, at a version of its own.

        An append that reads the newest one fails where others write to it meanwhile.
        """
        table = self._names[contract.name]
        rows = read_at(session, table, read_version(session, table))
        # A topic that is made anew has all coordinates once more, and a broken record
        # has no push_id.
        key = [
            *contract.merge_key,
            *({_PUSH_ID, "kafka_timestamp"} & {*contract.column_names}),
        ]
        return rows.where(F.col(contract.partition_by[0]).isin(*dates)).select(*key)

    def discard(self, batch: BatchFiles, contract: TableContract) -> None:
        """Do nothing: no worker has stored a file."""

    def open_state(
        self,
        spark: SparkSession,
        contract: TableContract,
        transaction: Transaction,
        observed: Observed,
    ) -> StateTable:
        """Open a state table, which Spark reads and changes."""
        table = self._names[contract.name]
        return StateTable(spark, contract, table, transaction, observed)

    def read_version(self, spark: SparkSession, contract: TableContract) -> int:
        """Return the number of a table's newest version."""
        return read_version(spark, self._names[contract.name])


def _read_rows(files: DataFrame, schema: StructType, date_column: str) -> DataFrame:
    """Read the rows of files of one table, as the table has them."""
    arrow = arrow_schema(schema)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for day, content in zip(*batch.columns, strict=True):
                yield from iter_rows(content.as_py(), day, arrow, date_column)

    return files.select("event_date", "content").mapInArrow(read, schema)


def _filter_missing(rows: DataFrame, known: DataFrame) -> DataFrame:
    """Keep the rows that are not known yet, by all columns of those."""
    there = known.toDF(*(f"known_{name}" for name in known.columns))
    same = [F.col(name).eqNullSafe(F.col(f"known_{name}")) for name in known.columns]
    return rows.join(there, same, "left_anti")


class BegunBatches:
    """The micro-batches that a run has begun, of which any may be there already."""

    def __init__(self) -> None:
        """Know none yet: the first one may be of an earlier run."""
        self._first: tuple[str, int] | None = None
        self._newest: dict[str, int] = {}

    def note(
        self, contract: TableContract, step: str, transaction: Transaction
    ) -> bool:
        """Note a step of a micro-batch; say whether nobody has begun it before."""
        batch = transaction.query_id, transaction.batch_id
        if self._first is None:
            self._first = batch
        known = transaction.known_app_ids(contract, step)
        is_begun = any(
            self._newest.get(one, -1) >= transaction.batch_id for one in known
        )
        self._newest[transaction.app_id(contract, step)] = transaction.batch_id
        return batch != self._first and not is_begun


class MergedReplacement:
    """Rows of single pushes, replaced by one MERGE.

    It reads the partitions that hold old rows of the pushes and fails where anything
    was added to those meanwhile: open-source Delta is Serializable.
    """

    def __init__(
        self, spark: SparkSession, contract: TableContract, table: str
    ) -> None:
        """Take the newest version of a table.

        Args:
            contract: What the table promises; it is partitioned by event_date.
            table: SQL identifier of the table.
        """
        self._spark, self._contract, self._table = spark, contract, table
        self._version = read_version(spark, table)

    def read(self) -> DataFrame:
        """Return the table at this version; a place is a partition."""
        rows = read_at(self._spark, self._table, self._version)
        return rows.withColumn(PLACE, F.col(_EVENT_DATE).cast("string"))

    def commit(
        self,
        pushes: DataFrame,
        places: Sequence[str],
        rows: DataFrame,
        *,
        row_count: int,
    ) -> None:
        """Replace all rows of the pushes.

        Args:
            pushes: topic, partition, offset and push_id, once each; thousands.
            places: All PLACE values of rows of the pushes.
            rows: New rows of these pushes; columns that they lack become null.
            row_count: Number of new rows; decides the number of files.

        Raises:
            Exception: one of retry.CONFLICTS; the table is unchanged then.
        """
        names = [n for n in self._spark.table(self._table).columns if n in rows.columns]
        fresh = rows.select(*names).coalesce(1 + row_count // ROWS_PER_FILE)
        if not places:
            fresh.writeTo(self._table).append()
            return
        # A push that goes meets all of its rows; a row that comes meets none.
        gone = pushes.select(*PUSH).withColumn(IS_DELETED, F.lit(True))
        come = fresh.withColumn(IS_DELETED, F.lit(False))
        source = come.unionByName(gone, allowMissingColumns=True)
        dates = ", ".join(f"DATE'{place}'" for place in sorted(places))
        condition = " AND ".join(
            [
                f"source.{IS_DELETED}",
                f"target.{_EVENT_DATE} IN ({dates})",
                *(f"target.`{name}` = source.`{name}`" for name in PUSH),
            ]
        )
        (
            DeltaTable.forName(self._spark, self._table)
            .alias("target")
            .merge(source.alias("source"), condition)
            .whenMatchedDelete()
            .whenNotMatchedInsert(
                condition=f"NOT source.{IS_DELETED}",
                values={f"`{name}`": f"source.`{name}`" for name in names},
            )
            .execute()
        )
