"""Values of many points become one value, by the semantics of their metric."""

import pytest

from pipelines.reading.rollups import instance_values, roll_up
from tests.support.spark.metric_points import (
    NAN,
    START,
    delta,
    histogram,
    make_points,
    point,
)

_P, _C = "org.apache.kafka.producer.", "org.apache.kafka.consumer."
LAG = f"{_C}fetch.manager.records.lag.max"
PARTITION_LAG = f"{_C}fetch.manager.records.lag"
CONSUMED = f"{_C}fetch.manager.records.consumed.rate"
OUTGOING = f"{_P}outgoing.byte.rate"
SENT = f"{_P}record.send.total"
LATENCY, LATENCY_MAX = f"{_P}request.latency.avg", f"{_P}request.latency.max"
NODE_LATENCY = f"{_P}node.request.latency.avg"
CONNECTIONS = f"{_P}connection.count"


def read(frame, *columns):
    return sorted(tuple(row) for row in frame.select(*columns).collect())


def rolled(spark, rows, *columns, interval_s=None, clusters=None, **options):
    points = make_points(spark, rows, interval_s=interval_s, clusters=clusters)
    found = points.transform(roll_up, **options)
    if "window_start" in found.columns:
        second = f"unix_seconds(window_start) - {int(START.timestamp())}"
        found = found.selectExpr("*", f"{second} AS second")
    return read(found, *columns)


def test_value_of_an_instance_is_its_client_level_point_before_all_others(spark):
    # One partition of 20 lags by 1,000,000; records are consumed from two topics.
    rows = [
        point(0, 1_000_000.0, metric=LAG),
        point(0, 1_000_000.0, metric=LAG, topic_name="t", topic_partition=0),
        *(
            point(0, 0.0, metric=LAG, topic_name="t", topic_partition=part)
            for part in range(1, 20)
        ),
        point(0, 100.0, metric=CONSUMED),
        point(0, 50.0, metric=CONSUMED, topic_name="t"),
        point(0, 50.0, metric=CONSUMED, topic_name="u"),
    ]
    found = make_points(spark, rows).transform(instance_values)
    assert read(found, "metric", "value") == [(CONSUMED, 100.0), (LAG, 1_000_000.0)]


def test_value_of_an_instance_without_client_level_point_combines_the_others(spark):
    rows = [
        *(
            point(0, value, metric=PARTITION_LAG, topic_name="t", topic_partition=part)
            for part, value in enumerate((5.0, 7.0, 0.0))
        ),
        point(0, 40.0, metric=CONSUMED, topic_name="t"),
        point(0, 2.0, metric=CONSUMED, topic_name="u"),
        point(0, 900.0, metric=NODE_LATENCY, node_id="1", node_role="broker"),
        point(0, 100.0, metric=NODE_LATENCY, node_id="2", node_role="broker"),
    ]
    found = make_points(spark, rows).transform(instance_values)
    assert read(found, "metric", "value") == [
        (CONSUMED, 42.0),
        (PARTITION_LAG, 7.0),
        (NODE_LATENCY, 500.0),
    ]


def test_client_level_point_without_a_number_is_not_replaced_by_its_parts(spark):
    rows = [point(0, NAN, metric=LATENCY), point(0, 9.0, metric=LATENCY, node_id="1")]
    found = make_points(spark, rows).transform(instance_values)
    assert read(found, "value") == [(None,)]


def test_rate_of_a_client_is_the_sum_over_its_instances(spark):
    # Analytics: four instances with 100 B/s each are 400 B/s, not 100.
    rows = [
        point(second, 100.0 + wave, client, metric=OUTGOING)
        for client in "abcd"
        for second, wave in ((0, -10.0), (60, 10.0))
    ]
    assert rolled(spark, rows, "value", "unit", "instances", "points") == [
        (400.0, "bytes/s", 4, 8)
    ]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [(LATENCY, 3.0), (LATENCY_MAX, 5.0), (CONNECTIONS, 4.0 + 3.0)],
    ids=["mean", "max", "newest, added up"],
)
def test_gauges_roll_up_by_their_own_semantics(spark, metric, expected):
    rows = [
        point(0, 2.0, metric=metric),
        point(60, 4.0, metric=metric),
        point(0, 1.0, "b", metric=metric),
        point(30, 5.0, "b", metric=metric),
        point(60, 3.0, "b", metric=metric),
        point(61, NAN, "b", metric=metric),
    ]
    assert rolled(spark, rows, "value") == [(expected,)]


def test_rate_of_a_sum_does_not_depend_on_the_push_interval(spark):
    rows = [
        delta(end, 10.0 * span, span_s=span, metric=SENT)
        for end, span in ((300, 300), (600, 300), (660, 60), (720, 60))
    ]
    columns = ("second", "value", "amount")
    assert rolled(spark, rows, *columns, window_s=60, interval_s=60) == [
        (second, 10.0, 10.0 * span)
        for second, span in ((300, 300), (600, 300), (660, 60), (720, 60))
    ]
    assert rolled(spark, rows, "value", "amount") == [(10.0, 7200.0)]


def test_window_is_never_shorter_than_the_longest_push_interval(spark):
    rows = [
        *(point(second, 1.0, "a", metric=OUTGOING) for second in range(0, 600, 60)),
        *(point(second, 1.0, "b", metric=OUTGOING) for second in (10, 310)),
    ]
    found = rolled(
        spark, rows, "second", "value", "instances", window_s=60, interval_s=300
    )
    assert found == [(0, 2.0, 2), (300, 2.0, 2)]


def test_value_of_a_histogram_is_the_mean_of_its_observations(spark):
    rows = [
        histogram(0, 4, 10.0, "delta", unit="ms"),
        histogram(60, 6, 20.0, "delta", unit="ms"),
    ]
    assert rolled(spark, rows, "value", "unit", "amount") == [(3.0, "ms", 30.0)]


def test_groups_are_kept_apart_by_cluster_and_by_label(spark):
    rows = [
        point(0, 900.0, "a", metric=NODE_LATENCY, node_id="1"),
        point(0, 3.0, "b", metric=NODE_LATENCY, node_id="1"),
        point(0, 5.0, "b", metric=NODE_LATENCY, node_id="2"),
        point(0, 7.0, "b", metric=NODE_LATENCY),
    ]
    by = ("cluster_id", "node_id")
    clusters = {"a": "A", "b": "B"}
    assert rolled(spark, rows, *by, "value", by=by, clusters=clusters) == [
        ("A", "1", 900.0),
        ("B", "1", 3.0),
        ("B", "2", 5.0),
    ]
