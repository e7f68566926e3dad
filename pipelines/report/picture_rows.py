"""Rows of the pictures of the whole fleet."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pipelines.tables.telemetry import CLIENT_METRICS

from .asked import Asked, write_moment
from .client_rows import INSTANCES, WHO
from .fleet import NO_TELEMETRY, SPENT_PARTS, Picture
from .texts import name_client_id

_MOST_CLIENTS = 12
"""Lines of a picture that can be read."""
_MOST_DOTS = 250
_MINUTES = 60
"""How much of the newest past performance is of."""
_PREFIX = "org.apache.kafka."
_QUEUE, _REQUEST, _THROTTLE = (
    "producer.record.queue.time.avg",
    "producer.request.latency.avg",
    "producer.produce.throttle.time.avg",
)
_NODES = ("producer.node.request.latency.avg", "consumer.node.request.latency.avg")
_IDLE, _LAG, _RATE = (
    "consumer.poll.idle.ratio.avg",
    "consumer.fetch.manager.records.lag.max",
    "consumer.fetch.manager.records.consumed.rate",
)
_METRICS = (_QUEUE, _REQUEST, _THROTTLE, *_NODES, _IDLE, _LAG, _RATE)

# How many came and went in each step; who came before has come in the step -1.
_LIVE_SQL = f"""
SELECT who, step, sum(number) AS number FROM (
  SELECT {{who}} AS who, greatest(-1, {{began}}) AS step, 1 AS number
  FROM {INSTANCES} WHERE state <> '{NO_TELEMETRY}'
UNION ALL
  SELECT {{who}}, greatest(-1, {{ended}}) + 1, -1
  FROM {INSTANCES} WHERE state NOT IN ('{NO_TELEMETRY}', 'active')
) GROUP BY who, step
"""  # noqa: S608 - names of our own
_PERFORMANCE_SQL = f"""
SELECT {", ".join(f"i.{name}" for name in WHO)}, m.metric, m.node_id,
  avg(coalesce(m.value_double, double(m.value_long))) AS value
FROM {CLIENT_METRICS.name} AS m JOIN {INSTANCES} AS i
  ON m.client_instance_id = i.client_instance_id
WHERE m.event_date >= date({{start}}) AND m.received_at >= {{start}}
  AND m.metric IN ({", ".join(f"'{_PREFIX}{one}'" for one in _METRICS)})
  AND NOT isnan(coalesce(m.value_double, double(m.value_long)))
  AND (m.node_id IS NULL OR m.node_role = 'broker')
GROUP BY ALL
"""  # noqa: S608 - the same

Client = tuple[str | None, ...]
Values = Mapping[Client, Mapping[str, float]]


def read_live(asked: Asked, clients: int) -> Picture:
    """Return how many client instances of each principal were live in each step.

    Args:
        clients: How many clients there are.
    """
    who = "coalesce(client_id, '(no client id)')" if asked.principals else "principal"
    query = _LIVE_SQL.format(
        who=who,
        began=asked.step_sql("first_seen"),
        ended=asked.step_sql("coalesce(terminated_at, last_seen)"),
    )
    changes: dict[str, dict[int, int]] = defaultdict(dict)
    for one in asked.ask(query):
        changes[one["who"]][one["step"]] = one["number"]
    rows: list[tuple[int, str, int]] = []
    for name, of_name in changes.items():
        live = of_name.get(-1, 0)
        for step in range(asked.axis.steps):
            live += of_name.get(step, 0)
            if live:
                rows.append((step, name, live))
    return Picture(rows=rows, covered=clients)


def read_performance(asked: Asked) -> tuple[Picture, Picture, Picture]:
    """Return latency by broker, where a record's time goes, and how consumers are."""
    missing = asked.explain_missing(CLIENT_METRICS.name)
    if missing:
        nothing = Picture(missing=missing)
        return nothing, nothing, nothing
    start = write_moment(asked.made_at) + f" - INTERVAL {_MINUTES} MINUTES"
    found = asked.spark.sql(_PERFORMANCE_SQL.format(start=start)).toArrow()
    nodes: dict[Client, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    sums: dict[Client, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    columns = [found.column(name).to_pylist() for name in found.column_names]
    for *who, metric, node, value in zip(*columns, strict=True):
        name = metric.removeprefix(_PREFIX)
        if name not in _NODES:
            sums[tuple(who)][name].append(value)
        elif node is not None and value > 0:
            nodes[tuple(who)][node].append(value)
    means = {who: _mean_values(values) for who, values in sums.items()}
    by_node = {who: _mean_values(values) for who, values in nodes.items()}
    return _pick_latency(by_node), _pick_time_spent(means), _pick_consumers(means)


def _mean_values(values: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {name: statistics.fmean(some) for name, some in values.items()}


def _name(who: Client) -> str:
    return name_client_id(who[2])


def _pick_latency(by_node: Values) -> Picture:
    compared = {who: nodes for who, nodes in by_node.items() if len(nodes) > 1}
    middle = {who: statistics.median(nodes.values()) for who, nodes in compared.items()}
    worst = sorted(
        compared,
        key=lambda who: (-max(compared[who].values()) / middle[who], _name(who)),
    )
    rows = [
        (_name(who), node, latency, latency / middle[who])
        for who in worst[:_MOST_CLIENTS]
        for node, latency in sorted(compared[who].items(), key=lambda one: int(one[0]))
    ]
    missing = "" if rows else "No client has told its latency to more than one broker."
    return Picture(rows=rows, covered=len(compared), missing=missing)


def _pick_time_spent(means: Values) -> Picture:
    parts = dict(zip((_QUEUE, _REQUEST, _THROTTLE), SPENT_PARTS, strict=True))
    spent = {
        who: {part: values.get(name, 0.0) for name, part in parts.items()}
        for who, values in means.items()
        if _REQUEST in values or _QUEUE in values
    }
    slowest = sorted(spent, key=lambda who: (-sum(spent[who].values()), _name(who)))
    rows = [
        (_name(who), part, ms)
        for who in slowest[:_MOST_CLIENTS]
        for part, ms in spent[who].items()
    ]
    missing = "" if rows else "No producer has told of its requests in that time."
    return Picture(rows=rows, covered=len(spent), missing=missing)


def _pick_consumers(means: Values) -> Picture:
    told = [
        (_name(who), values[_IDLE], values.get(_LAG), values.get(_RATE))
        for who, values in means.items()
        if _IDLE in values
    ]
    missing = "" if told else "No consumer has told how long it waits in that time."
    return Picture(rows=_most_lag(told), covered=len(told), missing=missing)


def _most_lag(
    told: Iterable[tuple[str, float, float | None, float | None]],
) -> list[tuple[str, float, float | None, float | None]]:
    return sorted(told, key=lambda one: (-(one[2] or 0.0), one[0]))[:_MOST_DOTS]
