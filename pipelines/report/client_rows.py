"""Clients: instances from all that tells of them, and the logical clients they make up.

A logical client is a principal, client id and client type, here in a cluster. Its type
is what its configuration says, else its telemetry. One of which only the proxy knows
has no instance.
"""

from collections.abc import Collection

import pyarrow as pa
from pyspark.sql import DataFrame

from pipelines.errors import UnknownClient
from pipelines.reading.chosen import explain_unknown
from pipelines.reading.views import CLIENTS as CLIENTS_VIEW
from pipelines.reading.views.quota_use_view import CLIENT_QUOTA_USE
from pipelines.tables.configs import CLIENT_CONFIGS
from pipelines.tables.telemetry import CLIENT_INSTANCES
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS

from .asked import USER, Asked
from .finding_rows import FINDINGS, OPEN_FINDINGS
from .fleet import CLIENTS, EXPIRED, LIVE, NO_TELEMETRY, SILENT, TERMINATED

INSTANCES = "report_instances"
"""A client instance; null client_instance_id: a client that only the proxy knows."""
CLIENT_ROWS = "report_clients"
WHO = ("cluster_id", "principal", "client_id", "client_type")
_TELEMETRY = CLIENT_INSTANCES.name
_CONFIGS = CLIENT_CONFIGS.name
_WIRE = CLIENT_WIRE_CONFIGS.name
_COLUMNS = (
    *WHO,
    "client_instance_id",
    "client_software_name AS software",
    "client_software_version AS version",
    "client_source_address AS address",
)

_NO_TEXT = "CAST(NULL AS STRING)"

_OF_TELEMETRY_SQL = """
SELECT c.cluster_id, c.principal, c.client_id, {client_type} AS client_type,
  c.client_instance_id, c.client_software_name AS software,
  c.client_software_version AS version, c.client_source_address AS address,
  c.group_id, c.state, c.first_seen, coalesce(c.last_push, c.first_seen) AS last_seen,
  c.terminated_at, c.push_interval_ms, {logical_client} AS logical_client
FROM {clients} AS c {configs}
"""
_OF_CONFIGS_SQL = f"""
SELECT {", ".join(f"p.{one}" for one in _COLUMNS)}, {_NO_TEXT} AS group_id,
  '{NO_TELEMETRY}' AS state, p.received_at AS first_seen, p.received_at AS last_seen,
  NULL AS terminated_at, NULL AS push_interval_ms, p.logical_client
FROM {_CONFIGS} AS p {{other}}
"""  # noqa: S608 - names of our own contracts
_OF_WIRE_SQL = f"""
SELECT {", ".join(WHO)}, {_NO_TEXT} AS client_instance_id,
  max_by(client_software_name, received_at) AS software,
  max_by(client_software_version, received_at) AS version,
  max_by(client_source_address, received_at) AS address, {_NO_TEXT} AS group_id,
  '{NO_TELEMETRY}' AS state, min(received_at) AS first_seen,
  max(received_at) AS last_seen, NULL AS terminated_at, NULL AS push_interval_ms,
  logical_client
FROM {_WIRE} GROUP BY {", ".join(WHO)}, logical_client
"""  # noqa: S608 - the same
# What the proxy alone has seen of a client that tells of itself is the same client.
_GROUPED_SQL = f"""
SELECT {", ".join(WHO)},
  max_by(software, first_seen) AS software, max_by(version, first_seen) AS version,
  max_by(version, first_seen) FILTER (WHERE first_seen < {{since}}) AS former_version,
  count(DISTINCT version) AS versions,
  CASE WHEN count_if(state = '{LIVE}') > 0 THEN '{LIVE}'
    WHEN count_if(state = '{SILENT}') > 0 THEN '{SILENT}'
    WHEN count_if(state = '{TERMINATED}') > 0 THEN '{TERMINATED}'
    WHEN count_if(state = '{EXPIRED}') > 0 THEN '{EXPIRED}'
    ELSE '{NO_TELEMETRY}' END AS state,
  count(client_instance_id) AS instances, count_if(state = '{LIVE}') AS live,
  min(first_seen) AS first_seen, max(last_seen) AS last_seen,
  max(group_id) AS group_id, max(logical_client) AS logical_client
FROM {INSTANCES} GROUP BY {", ".join(WHO)}
"""  # noqa: S608 - the same
_NO_FINDINGS_SQL = """
SELECT '' AS cluster_id, '' AS principal, '' AS client_id, '' AS client_type,
  0 AS errors, 0 AS warnings, 0 AS advice WHERE false
"""
_FINDINGS_SQL = f"""
SELECT {", ".join(WHO)}, count_if(severity = 'error') AS errors,
  count_if(severity = 'warning') AS warnings, count_if(severity = 'advice') AS advice
FROM {OPEN_FINDINGS} GROUP BY {", ".join(WHO)}
"""  # noqa: S608 - the same
_NO_QUOTAS_SQL = """
SELECT '' AS cluster_id, '' AS principal, '' AS client_id, 0D AS producer_use,
  0D AS consumer_use, 0D AS throttled_ms WHERE false
"""
_QUOTAS_SQL = """
SELECT cluster_id, principal, client_id,
  max(`use`) FILTER (WHERE quota_key = 'producer_byte_rate') AS producer_use,
  max(`use`) FILTER (WHERE quota_key = 'consumer_byte_rate') AS consumer_use,
  max(throttled_ms) AS throttled_ms
FROM client_quota_use GROUP BY cluster_id, principal, client_id
"""
_CLIENTS_SQL = """
SELECT c.*, coalesce(f.errors, 0) AS errors, coalesce(f.warnings, 0) AS warnings,
  coalesce(f.advice, 0) AS advice, CASE c.client_type
    WHEN 'producer' THEN q.producer_use
    WHEN 'consumer' THEN q.consumer_use
    WHEN 'share_consumer' THEN q.consumer_use
    ELSE greatest(q.producer_use, q.consumer_use)
  END AS `use`, q.throttled_ms
FROM ({grouped}) AS c
LEFT JOIN ({findings}) AS f ON c.principal <=> f.principal
  AND c.client_id <=> f.client_id AND c.client_type <=> f.client_type
  AND coalesce(c.cluster_id = f.cluster_id, true)
LEFT JOIN ({quotas}) AS q ON c.principal = q.principal
  AND coalesce(c.client_id, '') = q.client_id
  AND coalesce(c.cluster_id = q.cluster_id, true)
"""
_ORDER = """errors DESC, warnings DESC, advice DESC,
  coalesce(throttled_ms, 0) > 0 DESC, `use` DESC NULLS LAST, live DESC,
  principal, client_id, client_type, cluster_id"""


