"""Rows of the pictures of the whole fleet."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading import fleet_performance
from pipelines.reading.chosen import Chosen
from pipelines.reading.fleet_performance import (
    CONSUMED_RECORDS,
    IDLE_RATIO,
    QUEUE_TIME,
    REQUEST_LATENCY,
)
from pipelines.reading.lag import LAG_MAX
from pipelines.reading.presence import BEFORE, count_arrivals
from pipelines.reading.rollups import select_current
from pipelines.reading.throttling import PRODUCE_AVG
from pipelines.reading.views.known_clients_view import KNOWN_INSTANCES

from .asked import Asked
from .client_rows import Client, Known
from .fleet import ACTIVE, SPENT_PARTS, Picture, Totals
from .texts import name_client_id

_MOST_CLIENTS = 12
"""Lines of a picture that can be read."""
_MOST_DOTS = 250
_TIME = timedelta(minutes=60)
"""How much of the newest past performance is of."""
_METRICS = "client_metrics"

Values = Mapping[Client, Mapping[str, float]]


def read_live(asked: Asked, instances: DataFrame, clients: int) -> Picture:
    """Return how many client instances of each principal were active in each step.

    Args:
        instances: known_instances of the clients.
        clients: How many clients there are.
    """
    named = F.coalesce("client_id", F.lit("(no client id)"))
    who = named if asked.principals else F.col("principal")
    axis = asked.axis
    arrivals = count_arrivals(instances, who, start=axis.start, step_ms=axis.step_ms)
    changes: dict[str, dict[int, int]] = defaultdict(dict)
    for one in arrivals.collect():
        changes[one["who"]][one["step"]] = one["number"]
    rows: list[tuple[int, str, int]] = []
    for name, of_name in changes.items():
        active = of_name.get(BEFORE, 0)
        for step in range(axis.steps):
            active += of_name.get(step, 0)
            if active:
                rows.append((step, name, active))
    return Picture(rows=rows, covered=clients)


def read_performance(asked: Asked, known: Known) -> tuple[Picture, Picture, Picture]:
    """Return latency by broker, where a record's time goes, and how consumers are."""
    if asked.fleet_points is None:
        nothing = Picture(missing=asked.explain_missing(_METRICS))
        return nothing, nothing, nothing
    points = _select_since(asked.fleet_points, asked.newest_at - _TIME)
    values = fleet_performance.select_client_values(
        points, known.instances, fleet_performance.OF_CLIENTS
    )
    by_broker = fleet_performance.select_broker_latency(points, known.instances)
    who = known.list_keys()
    told = _collect(values, who)
    return (
        _pick_latency(_collect(by_broker, who)),
        _pick_time_spent(told),
        _pick_consumers(told),
    )


def read_totals(asked: Asked, known: Known) -> Totals:
    """Return the current values of all active clients together."""
    if asked.fleet_points is None:
        return Totals()
    points = select_current(asked.fleet_points, known.instances)
    values = fleet_performance.select_client_values(
        points, known.instances, fleet_performance.OF_TOTALS
    )
    (one,) = fleet_performance.sum_up(values).collect()
    row = one["lag_row"]
    worst = None if row is None else known.clients.column("client_id")[row].as_py()
    return Totals(
        sent_bytes=one["sent_bytes"],
        consumed_bytes=one["consumed_bytes"],
        largest_lag=one["lag"],
        lag_client=None if row is None else name_client_id(worst),
        lag_row=row,
        errors=one["errors"],
        throttled_clients=_count_throttled(known.clients),
    )


def _count_throttled(clients: pa.Table) -> int | None:
    """Return how many active clients are throttled; null: no client reports it."""
    is_active = pc.equal(clients.column("state"), ACTIVE)
    waits = clients.column("throttled_ms").filter(is_active).drop_null()
    return len(waits.filter(pc.greater(waits, 0.0))) if len(waits) else None


