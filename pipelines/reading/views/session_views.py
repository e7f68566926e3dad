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
from .coverage_view import register_coverage
from .finding_views import register_findings
from .kernel_functions import register_kernels
from .metric_faults import METRICS_FAULT, metrics_fault_sql
from .node_columns import NODE_COLUMNS
from .quota_functions import QUOTA_OF, register_quota_of
from .view_names import CLIENTS, CONFIG_VIEWS, COVERAGE, LABELLED, NEWEST_VALUES

# State is worked out when somebody asks: no write per push, and silence needs none.
_CLIENTS_SQL = f"""
SELECT
  instances.* EXCEPT (broker_id),
  {{fault}} AS {METRICS_FAULT},
  seen.last_push,
  coalesce(seen.pushes, 0) AS pushes,
  coalesce(seen.points, 0) AS points,
  seen.newest.client_source_port,
  seen.newest.bridge_id,
  seen.newest.broker_id,
  CASE
    WHEN instances.terminated_at IS NOT NULL THEN 'terminated'
    WHEN timestampadd(
      MILLISECOND,
      {SILENT_AFTER_INTERVALS} * bigint(instances.push_interval_ms),
      coalesce(seen.last_push, instances.first_seen)
    ) < current_timestamp() THEN 'silent'
    ELSE 'live'
  END AS state
FROM {{instances}} AS instances
LEFT JOIN (
  SELECT
    client_instance_id,
    max(received_at) AS last_push,
    count(*) AS pushes,
    sum(point_count) AS points,
    max_by(
      named_struct(
        'client_source_port', client_source_port, 'bridge_id', bridge_id,
        'broker_id', broker_id
      ),
      named_struct('received_at', received_at, 'push_id', push_id)
    ) AS newest
  FROM {{pushes}}
  GROUP BY client_instance_id
) AS seen ON instances.client_instance_id = seen.client_instance_id
"""  # noqa: S608 - names of our own contracts

# As reading.overview.select_newest_values; filters on its columns, but for those of
# the newest point, reach the files.
_NEWEST_VALUES_SQL = f"""
SELECT
  client_instance_id,
  client_id,
  metric,
  newest.value,
  newest.received_at,
  newest.{METRICS_FAULT}
FROM (
  SELECT
    client_instance_id,
    client_id,
    metric,
    max(named_struct(
      'received_at', received_at, 'offset', offset, 'point_index', point_index,
      'value', coalesce(value_double, double(value_long)),
      '{METRICS_FAULT}', {{fault}}
    )) AS newest
  FROM {{metrics}}
  WHERE (value_double IS NOT NULL OR value_long IS NOT NULL)
    AND NOT isnan(coalesce(value_double, double(value_long)))
  GROUP BY client_instance_id, client_id, metric
)
"""  # noqa: S608 - names of our own contracts


# Dates part both tables: a filter on that of a point spares the files of pushes, too.
_LABELLED_SQL = f"""
SELECT m.*, p.client_source_port, p.cluster_id, p.broker_id
FROM {CLIENT_METRICS.name} AS m LEFT JOIN {CLIENT_PUSHES.name} AS p
  ON m.event_date = p.event_date AND m.topic = p.topic AND m.partition = p.partition
  AND m.offset = p.offset AND m.push_id = p.push_id
"""  # noqa: S608 - names of our own contracts


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
        query = _NEWEST_VALUES_SQL.format(
            metrics=CLIENT_METRICS.name, fault=metrics_fault_sql()
        )
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {NEWEST_VALUES} AS {query}")
        registered.append(NEWEST_VALUES)
    registered += register_brokers(spark, registered)
    registered += register_findings(spark, registered)
    registered += register_client_software(spark, registered, names)
    if CLIENT_QUOTAS.name in registered and (names is None or QUOTA_OF in names):
        register_quota_of(spark)
    register_kernels(spark, settings, registered, names)
    if (names is None or LABELLED in names) and {
        *(CLIENT_METRICS.name, CLIENT_PUSHES.name)
    } <= set(registered):
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {LABELLED} AS {_LABELLED_SQL}")
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


def clients_query(instances: str, pushes: str) -> str:
    """Return the SQL of the view `clients`.

    Args:
        instances: SQL identifier of client_instances.
        pushes: SQL identifier of client_pushes.
    """
    return _CLIENTS_SQL.format(
        instances=instances, pushes=pushes, fault=metrics_fault_sql()
    )
