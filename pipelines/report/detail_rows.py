"""Details of the clients that need somebody most: a question for all of them together.

Rows come by the client's row on the page; what is over a bound is counted.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import Row

from pipelines.reading.views.client_config_views import ENTRIES, TIMELINE
from pipelines.reading.views.effective_configs_view import EFFECTIVE
from pipelines.reading.views.quota_use_view import CLIENT_QUOTA_USE
from pipelines.tables.telemetry import CLIENT_METRICS
from pipelines.tables.traffic import CLIENT_TRAFFIC

from . import finding_rows
from .asked import Asked, write_moment
from .client_rows import INSTANCES, WHO
from .fleet import Detail, Line, Part

CHOSEN, CHOSEN_INSTANCES = "report_chosen", "report_chosen_instances"
_CHOSEN_SCHEMA = (
    "row INT, cluster_id STRING, principal STRING, client_id STRING, "
    "client_type STRING, logical_client STRING"
)
_MOST_INSTANCES, _MOST_CONFIGS, _MOST_CHANGES = 20, 200, 40
_PREFIX = "org.apache.kafka."
_MEANS = {
    "producer.request.latency.avg": "ms",
    "producer.record.queue.time.avg": "ms",
    "producer.batch.size.avg": "bytes",
    "producer.records.per.request.avg": "records",
    "producer.outgoing.byte.rate": "bytes/s",
    "producer.node.request.latency.avg": "ms",
    "producer.produce.throttle.time.avg": "ms",
    "consumer.fetch.manager.records.consumed.rate": "records/s",
    "consumer.fetch.manager.fetch.latency.avg": "ms",
    "consumer.fetch.manager.fetch.throttle.time.avg": "ms",
    "consumer.node.request.latency.avg": "ms",
    "consumer.coordinator.commit.latency.avg": "ms",
    "consumer.poll.idle.ratio.avg": "part of its time",
}
"""Metrics of which a step has the mean, to their units."""
_GREATEST = {
    "producer.produce.throttle.time.max": "ms",
    "consumer.fetch.manager.fetch.throttle.time.max": "ms",
    "consumer.fetch.manager.records.lag.max": "records",
    "consumer.time.between.poll.max": "ms",
    "consumer.coordinator.assigned.partitions": "partitions",
}
"""Those of which it has the greatest value."""
_COUNTS = {
    "producer.record.error.total": "records a step",
    "producer.record.retry.total": "records a step",
    "consumer.coordinator.rebalance.total": "rebalances a step",
    "consumer.coordinator.rebalance.latency.total": "ms a step",
}
"""Counters, of which it has the increase."""
_UNITS = _MEANS | _GREATEST | _COUNTS
_THROTTLES = {one for one in _UNITS if ".throttle.time." in one}
_REBALANCES = {one for one in _COUNTS if ".rebalance." in one}

_INSTANCES_SQL = f"""
SELECT row, client_instance_id, state, software, version, address, first_seen,
  last_seen, terminated_at, push_interval_ms
FROM {CHOSEN_INSTANCES} WHERE client_instance_id IS NOT NULL
ORDER BY row, state = 'active' DESC, last_seen DESC
"""  # noqa: S608 - names of our own
# Those that somebody set come first, then what the proxy has seen, then defaults.
_CONFIGS_SQL = """
SELECT c.row, e.config_key, e.config_value, e.source, e.status, e.is_default,
  {dynamic}, count(*) AS instances
FROM {entries} AS e JOIN {chosen} AS c ON e.logical_client = c.logical_client
GROUP BY ALL
ORDER BY c.row, e.is_default IS NOT FALSE, e.source = 'pushed' DESC, e.source DESC,
  e.config_key, e.config_value
"""
_HISTORY_SQL = f"""
SELECT row, config_key, config_value, valid_from, valid_to FROM (
  SELECT c.row, t.*, count(*) OVER (
    PARTITION BY c.row, t.config_key
  ) AS values
  FROM {TIMELINE} AS t JOIN {CHOSEN} AS c ON t.logical_client = c.logical_client
) WHERE values > 1 ORDER BY row, valid_from DESC, config_key
"""  # noqa: S608 - the same
_QUOTAS_SQL = """
SELECT c.row, q.quota_key, q.`limit`, q.shared_by, q.quota_id, q.basis, q.used_rate,
  100 * q.`use` AS `use`, q.reported_rate, q.throttled_ms, q.reason
FROM client_quota_use AS q JOIN report_chosen AS c ON c.principal = q.principal
  AND coalesce(c.client_id, '') = q.client_id
  AND coalesce(c.cluster_id = q.cluster_id, true)
