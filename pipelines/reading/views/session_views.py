"""What readers see: each table under its name, and the views beside them.

`clients` says how each client instance is, `newest_values` what it reported last,
`client_metrics_labelled` by which connection. Those of client configurations are in
client_config_views.

The names are temporary views of one session: reading takes no lock that a job or
another reader could wait for.
"""

from collections.abc import Collection

from pyspark.sql import SparkSession

from pipelines.delta_tables.locations import has_table, identify_table
from pipelines.settings.records import Settings
from pipelines.tables.cluster import CLIENT_QUOTAS
from pipelines.tables.columns import Column
from pipelines.tables.contract import TableContract
from pipelines.tables.registry import ALL_CONTRACTS
from pipelines.tables.telemetry import (
    CLIENT_INSTANCES,
    CLIENT_METRICS,
    CLIENT_PUSHES,
    SILENT_AFTER_INTERVALS,
)

from .broker_views import register_brokers
from .client_config_functions import CONFIG_FUNCTIONS
from .client_config_views import register_client_configs
from .client_software_views import register_client_software
from .clients_view import CLIENTS, clients_query
from .coverage_view import register_coverage
from .finding_views import register_findings
from .kernel_functions import register_kernels
from .labelled_view import LABELLED, LABELLED_SQL
from .newest_values_view import NEWEST_VALUES, newest_values_query
from .node_columns import NODE_COLUMNS
from .quota_functions import QUOTA_OF, register_quota_of
from .quota_use_view import register_quota_use
from .view_names import CONFIG_VIEWS, COVERAGE


def register(
    spark: SparkSession,
    settings: Settings,
    names: Collection[str] | None = None,
    *,
    is_complete: bool = False,
) -> list[str]:
    """Register what exists; return the names, in order.

    Args:
        names: Tables that are wanted, and with them the views that they make up, as
            view_names finds them; None: all.
        is_complete: Whether a table that is not there yet is registered as an empty
            one.
    """
    registered = _register_tables(spark, settings, names, is_complete=is_complete)
    if {CLIENT_INSTANCES.name, CLIENT_PUSHES.name} <= set(registered):
        query = clients_query(CLIENT_INSTANCES.name, CLIENT_PUSHES.name)
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {CLIENTS} AS {query}")
        registered.append(CLIENTS)
    if CLIENT_METRICS.name in registered:
        query = newest_values_query(CLIENT_METRICS.name)
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {NEWEST_VALUES} AS {query}")
        registered.append(NEWEST_VALUES)
    registered += register_brokers(spark, registered)
    registered += register_findings(spark, registered)
    registered += register_quota_use(spark, registered)
    registered += register_client_software(spark, registered, names)
    if CLIENT_QUOTAS.name in registered and (names is None or QUOTA_OF in names):
        register_quota_of(spark)
    register_kernels(spark, settings, registered, names)
    if (names is None or LABELLED in names) and {
        *(CLIENT_METRICS.name, CLIENT_PUSHES.name)
    } <= set(registered):
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {LABELLED} AS {LABELLED_SQL}")
        registered.append(LABELLED)
    if names is None or COVERAGE in names:
        registered += register_coverage(spark, settings, registered, clients=CLIENTS)
    if names is None or not CONFIG_VIEWS.isdisjoint(names):
        registered += register_client_configs(
            spark,
            settings,
            registered,
            clients=CLIENTS,
            silent_after=SILENT_AFTER_INTERVALS,
            with_functions=names is None or not {*CONFIG_FUNCTIONS}.isdisjoint(names),
        )
    return sorted(registered)


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
            query = _select_nothing(contract)
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
    query = f"SELECT * FROM {table}"  # noqa: S608 - an identifier of ours
    if missing:
        nulls = ", ".join(f"CAST(NULL AS {c.sql_type}) AS {c.name}" for c in missing)
        # Listed, so that the view also fits when a job widens the table.
        told = ", ".join(f"`{name}`" for name in there)
        query = f"SELECT {told}, {nulls} FROM {table}"  # noqa: S608 - the same
    if contract is not CLIENT_METRICS:
        return query
    listed = ", ".join(
        f"{NODE_COLUMNS[name]} AS {name}" if name in NODE_COLUMNS else f"`{name}`"
        for name in (*there, *(one.name for one in missing))
    )
    return f"SELECT {listed} FROM ({query})"  # noqa: S608 - the same


def _select_nothing(contract: TableContract) -> str:
    """Return the SQL of no row of a table that is not there."""
    nulls = ", ".join(
        f"CAST(NULL AS {one.sql_type}) AS `{one.name}`" for one in contract.columns
    )
    return f"SELECT {nulls} WHERE false"
