"""Registers tables, views and functions in a reader's session.

The names are temporary views of one session: reading takes no lock that a job or
another reader could wait for.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from pyspark.sql import SparkSession

from pipelines.delta_tables.locations import has_table, identify_table
from pipelines.reading.client_states import NOW, select_nothing, time_sql
from pipelines.settings.records import Settings
from pipelines.tables.columns import Column
from pipelines.tables.contract import TableContract
from pipelines.tables.registry import ALL_CONTRACTS
from pipelines.tables.telemetry import CLIENT_METRICS

from .node_columns import NODE_COLUMNS
from .registry import VIEWS, VIEWS_AND_FUNCTIONS
from .view import Sources, View
from .view_names import with_parts


def register(
    spark: SparkSession,
    settings: Settings,
    names: Collection[str] | None = None,
    *,
    is_complete: bool = False,
    now: datetime | None = None,
) -> list[str]:
    """Register what exists; return the tables and documented views, sorted.

    Args:
        names: Tables, views and functions that are wanted; what they are made of is
            registered as well. None: all.
        is_complete: Whether a table that does not exist is registered as an empty one.
        now: Time of the states; knows its zone. None: the time of each query.
    """
    wanted = None if names is None else with_parts(names)
    registered = {*_register_tables(spark, settings, wanted, is_complete=is_complete)}
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
            if _create(one, sources):
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


def _create(view: View, sources: Sources) -> bool:
    """Create a view; return whether there is one."""
    made = view.sql if isinstance(view.sql, str) else view.sql(sources)
    if made is None:
        return False
    if isinstance(made, str):
        sources.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {view.name} AS {made}")
    else:
        made.createOrReplaceTempView(view.name)
    return True


def _register_tables(
    spark: SparkSession,
    settings: Settings,
    names: Collection[str] | None,
    *,
    is_complete: bool,
) -> list[str]:
    """Register the tables among the names, as register takes them."""
    registered = []
    for contract in ALL_CONTRACTS:
        if names is not None and contract.name not in names:
            continue
        table = identify_table(spark, settings.tables, contract)
        if has_table(spark, table):
            # As SQL text: looked up at each use, so that readers see new rows.
            query = _select_rows(spark, contract, table)
        elif is_complete:
            query = select_nothing(contract)
        else:
            continue
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {contract.name} AS {query}")
        registered.append(contract.name)
    return registered


def _select_rows(spark: SparkSession, contract: TableContract, table: str) -> str:
    """Return the SQL of a table's rows.

    What a table of an older contract lacks is null, until a job has widened it. Nodes
    are normalized in rows from before the decoder did so.
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
    if contract is not CLIENT_METRICS:
        return query
    listed = ", ".join(
        f"{NODE_COLUMNS[name]} AS {name}" if name in NODE_COLUMNS else f"`{name}`"
        for name in (*there, *(one.name for one in missing))
    )
    return f"SELECT {listed} FROM ({query})"