WHERE q.`limit` IS NOT NULL ORDER BY row, quota_key
"""
_POINTS_SQL = """
points AS (
  SELECT c.row, m.client_instance_id, m.metric, m.temporality, m.attributes,
    m.received_at, {step} AS step,
    coalesce(m.value_double, double(m.value_long)) AS value
  FROM {metrics} AS m JOIN {chosen} AS c ON m.client_instance_id = c.client_instance_id
  WHERE m.event_date >= date({since}) AND m.received_at >= {since}
    AND m.received_at < {until} AND m.metric IN ({names})
)
"""
_LINES_SQL = """
WITH {points},
increases AS (
  SELECT row, metric, step, CASE
      WHEN temporality = 'delta' THEN value
      WHEN value >= before THEN value - before
      WHEN before IS NULL THEN 0 ELSE value END AS value
  FROM (
    SELECT *, lag(value) OVER (
      PARTITION BY client_instance_id, metric, attributes_text ORDER BY received_at
    ) AS before
    FROM (SELECT *, CAST(attributes AS STRING) AS attributes_text FROM points)
    WHERE metric IN ({counts}) AND NOT isnan(value)
  )
)
SELECT row, metric, collect_list(struct(step, value)) AS points FROM (
  SELECT row, metric, step, IF(metric IN ({greatest}), max(value), avg(value)) AS value
  FROM points WHERE metric NOT IN ({counts}) AND NOT isnan(value)
  GROUP BY row, metric, step
  UNION ALL
  SELECT row, metric, step, sum(value) FROM increases GROUP BY row, metric, step
) WHERE step >= 0 AND step < {steps} AND value IS NOT NULL GROUP BY row, metric
"""
_THROTTLED_SQL = f"""
SELECT c.row, collect_set({{step}}) AS steps
FROM {CLIENT_TRAFFIC.name} AS t JOIN {CHOSEN} AS c ON c.principal = t.principal
  AND coalesce(c.client_id, '') = t.client_id
  AND coalesce(c.cluster_id = t.cluster_id, true)
WHERE t.window_start >= {{since}} AND t.window_start < {{until}}
  AND t.throttle_ms_max > 0 GROUP BY c.row
"""  # noqa: S608 - the same

Parts = Mapping[int, Part]


def read_details(
    asked: Asked, clients: pa.Table, logical: Sequence[str | None], most: int
) -> list[Detail]:
    """Return details of the first clients, in order.

    Args:
        clients: fleet.CLIENTS.
        logical: Their logical clients, where they are known.
        most: How many.
    """
    some = min(most, clients.num_rows)
    if not some:
        return []
    _register_chosen(asked, clients.slice(0, some), logical[:some])
    instances = _read_instances(asked)
    configs, history = _read_configs(asked), _read_history(asked)
    quotas = _read_quotas(asked)
    lines, marks = _read_lines(asked), _read_throttled(asked)
    findings: Parts = {}
    if finding_rows.FINDINGS in asked.names:
        findings = finding_rows.read_of_clients(asked, CHOSEN)
    no_findings = Part(missing=asked.explain_missing(finding_rows.FINDINGS))
    return [
        Detail(
            instances=instances.get(row, Part()),
            configs=configs(row),
            history=history(row),
            lines=lines.get(row, []),
            marks=_find_marks(lines.get(row, []), marks.get(row, [])),
            quotas=quotas(row),
            findings=findings.get(row, no_findings),
        )
        for row in range(some)
    ]


def _register_chosen(
    asked: Asked, clients: pa.Table, logical: Sequence[str | None]
) -> None:
    who = zip(*(clients.column(name).to_pylist() for name in WHO), logical, strict=True)
    rows = [(row, *one) for row, one in enumerate(who)]
    asked.spark.createDataFrame(rows, _CHOSEN_SCHEMA).createOrReplaceTempView(CHOSEN)
    same = " AND ".join(f"i.{name} <=> c.{name}" for name in WHO)
    asked.spark.sql(
        f"SELECT c.row, i.* FROM {INSTANCES} AS i JOIN {CHOSEN} AS c ON {same}"  # noqa: S608 - the same
    ).createOrReplaceTempView(CHOSEN_INSTANCES)


def _part_rows(rows: Sequence[Row], names: Mapping[str, str], most: int) -> Parts:
    """Return rows as a table for each client; `row` comes first in them."""
    found: dict[int, list[tuple[object, ...]]] = defaultdict(list)
    for one in rows:
        found[one["row"]].append(tuple(one[name] for name in names))
    return {
        row: Part(
            names=tuple(names.values()),
            rows=of_client[:most],
            more=max(0, len(of_client) - most),
        )
        for row, of_client in found.items()
    }


def _read_instances(asked: Asked) -> Parts:
    names = {
        "client_instance_id": "client instance id",
        "state": "state",
        "software": "software",
        "version": "version",
        "address": "address",
        "first_seen": "first seen",
        "last_seen": "last push",
        "push_interval_ms": "push interval (ms)",
    }
    return _part_rows(asked.ask(_INSTANCES_SQL), names, _MOST_INSTANCES)


def _or_missing(
    asked: Asked, name: str, read: Callable[[], Parts]
) -> Callable[[int], Part]:
    """Return what tells a client's table, also where nothing tells of any."""
    missing = asked.explain_missing(name)
    found = {} if missing else read()
    return lambda row: found.get(row, Part(missing=missing))


