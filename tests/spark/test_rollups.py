"""Values of many clients become one row a minute, whatever kind the metric is."""

from datetime import UTC, datetime

import pytest

from pipelines.reading.rollups import select_rollups
from pipelines.tables.telemetry import CLIENT_METRICS

SCHEMA = ", ".join(f"`{c.name}` {c.sql_type}" for c in CLIENT_METRICS.columns)
MINUTE = 1_767_225_600
"""2026-01-01T00:00:00Z in seconds since 1970."""


def at(second):
    return datetime.fromtimestamp(MINUTE + second, tz=UTC)


def point(second, value=None, client="a", **fields):
    known = {
        "metric": "m",
        "kind": "gauge",
        "client_instance_id": client,
        "client_id": f"id-{client}",
        "received_at": at(second),
        "time": at(second),
        "value_double": value,
        "offset": second,
        "point_index": 0,
    }
    row = dict.fromkeys(CLIENT_METRICS.column_names) | known | fields
    return tuple(row.values())


def counter(second, value, client="a", **fields):
    known = {"kind": "sum", "temporality": "cumulative", "is_monotonic": True}
    return point(second, value, client, **(known | fields))


def delta(second, value, client="a", **fields):
    return counter(second, value, client, **({"temporality": "delta"} | fields))


def histogram(second, count, total, temporality, **fields):
    distribution = (count, total, *[None] * 12)
    known = {"kind": "histogram", "temporality": temporality}
    return point(second, distribution=distribution, **(known | fields))


def roll_up(spark, rows, *columns, **options):
    """Return the columns of each row behind its second since MINUTE."""
    points = spark.createDataFrame(rows, SCHEMA)
    rollups = points.transform(select_rollups, **options)
    second = f"unix_seconds(window_start) - {MINUTE} AS second"
    return [tuple(r) for r in rollups.selectExpr(second, *columns).collect()]


def test_a_gauge_has_mean_least_greatest_and_newest(spark):
    rows = [
        point(0, 1.0),
        point(59, 5.0),
        point(30, 3.0, client="b"),
        point(60, -2.0),
        point(61, float("nan")),
        point(62, None),
    ]
    columns = ("clients", "points", "avg", "min", "max", "last", "sum", "rate")
    assert roll_up(spark, rows, *columns) == [
        (0, 2, 3, 3.0, 1.0, 5.0, 5.0, None, None),
        (60, 1, 3, -2.0, -2.0, -2.0, -2.0, None, None),
    ]


def test_whole_numbers_count_as_well(spark):
    rows = [point(0, value_long=7), point(1, 8.0)]
    assert roll_up(spark, rows, "avg", "last") == [(0, 7.5, 8.0)]


def test_a_delta_sum_is_added_up(spark):
    rows = [delta(0, 30.0), delta(1, 60.0, client="b"), delta(60, 6.0)]
    assert roll_up(spark, rows, "sum", "rate") == [(0, 90.0, 1.5), (60, 6.0, 0.1)]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([counter(0, 100.0), counter(60, 130.0), counter(120, 130.0)], [30.0, 0.0]),
        ([counter(0, 100.0), counter(60, 9.0), counter(120, 10.0)], [9.0, 1.0]),
        (
            [
                counter(0, 5.0, start_time_unix_nano=1),
                counter(60, 8.0, start_time_unix_nano=2),
            ],
            [8.0],
        ),
        ([counter(0, 5.0), counter(60, 3.0, is_monotonic=False)], [None]),
    ],
    ids=["it grows", "it falls: anew", "its start moves: anew", "it may fall"],
)
def test_a_cumulative_sum_is_told_by_differences(spark, rows, expected):
    found = roll_up(spark, rows, "kind", "sum")
    assert found[0][2] is None  # nothing is known of what came before
    assert [total for _, _, total in found[1:]] == expected


def test_series_of_one_client_are_kept_apart(spark):
    rows = [
        counter(0, 10.0, topic_name="t"),
        counter(1, 500.0, topic_name="u"),
        counter(2, 900.0, attributes={"k": "v"}),
        counter(3, 70.0, client="b", topic_name="t"),
        counter(60, 11.0, topic_name="t"),
        counter(61, 502.0, topic_name="u"),
        counter(62, 904.0, attributes={"k": "v"}),
        counter(63, 78.0, client="b", topic_name="t"),
    ]
    assert roll_up(spark, rows, "clients", "sum") == [(0, 2, None), (60, 2, 15.0)]
    by_topic = roll_up(spark, rows, "topic_name", "sum", by=["topic_name"])
    assert [row for row in by_topic if row[0] == 60] == [
        (60, None, 4.0),
        (60, "t", 9.0),
        (60, "u", 2.0),
    ]


def test_histograms_say_how_many_and_how_much(spark):
    rows = [
        histogram(0, 4, 10.0, "delta", metric="delta"),
        histogram(1, 6, 20.0, "delta", metric="delta"),
        histogram(0, 4, 10.0, "cumulative", metric="whole"),
        histogram(1, 6, 16.0, "cumulative", metric="whole"),
        histogram(2, 1, 0.5, "cumulative", metric="whole"),
    ]
    assert roll_up(spark, rows, "metric", "observations", "sum") == [
        (0, "delta", 10, 30.0),
        (0, "whole", 3, 6.5),
    ]


def test_a_window_has_the_length_that_was_asked_for(spark):
    rows = [delta(0, 1.0), delta(11, 2.0), delta(19, 3.0)]
    found = roll_up(spark, rows, "sum", "rate", window_s=10)
    assert found == [(0, 1.0, 0.1), (10, 5.0, 0.5)]
