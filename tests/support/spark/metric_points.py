"""Rows of client_metrics that name only what matters to a test."""

from datetime import UTC, datetime, timedelta

from pipelines.reading.points import with_meaning
from pipelines.tables.telemetry import CLIENT_METRICS

START = datetime(2026, 1, 1, tzinfo=UTC)
NAN, INFINITY = float("nan"), float("inf")
_SCHEMA = ", ".join(f"`{c.name}` {c.sql_type}" for c in CLIENT_METRICS.columns)
_OWNERS = (
    "client_instance_id STRING, cluster_id STRING, client_type STRING, "
    "push_interval_ms INT"
)


def at(second):
    return START + timedelta(seconds=second)


def local(second):
    """Return a time as rows of Spark have it."""
    return at(second).replace(tzinfo=None)


def nanos(second):
    return int(at(second).timestamp()) * 10**9


def point(second, value=None, client="a", **fields):
    known = {
        "metric": "m",
        "kind": "gauge",
        "client_instance_id": client,
        "client_id": f"id-{client}",
        "principal": "User:p",
        "push_id": f"{client}-{second}",
        "received_at": at(second),
        "event_date": at(second).date(),
        "time": at(second),
        "time_unix_nano": nanos(second),
        "value_double": value,
        "offset": second,
        "point_index": 0,
    }
    return dict.fromkeys(CLIENT_METRICS.column_names) | known | fields


def counter(second, value, client="a", **fields):
    known = {"kind": "sum", "temporality": "cumulative", "is_monotonic": True}
    return point(second, value, client, **(known | fields))


def delta(second, value, client="a", span_s=None, **fields):
    start = None if span_s is None else nanos(second - span_s)
    known = {"temporality": "delta", "start_time_unix_nano": start}
    return counter(second, value, client, **(known | fields))


def histogram(second, count, total, temporality, **fields):
    distribution = (count, total, *[None] * 12)
    known = {"kind": "histogram", "temporality": temporality}
    return point(second, distribution=distribution, **(known | fields))


def make_points(spark, rows, *, interval_s=None, clusters=None):
    """Return the points of rows, with their meaning.

    Args:
        clusters: Client instance to its cluster; one cluster if not given.
    """
    values = [tuple(row.values()) for row in rows]
    interval_ms = interval_s and interval_s * 1000
    clients = sorted({row["client_instance_id"] for row in rows})
    owners = [
        (client, (clusters or {}).get(client, "c1"), "producer", interval_ms)
        for client in clients
    ]
    instances = spark.createDataFrame(owners, _OWNERS)
    return spark.createDataFrame(values, _SCHEMA).transform(with_meaning, instances)
