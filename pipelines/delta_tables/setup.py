"""Brings tables to the contracts of this program, or refuses them by name."""

from collections.abc import Sequence
from functools import partial

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from pipelines.errors import IncompatibleTable, MissingTable
from pipelines.settings.records import TableSettings
from pipelines.tables.columns import Column
from pipelines.tables.contract import (
    CONTRACT_VERSION_PROPERTY,
    TableContract,
    add_columns_statement,
    create_statement,
    set_properties_statement,
)

from .damaged_logs import LOG_FOLDER
from .locations import (
    has_table,
    identify_schema,
    identify_table,
    locate_path_table,
    open_path,
)
from .retry import repeat_on_conflict

ATTEMPTS = 4
"""Of two programs that create or alter a table at once, Delta fails one; it looks
again at what the other made. Each attempt begins with that look."""
_PARTITIONS = "# Partition Information"
_CONFLICTS = (PySparkException, Py4JError)


def ensure_tables(
    spark: SparkSession, tables: TableSettings, contracts: Sequence[TableContract]
) -> None:
    """Create missing tables and add the columns that older ones lack.

    Raises: IncompatibleTable where a table is of a newer contract or of another
        program, MissingTable where only files of one are left; nothing has been written
        to that table then.
    """
    for contract in contracts:
        table = identify_table(spark, tables, contract)
        catalog_schema = identify_schema(tables) if tables.catalog_schema else None
        if catalog_schema is None:
            _refuse_remains(spark, contract, locate_path_table(spark, tables, contract))
        repeat_on_conflict(
            partial(_bring_up_to_date, spark, contract, table, catalog_schema),
            what=f"table {table}",
            attempts=ATTEMPTS,
            is_expected=lambda error: isinstance(error, _CONFLICTS),
        )


def _bring_up_to_date(
    spark: SparkSession,
    contract: TableContract,
    table: str,
    catalog_schema: str | None,
) -> None:
    if not has_table(spark, table):
        if catalog_schema is not None:
            spark.sql(f"CREATE SCHEMA IF NOT EXISTS {catalog_schema}")
        # It fails where another program was first: the next attempt looks at that one.
        spark.sql(create_statement(contract, table))
        return
    version = _read_contract_version(spark, contract, table)
    schema = spark.table(table).schema
    _check_columns(contract, table, schema)
    missing = [c for c in contract.columns if c.name not in schema.names]
    is_older = version < contract.contract_version
    if missing and not is_older:
        raise IncompatibleTable(
            f"table {table}: contract version {version} has a column "
            f"{missing[0].name}, and the table has none; it was changed by hand or by "
            f"another program"
        )
    if missing:
        spark.sql(add_columns_statement(missing, table))
    if is_older:
        spark.sql(set_properties_statement(contract, table))
    _check_partitions(spark, contract, table)


def _refuse_remains(
    spark: SparkSession, contract: TableContract, location: str
) -> None:
    """Refuse a folder that holds files and is no table: nothing tells what they are."""
    file_system, log = open_path(spark, f"{location}/{LOG_FOLDER}")
    folder = log.getParent()
    # In this order: who makes the table meanwhile makes its log before its files.
    has_files = file_system.exists(folder) and len(file_system.listStatus(folder)) > 0
    if has_files and not file_system.exists(log):
        raise MissingTable(
            f"table {contract.name}: {location} holds files and no {LOG_FOLDER}, as "
            f"when a table is deleted below a running job; move it away, and the same "
            f"command makes the table anew, empty"
        )


def _read_contract_version(
    spark: SparkSession, contract: TableContract, table: str
) -> int:
    rows = spark.sql(f"SHOW TBLPROPERTIES {table}").collect()
    stated = {row["key"]: row["value"] for row in rows}.get(CONTRACT_VERSION_PROPERTY)
    if stated is None or not stated.isdecimal():
        raise IncompatibleTable(
            f"table {table}: it has no {CONTRACT_VERSION_PROPERTY}, so another program "
            f"wrote it; choose another place for {contract.name}"
        )
    version = int(stated)
    if version > contract.contract_version:
        raise IncompatibleTable(
            f"table {table}: its contract version {version} is newer than "
            f"{contract.contract_version}, the newest that this program knows"
        )
    return version


def _check_columns(contract: TableContract, table: str, schema: StructType) -> None:
    fields = {field.name: field for field in schema.fields}
    for column in contract.columns:
        found = fields.pop(column.name, None)
        if found is not None and not _has_type(found, column):
            raise IncompatibleTable(
                f"table {table}: column {column.name} is "
                f"{found.dataType.simpleString()}, and the contract says "
                f"{column.sql_type}"
            )
    for field in fields.values():
        if not field.nullable:
            raise IncompatibleTable(
                f"table {table}: column {field.name} must not be null, and the "
                f"contract does not know it"
            )


def _has_type(field: StructField, column: Column) -> bool:
    stated = column.sql_type.replace(" ", "").lower()
    return field.dataType.simpleString().lower() == stated


def _check_partitions(spark: SparkSession, contract: TableContract, table: str) -> None:
    # Not DESCRIBE DETAIL, which counts the files of the table.
    rows = spark.sql(f"DESCRIBE TABLE {table}").collect()
    described = [row["col_name"] for row in rows]
    found: tuple[str, ...] = ()
    if _PARTITIONS in described:
        # A line of headings stands between.
        found = tuple(described[described.index(_PARTITIONS) + 2 :])
    if found != contract.partition_by:
        raise IncompatibleTable(
            f"table {table}: it is partitioned by ({', '.join(found)}), and the "
            f"contract says ({', '.join(contract.partition_by)})"
        )
