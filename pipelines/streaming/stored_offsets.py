"""What the tables of a job say of how far a topic was read.

A topic that was made anew begins again with offset 0. Rows of quarantine mark how far
its forerunners came: only an offset beyond the mark is surely of the present one.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables.locations import identify_table
from pipelines.delta_tables.setup import alter_table
from pipelines.settings.records import TableSettings
from pipelines.tables.contract import TableContract, set_statement
from pipelines.tables.telemetry import QUARANTINE

from .offsets import Offsets, select_newest_offsets
from .start_records import Ledger
from .topic_losses import REASONS, TOPIC_MADE_ANEW, merge_newest

_TOPIC_ID_PROPERTY = "kafka_clientele.topic_id."
"""Beginning of the table property with the ID of a topic; the topic's name follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredOffsets:
    """The newest offsets of a topic in the tables of a job."""

    ledger: Offsets
    before: Mapping[str, Offsets]
    """Of the tables that are written before it, by name."""
    marks: Offsets
    """Partition to the newest offset that former topics of the name have left."""
    topic_id: str | None = None
    """ID of the topic that the ledger's newest records came from; null: not known."""

    @property
    def newest(self) -> dict[int, int]:
        """Return the newest offset of each partition in any table."""
        return merge_newest(self.ledger, *self.before.values())

    @property
    def next_offsets(self) -> dict[int, int]:
        """Return the first offset that the ledger lacks, of this topic alone."""
        return {p: o + 1 for p, o in _above(self.ledger, self.marks).items()}

    @property
    def floors(self) -> dict[str, Offsets]:
        """Return the floors, of this topic alone."""
        return {name: _above(o, self.marks) for name, o in self.before.items()}


def read_stored_offsets(
    spark: SparkSession, tables: TableSettings, ledger: Ledger, topic: str
) -> StoredOffsets:
    """Ask the tables of a job for the newest offsets of a topic."""
    newest = {
        contract.name: _read_newest_offsets(spark, tables, contract, topic)
        for contract in (ledger.contract, *ledger.written_before)
    }
    quarantine = spark.table(identify_table(spark, tables, QUARANTINE))
    marks = quarantine.where(
        (F.col("reason") == TOPIC_MADE_ANEW) & (F.col("source_job") == ledger.job_name)
    )
    return StoredOffsets(
        ledger=newest.pop(ledger.contract.name),
        before=newest,
        marks=_collect_newest(marks, topic),
        topic_id=_read_topic_id(spark, tables, ledger, topic),
    )


def keep_topic_id(
    spark: SparkSession,
    tables: TableSettings,
    ledger: Ledger,
    topic: str,
    topic_id: str | None,
) -> None:
    """Store the ID of a topic as a property of the ledger table.

    A new checkpoint location then detects a recreated topic, even if its offsets have
    passed the offsets in the tables. Offsets alone cannot show that.

    Args:
        topic_id: ID to store; null: the broker does not report it, the property stays.
    """
    known = _read_topic_id(spark, tables, ledger, topic)
    if topic_id is None or topic_id == known:
        return
    table = identify_table(spark, tables, ledger.contract)
    statement = set_statement({f"{_TOPIC_ID_PROPERTY}{topic}": topic_id}, table)
    alter_table(table, lambda: spark.sql(statement))


def _read_topic_id(
    spark: SparkSession, tables: TableSettings, ledger: Ledger, topic: str
) -> str | None:
    table = identify_table(spark, tables, ledger.contract)
    rows = spark.sql(f"SHOW TBLPROPERTIES {table}").collect()
    properties = {row["key"]: row["value"] for row in rows}
    return properties.get(f"{_TOPIC_ID_PROPERTY}{topic}")


def _read_newest_offsets(
    spark: SparkSession, tables: TableSettings, contract: TableContract, topic: str
) -> dict[int, int]:
    records = spark.table(identify_table(spark, tables, contract))
    if contract is QUARANTINE:
        # Rows that stand for records which were never read.
        records = records.where(~F.col("reason").isin(*REASONS))
    return _collect_newest(records, topic)


def _collect_newest(records: DataFrame, topic: str) -> dict[int, int]:
    rows = records.transform(select_newest_offsets, topic).collect()
    return {row["partition"]: row["offset"] for row in rows}


def _above(offsets: Offsets, marks: Offsets) -> dict[int, int]:
    return {p: o for p, o in offsets.items() if o > marks.get(p, -1)}