def has_clients(names: Collection[str]) -> bool:
    """Whether any of the tables that tell of clients is there."""
    return bool({CLIENTS_VIEW, _CONFIGS, _WIRE} & {*names})


def register_instances(asked: Asked) -> None:
    """Register the view of instances, and keep its rows.

    It is asked of many times, and a look at the pushes each time would be most of it.

    Raises: UnknownClient for a principal that no client has.
    """
    parts = []
    has_configs = _CONFIGS in asked.names
    if CLIENTS_VIEW in asked.names:
        join = (
            f"LEFT JOIN {_CONFIGS} AS p ON c.client_instance_id = p.client_instance_id"
        )
        own = "coalesce(p.client_type, c.client_type)"
        parts.append(
            _OF_TELEMETRY_SQL.format(
                clients=CLIENTS_VIEW,
                configs=join if has_configs else "",
                client_type=own if has_configs else "c.client_type",
                logical_client="p.logical_client" if has_configs else _NO_TEXT,
            )
        )
    if has_configs:
        is_told = _TELEMETRY in asked.names
        other = (
            f"LEFT ANTI JOIN {_TELEMETRY} AS i "
            "ON p.client_instance_id = i.client_instance_id"
        )
        parts.append(_OF_CONFIGS_SQL.format(other=other if is_told else ""))
    if _WIRE in asked.names:
        parts.append(_OF_WIRE_SQL)
    every = asked.spark.sql(" UNION ALL ".join(parts)).localCheckpoint()
    _check_principals(asked, every)
    every.where(asked.of_principals()).createOrReplaceTempView(INSTANCES)


def _check_principals(asked: Asked, instances: DataFrame) -> None:
    """Refuse a principal that no client has. Raises: UnknownClient."""
    if not asked.principals:
        return
    rows = instances.select("principal").distinct().collect()
    known = [row[0] for row in rows if row[0] is not None]
    for one in asked.principals:
        if not {one, USER + one} & {*known}:
            raise UnknownClient(explain_unknown("principal", one, known))


def register_clients(asked: Asked) -> DataFrame:
    """Register the view of logical clients; keep and return its rows, in order."""
    has_findings = FINDINGS in asked.names
    query = _CLIENTS_SQL.format(
        grouped=_GROUPED_SQL.format(since=asked.since_sql),
        findings=_FINDINGS_SQL if has_findings else _NO_FINDINGS_SQL,
        quotas=_QUOTAS_SQL if CLIENT_QUOTA_USE in asked.names else _NO_QUOTAS_SQL,
    )
    rows = asked.spark.sql(
        f"SELECT * FROM ({query}) ORDER BY {_ORDER}"  # noqa: S608 - the same
    ).localCheckpoint()
    rows.createOrReplaceTempView(CLIENT_ROWS)
    return rows


def read_clients(rows: DataFrame) -> tuple[pa.Table, list[str | None]]:
    """Return fleet.CLIENTS, and the logical client of each row where it is known."""
    columns = [
        f"unix_millis({one.name}) AS {one.name}"
        if one.name.endswith("_seen")
        else one.name
        for one in CLIENTS
    ]
    found = rows.selectExpr(*columns, "logical_client").toArrow()
    logical = found.column("logical_client").to_pylist()
    return found.select(CLIENTS.names).cast(CLIENTS), logical
