"""Brings tables to the contracts of this program, or refuses them by name."""

from collections.abc import Callable, Sequence
from functools import partial

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipelines.errors import IncompatibleTable, MissingTable
from pipelines.settings.places import PROGRAM
from pipelines.settings.records import TableSettings
from pipelines.tables.changes import list_needed, list_properties
from pipelines.tables.contract import TableContract, create_statement

from .damaged_logs import LOG_FOLDER
from .found_tables import read_found_table, refuse_fault
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
MIGRATION = f"{PROGRAM} migrate_tables"
"""The command that brings tables to this version, asked by nobody but its caller."""
_CONFLICTS = (PySparkException, Py4JError)


def ensure_tables(
    spark: SparkSession, tables: TableSettings, contracts: Sequence[TableContract]
) -> None:
    """Create missing tables and add the columns that older ones lack.

    Raises: IncompatibleTable where a table is of a newer contract or of another
        program, or lacks what its own version has; MissingTable where only files of one
        are left. Nothing has been written to that table then.
    """
    for contract in contracts:
        table = identify_table(spark, tables, contract)
        catalog_schema = identify_schema(tables) if tables.catalog_schema else None
        if catalog_schema is None:
            _refuse_remains(spark, contract, locate_path_table(spark, tables, contract))
        alter_table(
            table, partial(_bring_up_to_date, spark, contract, table, catalog_schema)
        )


def alter_table(table: str, alter: Callable[[], object]) -> None:
    """Alter a table, and look at it again where another program was quicker.

    Args:
        alter: Begins with a look at the table, so that it may be called again.
    """
    repeat_on_conflict(
        alter,
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
    found = read_found_table(spark, table)
    refuse_fault(contract, found)
    needed = list_needed(contract, found)
    is_older = found.is_older(contract)
    if needed and not is_older:
        lacking = "; ".join(text for change in needed for text in change.texts)
        raise IncompatibleTable(
            f"table {table}: it says contract version {found.contract_version}, and "
            f"lacks what this has, since it was changed by hand or by another program; "
            f"`{MIGRATION} --table {contract.name}` would {lacking}, with the --env, "
            f"--config and --set of this job"
        )
    for change in needed:
        spark.sql(change.statement)
    if is_older:
        for change in list_properties(contract, found):
            spark.sql(change.statement)


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
