"""Request latency and lines of charts, from points as Java and librdkafka push them."""

from datetime import UTC, datetime, timedelta

import pytest

from pipelines.reading import overview

START = datetime(2026, 3, 1, tzinfo=UTC)
PRODUCER = "org.apache.kafka.producer.request.latency.avg"
NODE = "org.apache.kafka.producer.node.request.latency.avg"
CONSUMER_NODE = "org.apache.kafka.consumer.node.request.latency.avg"
FETCH = "org.apache.kafka.consumer.fetch.manager.fetch.latency.avg"
NAN = float("nan")

POINTS = [
    # instance, client id, seconds, metric, value
    ("java-producer", "orders", 1, PRODUCER, 4.0),
    ("java-producer", "orders", 1, NODE, 90.0),
    ("java-producer", "orders", 2, PRODUCER, 6.0),
    ("java-producer", "orders", 3, PRODUCER, NAN),
    ("java-producer", "orders", 3, NODE, 90.0),
    ("other-producer", "orders", 1, PRODUCER, 0.0),
    ("other-producer", "orders", 2, PRODUCER, 8.0),
    ("consumer", "billing", 1, CONSUMER_NODE, 3.0),
    ("consumer", "billing", 1, CONSUMER_NODE, 5.0),
    ("consumer", "billing", 1, CONSUMER_NODE, 0.0),
    ("consumer", "billing", 1, CONSUMER_NODE, NAN),
    ("consumer", "billing", 1, CONSUMER_NODE, float("inf")),
    ("consumer", "billing", 1, CONSUMER_NODE, 1.7e308),
    ("consumer", "billing", 1, FETCH, 500.0),
    ("consumer", "billing", 2, FETCH, 500.0),
    ("nameless", None, 1, NODE, 7.0),
    ("idle", "idle", 1, NODE, 0.0),
]


@pytest.fixture(scope="module")
def client_metrics(spark):
    schema = (
        "client_instance_id STRING, client_id STRING, received_at TIMESTAMP, "
        "metric STRING, value_double DOUBLE, value_long BIGINT"
    )
    rows = [
        (instance, client, START + timedelta(seconds=at), metric, value, None)
        for instance, client, at, metric, value in POINTS
    ]
    return spark.createDataFrame(rows, schema)


def read_chart(client_metrics):
    found = overview.select_latency_over_time(client_metrics).collect()
    return {
        (row["client"], round(row["received_at"].timestamp() - START.timestamp())): row[
            "latency_ms"
        ]
        for row in found
    }


def test_request_latency_is_a_metric_of_requests(client_metrics):
    assert read_chart(client_metrics) == {
        ("orders (java-p)", 1): 4.0,
        ("orders (java-p)", 2): 6.0,
        ("orders (other-)", 2): 8.0,
        ("billing", 1): 4.0,
        ("instance namele", 1): 7.0,
    }


def test_the_table_has_the_last_number_of_the_chart(client_metrics):
    found = overview.select_newest_latency(client_metrics).collect()
    assert {row["client_instance_id"]: row["latency_ms"] for row in found} == {
        "java-producer": 6.0,
        "other-producer": 8.0,
        "consumer": 4.0,
        "nameless": 7.0,
    }


def test_instances_with_one_client_id_are_lines_of_their_own(spark):
    rows = [
        ("abcdef1", "a", START, 1),
        ("bcdefg2", "a", START, 2),
        ("c", "b", START, 4),
    ]
    schema = "client_instance_id STRING, client_id STRING, received_at TIMESTAMP, "
    pushes = spark.createDataFrame(rows, schema + "point_count INT")
    found = overview.select_point_rate_over_time(pushes, window_s=10).collect()
    assert {(row["client"], row["points_s"]) for row in found} == {
        ("a (abcdef)", 0.1),
        ("a (bcdefg)", 0.2),
        ("b", 0.4),
    }