def _read_configs(asked: Asked) -> Callable[[int], Part]:
    is_dynamic = EFFECTIVE in asked.names
    query = _CONFIGS_SQL.format(
        entries=EFFECTIVE if is_dynamic else ENTRIES,
        dynamic="e.dynamic_value, e.state"
        if is_dynamic
        else "NULL AS dynamic_value, NULL AS state",
        chosen=CHOSEN,
    )
    names = {
        "config_key": "key",
        "config_value": "value",
        "source": "source",
        "status": "status",
        "instances": "instances",
    }
    if is_dynamic:
        names |= {"dynamic_value": "set dynamically", "state": "what became of it"}

    def read() -> Parts:
        return _part_rows(asked.ask(query), names, _MOST_CONFIGS)

    return _or_missing(asked, ENTRIES, read)


def _read_history(asked: Asked) -> Callable[[int], Part]:
    names = {
        "config_key": "key",
        "config_value": "value",
        "valid_from": "from",
        "valid_to": "until",
    }

    def read() -> Parts:
        return _part_rows(asked.ask(_HISTORY_SQL), names, _MOST_CHANGES)

    return _or_missing(asked, TIMELINE, read)


def _read_quotas(asked: Asked) -> Callable[[int], Part]:
    names = {
        "quota_key": "quota key",
        "limit": "limit of a broker",
        "use": "used (%)",
        "basis": "measured by",
        "used_rate": "used (bytes/s)",
        "reported_rate": "its own report (bytes/s)",
        "throttled_ms": "throttled (ms)",
        "shared_by": "clients that share it",
        "quota_id": "quota-id",
        "reason": "why",
    }

    def read() -> Parts:
        return _part_rows(asked.ask(_QUOTAS_SQL), names, _MOST_CONFIGS)

    return _or_missing(asked, CLIENT_QUOTA_USE, read)


def _read_lines(asked: Asked) -> dict[int, list[Line]]:
    if CLIENT_METRICS.name not in asked.names:
        return {}
    found: dict[int, list[Line]] = defaultdict(list)
    for one in asked.ask(_write_lines_query(asked)):
        name = one["metric"].removeprefix(_PREFIX)
        points = sorted((point["step"], point["value"]) for point in one["points"])
        found[one["row"]].append(Line(name=name, unit=_UNITS[name], points=points))
    order = {name: place for place, name in enumerate(_UNITS)}
    return {
        row: sorted(lines, key=lambda one: order[one.name])
        for row, lines in found.items()
    }


def _write_lines_query(asked: Asked) -> str:
    def names(units: Mapping[str, str]) -> str:
        return ", ".join(f"'{_PREFIX}{name}'" for name in units)

    points = _POINTS_SQL.format(
        step=asked.step_sql("m.received_at"),
        metrics=CLIENT_METRICS.name,
        chosen=CHOSEN_INSTANCES,
        since=write_moment(asked.axis.start),
        until=write_moment(asked.axis.end),
        names=names(_UNITS),
    )
    return _LINES_SQL.format(
        points=points,
        counts=names(_COUNTS),
        greatest=names(_GREATEST),
        steps=asked.axis.steps,
    )


def _read_throttled(asked: Asked) -> dict[int, list[int]]:
    """Return steps in which the proxy has seen brokers throttle clients."""
    if CLIENT_TRAFFIC.name not in asked.names:
        return {}
    query = _THROTTLED_SQL.format(
        step=asked.step_sql("t.window_start"),
        since=write_moment(asked.axis.start),
        until=write_moment(asked.axis.end),
    )
    return {one["row"]: one["steps"] for one in asked.ask(query)}


def _find_marks(
    lines: Sequence[Line], throttled: Sequence[int]
) -> dict[str, Sequence[int]]:
    """Return the steps in which a client was throttled, and those with a rebalance."""

    def steps_of(names: set[str]) -> set[int]:
        return {
            step
            for line in lines
            if line.name in names
            for step, value in line.points
            if value > 0
        }

    return {
        "throttled": sorted(steps_of(_THROTTLES) | {*throttled}),
        "rebalance": sorted(steps_of(_REBALANCES)),
    }
