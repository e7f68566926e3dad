"""Tables as they are found: what they state, and refusals of what nothing mends."""

from pyspark.sql import SparkSession

from pipelines.errors import IncompatibleTable
from pipelines.tables.changes import FoundColumn, FoundTable, find_fault
from pipelines.tables.contract import TableContract

_PARTITIONS = "# Partition Information"


def read_found_table(
    spark: SparkSession, table: str, *, with_comment: bool = False
) -> FoundTable:
    """Return what a table says of itself.

    Args:
        table: Its SQL identifier.
        with_comment: Whether to ask for its comment as well, for which Delta counts all
            files of the table.
    """
    rows = spark.sql(f"SHOW TBLPROPERTIES {table}").collect()
    comment = None
    if with_comment:
        (detail,) = spark.sql(f"DESCRIBE DETAIL {table}").collect()
        comment = detail["description"] or ""
    return FoundTable(
        identifier=table,
        properties={row["key"]: row["value"] for row in rows},
        columns={
            field.name: FoundColumn(
                sql_type=field.dataType.simpleString(),
                is_nullable=field.nullable,
                comment=field.metadata.get("comment", ""),
            )
            for field in spark.table(table).schema.fields
        },
        partition_by=_read_partitions(spark, table),
        comment=comment,
    )


def refuse_fault(contract: TableContract, found: FoundTable) -> None:
    """Refuse a table that no column more makes one of the contract.

    Raises: IncompatibleTable.
    """
    fault = find_fault(contract, found)
    if fault is not None:
        raise IncompatibleTable(fault)


def _read_partitions(spark: SparkSession, table: str) -> tuple[str, ...]:
    # Not DESCRIBE DETAIL, which counts the files of the table.
    rows = spark.sql(f"DESCRIBE TABLE {table}").collect()
    described = [row["col_name"] for row in rows]
    if _PARTITIONS not in described:
        return ()
    # A line of headings stands between.
    return tuple(described[described.index(_PARTITIONS) + 2 :])
