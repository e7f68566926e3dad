"""Points have one meaning: a value, a level, a time, a growth and a rate."""

import pytest

from pipelines.reading.points import with_rates
from tests.support.spark.metric_points import (
    INFINITY,
    NAN,
    at,
    counter,
    delta,
    histogram,
    local,
    make_points,
    point,
)


def read(spark, rows, *columns, interval_s=None):
    """Return the columns of each point, in the order of time."""
    found = make_points(spark, rows, interval_s=interval_s).transform(with_rates)
    ordered = found.orderBy("received_at", "client_instance_id", "point_index")
    return [tuple(row) for row in ordered.select(*columns).collect()]


def test_value_of_a_point_is_finite_or_null(spark):
    rows = [
        point(0, 1.5),
        point(1, value_long=7),
        point(2, NAN),
        point(3, INFINITY),
        point(4, 1.7e308),
        point(5),
    ]
    assert read(spark, rows, "value", "is_nan") == [
        (1.5, False),
        (7.0, False),
        (None, True),
        (None, False),
        (None, False),
        (None, False),
    ]


def test_point_has_the_level_of_its_labels_and_the_owner_of_its_instance(spark):
    rows = [
        point(0, 1.0),
        point(1, 1.0, node_id="1"),
        point(2, 1.0, topic_name="t"),
        point(3, 1.0, topic_name="t", topic_partition=0),
    ]
    columns = ("level", "cluster_id", "client_type", "push_interval_ms")
    owner = ("c1", "producer", 60_000)
    levels = ("client", "node", "topic", "partition")
    assert read(spark, rows, *columns, interval_s=60) == [
        (level, *owner) for level in levels
    ]


def test_client_clock_more_than_three_intervals_off_does_not_set_the_time(spark):
    rows = [
        point(1000, 1.0, time=at(1000 - 180)),
        point(1001, 1.0, time=at(1001 - 181)),
        point(1002, 1.0, time=at(5 * 365 * 86_400)),
        point(1003, 1.0, time=None),
    ]
    assert read(spark, rows, "at", interval_s=60) == [
        (local(second),) for second in (820, 1001, 1002, 1003)
    ]


def test_rate_of_a_delta_is_over_its_own_interval(spark):
    # 10 records a second; the push interval changes from 5 minutes to 1 minute.
    rows = [
        delta(end, 10.0 * span, span_s=span)
        for end, span in ((300, 300), (600, 300), (660, 60), (720, 60))
    ]
    assert read(spark, rows, "amount", "span_s", "rate") == [
        (3000.0, 300.0, 10.0),
        (3000.0, 300.0, 10.0),
        (600.0, 60.0, 10.0),
        (600.0, 60.0, 10.0),
    ]


def test_rate_of_a_delta_without_start_is_since_the_previous_point(spark):
    rows = [delta(300, 3000.0), delta(600, 3000.0), delta(660, 600.0)]
    expected = [(300.0, 10.0), (300.0, 10.0), (60.0, 10.0)]
    assert read(spark, rows, "span_s", "rate", interval_s=300) == expected
    # Without a known push interval the first span is unknown.
    expected[0] = (None, None)
    assert read(spark, rows, "span_s", "rate") == expected


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
    ids=["grows", "falls: restarted", "start moves: restarted", "may fall"],
)
def test_amount_of_a_cumulative_sum_is_its_growth(spark, rows, expected):
    # The growth before the first point is unknown.
    found = read(spark, rows, "amount", "rate")
    rates = [None if one is None else one / 60 for one in expected]
    assert found == [(None, None), *zip(expected, rates, strict=True)]


def test_amount_of_a_series_ignores_other_series_of_the_client(spark):
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
    assert read(spark, rows, "amount") == [
        *[(None,)] * 4,
        *((one,) for one in (1.0, 2.0, 4.0, 8.0)),
    ]


def test_histogram_has_observations_and_amount(spark):
    rows = [
        histogram(0, 4, 10.0, "delta", metric="delta"),
        histogram(1, 6, 20.0, "delta", metric="delta"),
        histogram(2, 4, 10.0, "cumulative", metric="whole"),
        histogram(3, 6, 16.0, "cumulative", metric="whole"),
        histogram(4, 1, 0.5, "cumulative", metric="whole"),
    ]
    assert read(spark, rows, "metric", "observations", "amount") == [
        ("delta", 4, 10.0),
        ("delta", 6, 20.0),
        ("whole", None, None),
        ("whole", 2, 6.0),
        ("whole", 1, 0.5),
    ]


def test_gauge_has_neither_amount_nor_rate(spark):
    rows = [point(0, 1.0), point(60, 2.0)]
    columns = ("amount", "observations", "span_s", "rate")
    assert read(spark, rows, *columns) == [(None,) * 4] * 2
