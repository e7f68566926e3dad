"""Registers tables, views and functions in a reader's session.

The names are temporary views of one session: reading takes no lock that a job or
another reader could wait for.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pipelines.delta_tables.locations import has_table, identify_table
from pipelines.reading.client_states import NOW, select_nothing, time_sql
from pipelines.settings.records import Settings
from pipelines.tables.columns import Column
from pipelines.tables.contract import TableContract
from pipelines.tables.registry import ALL_CONTRACTS

from .registry import VIEWS, VIEWS_AND_FUNCTIONS
from .view import Sources, View
from .view_names import with_parts


def register(
    spark: SparkSession,
    settings: Settings,
    names: Collection[str] | None = None,
    *,
    is_snapshot: bool = False,
    now: datetime | None = None,
) -> list[str]:
    """Register what exists; return the tables and documented views, sorted.

    Args:
        names: Tables, views and functions that are wanted; what they are made of is
            registered as well. None: all.
        is_snapshot: Whether each query reads the tables as they are now. Spark analyzes
            each view only once then. A table that does not exist is empty.
        now: Time of the states; knows its zone. None: the time of each query.
    """
    wanted = None if names is None else with_parts(names)
    registered = set()
    for name, query in _list_tables(spark, settings, wanted, is_snapshot=is_snapshot):
        _create(spark, name, query, is_snapshot=is_snapshot)
        registered.add(name)
    for one in VIEWS_AND_FUNCTIONS:
        if wanted is not None and one.name not in wanted:
            continue
        if not registered.issuperset(one.needs):
            continue
        sources = Sources(
            spark=spark,
            settings=settings,
            registered=registered,
            now=NOW if now is None else time_sql(now),
        )
        if isinstance(one, View):
            made = one.sql if isinstance(one.sql, str) else one.sql(sources)
            if made is not None:
                _create(spark, one.name, made, is_snapshot=is_snapshot)
                registered.add(one.name)
        else:
            one.register(sources)
            registered.add(one.name)
    shown = {one.name for one in VIEWS if one.row} | {c.name for c in ALL_CONTRACTS}
    return sorted(registered & shown)


def register_row(spark: SparkSession, name: str, row: Mapping[str, Any]) -> None:
    """Let the name of a table be one row, instead of the rows of the table.

    Args:
        row: Values of columns; null for the others.
    """
    table = spark.table(name)
    values = [tuple(row.get(column) for column in table.columns)]
    spark.createDataFrame(values, table.schema).createOrReplaceTempView(name)


def _create(
    spark: SparkSession, name: str, made: str | DataFrame, *, is_snapshot: bool
) -> None:
    """Create a temporary view of a query or of rows."""
    if isinstance(made, DataFrame):
        made.createOrReplaceTempView(name)
    elif is_snapshot:
        spark.sql(made).createOrReplaceTempView(name)
    else:
        # As SQL text: looked up at each use, so that readers see new rows.
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {made}")


def _list_tables(
    spark: SparkSession,
    settings: Settings,
    names: Collection[str] | None,
    *,
    is_snapshot: bool,
) -> Iterator[tuple[str, str]]:
    """Return each table among the names with its query, as register takes them."""
    for contract in ALL_CONTRACTS:
        if names is not None and contract.name not in names:
            continue
        table = identify_table(spark, settings.tables, contract)
        if has_table(spark, table):
            yield contract.name, _select_rows(spark, contract, table)
        elif is_snapshot:
            yield contract.name, select_nothing(contract)


def _select_rows(spark: SparkSession, contract: TableContract, table: str) -> str:
    """Return the SQL of a table's rows.

    What a table of an older contract lacks is null, until a job has widened it.
    """
    missing: list[Column] = []
    if contract.contract_version > 1:
        there = spark.table(table).columns
        missing = [one for one in contract.columns if one.name not in there]
    query = f"SELECT * FROM {table}"
    if missing:
        nulls = ", ".join(f"CAST(NULL AS {c.sql_type}) AS {c.name}" for c in missing)
        # Listed, so that the view also fits when a job widens the table.
        told = ", ".join(f"`{name}`" for name in there)
        query = f"SELECT {told}, {nulls} FROM {table}"
    return query