def read_fleet_points(asked: Asked) -> DataFrame | None:
    """Return the points of all pictures and totals; null: no table has any."""
    if asked.explain_missing(_METRICS):
        return None
    since = min(asked.newest_at - _TIME, asked.current_from or asked.newest_at)
    picked = Chosen(since=since, until=asked.newest_at + timedelta(seconds=1))
    return fleet_performance.select_fleet_points(
        asked.spark, picked, asked.table(KNOWN_INSTANCES)
    )


def _select_since(points: DataFrame, since: datetime) -> DataFrame:
    return points.where(F.col("received_at") >= F.lit(since))


def _collect(rows: DataFrame, who: Sequence[Client]) -> Values:
    """Return values of clients by name.

    Args:
        rows: row of a client, name and value.
        who: The clients in the order of their rows.
    """
    found: dict[Client, dict[str, float]] = defaultdict(dict)
    columns = [column.to_pylist() for column in rows.toArrow().columns]
    for row, name, value in zip(*columns, strict=True):
        found[who[row]][name] = value
    return found


def name_apart(clients: Iterable[Client]) -> dict[Client, str]:
    """Return a name of each client, longer only where two would have the same.

    Args:
        clients: Their keys: cluster, principal, client ID and type.
    """
    named = {who: name_client_id(who[2]) for who in clients}
    for place in (1, 3, 0):
        counts = Counter(named.values())
        parts = {who: who[place] or "unknown" for who in named}
        kinds: dict[str, set[str]] = defaultdict(set)
        for who, name in named.items():
            kinds[name].add(parts[who])
        named = {
            who: f"{name}, {parts[who]}"
            if counts[name] > 1 and len(kinds[name]) > 1
            else name
            for who, name in named.items()
        }
    return named


def _pick_latency(by_node: Values) -> Picture:
    compared = {who: nodes for who, nodes in by_node.items() if len(nodes) > 1}
    middle = {who: statistics.median(nodes.values()) for who, nodes in compared.items()}
    worst = sorted(
        compared,
        key=lambda who: (-max(compared[who].values()) / middle[who], _order(who)),
    )
    names = name_apart(worst[:_MOST_CLIENTS])
    rows = [
        (name, node, latency, latency / middle[who])
        for who, name in names.items()
        for node, latency in sorted(compared[who].items(), key=lambda one: int(one[0]))
    ]
    missing = "" if rows else "No client reports its latency to more than one broker."
    return Picture(rows=rows, covered=len(compared), missing=missing)


def _pick_time_spent(means: Values) -> Picture:
    parts = dict(
        zip((QUEUE_TIME, REQUEST_LATENCY, PRODUCE_AVG), SPENT_PARTS, strict=True)
    )
    spent = {
        who: {part: values.get(name, 0.0) for name, part in parts.items()}
        for who, values in means.items()
        if REQUEST_LATENCY in values or QUEUE_TIME in values
    }
    slowest = sorted(spent, key=lambda who: (-sum(spent[who].values()), _order(who)))
    rows = [
        (name, part, ms)
        for who, name in name_apart(slowest[:_MOST_CLIENTS]).items()
        for part, ms in spent[who].items()
    ]
    missing = "" if rows else "No producer reports its requests in that time."
    return Picture(rows=rows, covered=len(spent), missing=missing)


def _pick_consumers(means: Values) -> Picture:
    told = [who for who, values in means.items() if IDLE_RATIO in values]
    most_lag = sorted(
        told, key=lambda who: (-means[who].get(LAG_MAX, 0.0), _order(who))
    )[:_MOST_DOTS]
    rows = [
        (
            name,
            means[who][IDLE_RATIO],
            means[who].get(LAG_MAX),
            means[who].get(CONSUMED_RECORDS),
        )
        for who, name in name_apart(most_lag).items()
    ]
    missing = "" if rows else "No consumer reports how long it waits in that time."
    return Picture(rows=rows, covered=len(told), missing=missing)


def _order(who: Client) -> tuple[str, ...]:
    return tuple(one or "" for one in (who[2], who[1], who[3], who[0]))
