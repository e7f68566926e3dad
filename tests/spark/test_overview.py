"""Request latency and lines of charts, from points as Java and librdkafka push them."""

import pytest

from pipelines.reading import latency, one_client, overview, throttling
from tests.support.spark.metric_points import (
    INFINITY,
    NAN,
    local,
    make_points,
    point,
)

PRODUCER = "org.apache.kafka.producer.request.latency.avg"
NODE = "org.apache.kafka.producer.node.request.latency.avg"
CONSUMER_NODE = "org.apache.kafka.consumer.node.request.latency.avg"
FETCH = "org.apache.kafka.consumer.fetch.manager.fetch.latency.avg"

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
    ("consumer", "billing", 1, CONSUMER_NODE, INFINITY),
    ("consumer", "billing", 1, CONSUMER_NODE, 1.7e308),
    ("consumer", "billing", 1, FETCH, 500.0),
    ("consumer", "billing", 2, FETCH, 500.0),
    ("nameless", None, 1, NODE, 7.0),
    ("idle", "idle", 1, NODE, 0.0),
]


@pytest.fixture(scope="module")
def points(spark):
    rows = [
        point(
            second,
            value,
            instance,
            client_id=client,
            metric=metric,
            node_id=str(place) if ".node." in metric else None,
        )
        for place, (instance, client, second, metric, value) in enumerate(POINTS)
    ]
    return make_points(spark, rows)


def test_request_latency_is_a_metric_of_requests(points):
    found = latency.select_latency_over_time(points).collect()
    assert {(row["client"], row["at"]): row["latency_ms"] for row in found} == {
        ("orders (java-p)", local(1)): 4.0,
        ("orders (java-p)", local(2)): 6.0,
        ("orders (other-)", local(2)): 8.0,
        ("billing", local(1)): 4.0,
        ("instance namele", local(1)): 7.0,
    }


def test_newest_latency_is_the_last_number_of_the_chart(points):
    found = latency.select_newest_latency(points).collect()
    assert {row["client_instance_id"]: row["latency_ms"] for row in found} == {
        "java-producer": 6.0,
        "other-producer": 8.0,
        "consumer": 4.0,
        "nameless": 7.0,
    }


def test_latency_by_broker_keeps_clusters_and_coordinators_apart(spark):
    node = {"metric": CONSUMER_NODE, "node_id": "1"}
    rows = [
        point(0, 900.0, "a", node_role="broker", **node),
        point(0, 3.0, "b", node_role="broker", **node),
        point(0, 5000.0, "b", node_role="coordinator", **node),
        point(0, 7.0, "b", node_role="bootstrap", metric=CONSUMER_NODE, node_id="-1"),
    ]
    found = make_points(spark, rows, clusters={"a": "A", "b": "B"}).transform(
        latency.select_latency_by_broker
    )
    columns = ("cluster_id", "name", "clients", "latency_ms")
    assert [tuple(row) for row in found.select(*columns).collect()] == [
        ("B", "1 (coordinator)", 1, 5000.0),
        ("A", "1", 1, 900.0),
        ("B", "1", 1, 3.0),
    ]


def test_latency_over_nodes_is_weighted_by_their_requests(spark):
    rate = "org.apache.kafka.producer.node.request.rate"
    rows = [
        point(0, 100.0, metric=NODE, node_id="1"),
        point(0, 99.0, metric=rate, node_id="1"),
        point(0, 900.0, metric=NODE, node_id="2"),
        point(0, 1.0, metric=rate, node_id="2"),
    ]
    found = make_points(spark, rows).transform(latency.select_request_latency)
    assert [row["latency_ms"] for row in found.collect()] == [108.0]


def test_instances_with_one_client_id_are_lines_of_their_own(spark):
    rows = [
        point(0, 1.0, "abcdef1", client_id="a"),
        *(point(0, 1.0, "bcdefg2", client_id="a", metric=name) for name in "mn"),
        *(point(0, 1.0, "c", client_id="b", metric=name) for name in "mnop"),
    ]
    found = overview.select_point_rate_over_time(make_points(spark, rows), window_s=10)
    assert {(row["client"], row["points_s"]) for row in found.collect()} == {
        ("a (abcdef)", 0.1),
        ("a (bcdefg)", 0.2),
        ("b", 0.4),
    }


def test_throttling_joins_reports_and_traffic_of_one_cluster(spark):
    metric = "org.apache.kafka.producer.produce.throttle.time.max"
    rows = [
        point(0, 5.0, "a", client_id="orders", metric=metric),
        point(0, 7.0, "b", client_id="orders", metric=metric),
        point(0, 0.0, "c", client_id=None, metric=metric),
    ]
    points = make_points(spark, rows, clusters={"a": "A", "b": "B", "c": None})
    traffic = spark.createDataFrame(
        [
            ("A", "User:p", "orders", 900.0, 0.0),
            (None, "User:p", "", 0.0, 3.0),
            ("B", "User:p", "new", 1.0, 1.0),
        ],
        "cluster_id STRING, principal STRING, client_id STRING, "
        "produce_throttled_ms DOUBLE, fetch_throttled_ms DOUBLE",
    )
    found = throttling.select_throttling(points, traffic)
    names = ("cluster_id", "client_id", "reported_ms", "seen_ms", "throttle_ms")
    rows = found.select(*names).collect()
    assert {tuple(row) for row in rows} == {
        ("A", "orders", 5.0, 900.0, 900.0),
        ("B", "orders", 7.0, None, 7.0),
        (None, None, 0.0, 3.0, 3.0),
        ("B", "new", None, 1.0, 1.0),
    }
    found = throttling.select_throttling(points)
    assert {row["throttle_ms"] for row in found.collect()} == {5.0, 7.0, 0.0}


def test_configuration_of_a_client_is_that_of_its_active_instances(spark):
    entries = spark.createDataFrame(
        [("old", "0"), ("older", "7"), ("new", "100"), (None, "5")],
        "client_instance_id STRING, config_value STRING",
    ).selectExpr(
        "*",
        "'linger.ms' AS config_key",
        "'overridden' AS status",
        "'pushed' AS source",
        "true AS is_pushed",
        "false AS is_default",
    )
    states = {"old": "terminated", "older": "expired", "new": "active"}
    instances = spark.createDataFrame(
        [
            (name, state, local(place))
            for place, (name, state) in enumerate(states.items())
        ],
        "client_instance_id STRING, state STRING, last_seen TIMESTAMP",
    )

    def read(known):
        found = one_client.select_configuration(entries, known).collect()
        return {row["config_value"] for row in found}

    assert read(instances) == {"100", "5"}
    assert read(instances.where("state <> 'active'")) == {"7", "5"}


def test_bands_that_few_clients_cannot_tell_apart_are_left_out(spark):
    rows = [
        point(0, 1.0 + place, f"c{place:02}", metric=PRODUCER) for place in range(12)
    ]
    found = latency.select_latency_bands(make_points(spark, rows), window_s=60)
    assert {row["clients_within"]: row["latency_ms"] for row in found.collect()} == {
        "half of the clients": 6.0,
        "9 of 10": 11.0,
        "all": 12.0,
    }
