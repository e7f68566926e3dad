"""Samples of before and after: numbers that do not depend on how clients push."""

import pytest
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading import comparisons
from tests.support.spark.metric_points import (
    counter,
    delta,
    histogram,
    local,
    make_points,
    point,
)

SENT = "org.apache.kafka.producer.record.send.total"
CLOCK = "org.apache.kafka.app.info.start.time.ms"
BUFFER = "org.apache.kafka.producer.buffer.available.bytes"
CHANGE_S = 3600
"""When the push interval changes from 5 minutes to 1 minute."""


def read_samples(spark, rows):
    points = make_points(spark, rows)
    side = comparisons.split_at(local(CHANGE_S + 1))
    found = comparisons.select_samples(points, side)
    names = ("metric", "side", "unit", "value")
    return {tuple(row) for row in found.select(*names).collect()}


@pytest.mark.parametrize("make", [delta, counter], ids=["delta", "cumulative"])
def test_rate_of_a_steady_sum_is_equal_on_both_sides_of_a_changed_interval(spark, make):
    # 10 records per second all the time; clocks and IDs are no metrics.
    before = [(end, 300) for end in range(300, CHANGE_S + 1, 300)]
    after = [(end, 60) for end in range(CHANGE_S + 60, 2 * CHANGE_S + 1, 60)]
    rows = [
        make(end, 10.0 * (span if make is delta else end), metric=SENT)
        for end, span in (*before, *after)
    ]
    rows += [point(second, 1.8e12 + second, metric=CLOCK) for second in (0, 7000)]
    assert read_samples(spark, rows) == {
        (SENT, "before", "records/s", 10.0),
        (SENT, "after", "records/s", 10.0),
    }


def test_number_of_a_histogram_is_the_mean_of_its_observations(spark):
    rows = [histogram(0, 4, 10.0, "delta"), histogram(60, 6, 20.0, "delta")]
    assert read_samples(spark, rows) == {("m", "before", "number", 3.0)}


def test_gauge_of_an_instance_counts_by_its_mean(spark):
    rows = [point(0, 10.0, metric=BUFFER), point(60, 30.0, metric=BUFFER)]
    assert read_samples(spark, rows) == {(BUFFER, "before", "bytes", 20.0)}


def test_versions_of_different_software_are_not_compared(spark):
    software = {"apache-kafka-java 4.3.1": 5, "librdkafka 2.15.0": 4}
    software |= {"librdkafka 2.10.1": 2, "apache-kafka-java 3.9.2": 1}
    rows = [
        (*name.split(" "), local(place))
        for place, (name, count) in enumerate(software.items())
        for _ in range(count)
    ]
    columns = "client_software_name STRING, client_software_version STRING, "
    clients = spark.createDataFrame(rows, columns + "first_seen TIMESTAMP")
    found = comparisons.find_versions(clients)
    assert found == ("librdkafka", "2.15.0", "2.10.1")
    one_each = clients.where(F.col("client_software_version").isin("4.3.1", "2.15.0"))
    found = comparisons.find_versions(one_each)
    assert found == ("apache-kafka-java", "4.3.1", "4.3.1")
    assert comparisons.find_versions(clients.limit(0)) == ("", "", "")
