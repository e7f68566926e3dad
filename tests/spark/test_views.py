"""What readers see is what stands in the tables at that moment."""

from datetime import UTC, datetime, timedelta

import pytest

from pipelines.delta_tables.setup import ensure_tables
from pipelines.reading import views
from pipelines.reading.points import with_meaning
from pipelines.reading.views.registry import VIEWS
from pipelines.reading.views.view_names import find_names_in
from pipelines.settings import load_settings
from pipelines.tables.telemetry import (
    CLIENT_INSTANCES,
    CLIENT_METRICS,
    CLIENT_PUSHES,
    TELEMETRY_CONTRACTS,
)
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.older_tables import make_older
from tests.support.spark.table_rows import append_rows

LABELS = (
    "client_instance_id", "client_id", "client_software_name",
    "client_software_version", "client_source_address", "client_source_port",
    "principal", "broker_id",
)  # fmt: skip
"""Those that a broker adds by KIP-714, which calls the last one node_id."""
NOW = datetime.now(tz=UTC)
INTERVAL_MS = 3_600_000


@pytest.fixture
def settings(tmp_path):
    return load_settings("base", [f"tables.root_path={tmp_path}"])


def instance(name, **fields):
    return {"client_instance_id": name, "push_interval_ms": INTERVAL_MS} | fields


def push(name, hours_ago, **fields):
    received_at = NOW - timedelta(hours=hours_ago)
    return {"client_instance_id": name, "received_at": received_at} | fields


def read_clients(spark, *columns):
    rows = spark.table(views.CLIENTS).select("client_instance_id", *columns).collect()
    return {row[0]: tuple(row)[1:] for row in rows}


def test_only_tables_that_exist_are_registered(spark, settings):
    of_conf = ["client_releases", "config_catalog", "known_faults"]
    of_conf += ["metric_semantics"]
    assert views.register(spark, settings) == of_conf
    make_tables(spark, settings.tables, [CLIENT_PUSHES])
    assert views.register(spark, settings) == ["client_pushes", *of_conf]
    make_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    names = ["client_instances", "client_metric_coverage", "client_metrics"]
    names += ["client_metrics_labelled", "client_points", "client_rollups"]
    names += ["client_subscriptions", "known_clients", "known_instances"]
    names += ["client_pushes", "clients", "newest_values", "quarantine"]
    names += [*of_conf, "client_software"]
    assert views.register(spark, settings) == sorted(names)
    assert {*names} - {one.name for one in TELEMETRY_CONTRACTS} <= {
        one.name for one in VIEWS
    }


def test_each_point_has_the_labels_of_its_own_push(spark, settings):
    make_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    names = find_names_in(views.LABELLED)
    assert views.LABELLED in views.register(spark, settings, names)
    where = {"cluster_id": "c1", "client_source_port": 9}
    append_rows(settings.tables, CLIENT_PUSHES,
        where | {"offset": 1, "push_id": "p1", "broker_id": 3},
        where | {"offset": 2, "push_id": "p2"},
        # A topic that was made anew has all coordinates once more.
        where | {"offset": 1, "push_id": "p3", "broker_id": 7},
    )  # fmt: skip
    points = [(1, "p1", 0), (1, "p1", 1), (2, "p2", 0), (1, "p3", 0), (4, "gone", 0)]
    append_rows(settings.tables, CLIENT_METRICS,
        *(
            {"offset": offset, "push_id": push_id, "point_index": place}
            for offset, push_id, place in points
        ),
    )  # fmt: skip
    labelled = spark.table(views.LABELLED)
    told = ("push_id", "point_index", "cluster_id", "client_source_port", "broker_id")
    assert sorted(map(tuple, labelled.select(*told).collect())) == [
        ("gone", 0, None, None, None),
        ("p1", 0, "c1", 9, 3),
        ("p1", 1, "c1", 9, 3),
        ("p2", 0, "c1", 9, None),
        ("p3", 0, "c1", 9, 7),
    ]
    assert set(LABELS) <= set(labelled.columns)
    assert labelled.columns[: -len(told[2:])] == list(CLIENT_METRICS.column_names)


@pytest.mark.long
def test_a_reader_of_an_older_table_sees_null_where_it_has_no_column(spark, settings):
    older = [make_older(one) for one in (CLIENT_INSTANCES, CLIENT_PUSHES)]
    ensure_tables(spark, settings.tables, [*older, CLIENT_METRICS])
    views.register(spark, settings)
    append_rows(settings.tables, CLIENT_INSTANCES, instance("a"))
    append_rows(settings.tables, CLIENT_PUSHES, push("a", 1, offset=1))
    append_rows(settings.tables, CLIENT_METRICS, {"offset": 1})
    assert read_clients(spark, "cluster_id", "broker_id") == {"a": (None, None)}
    assert spark.table(views.LABELLED).select("broker_id").collect() == [(None,)]
    # A job widens the tables meanwhile.
    ensure_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    assert read_clients(spark, "cluster_id", "broker_id") == {"a": (None, None)}
    views.register(spark, settings)
    append_rows(settings.tables, CLIENT_PUSHES, push("a", 0, offset=2, broker_id=3))
    assert read_clients(spark, "broker_id") == {"a": (3,)}


def test_newest_values_are_one_row_per_instance_metric_and_attributes(spark, settings):
    make_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    views.register(spark, settings, find_names_in(views.NEWEST_VALUES))
    known = {"client_instance_id": "a", "metric": "m", "kind": "gauge"}
    latency = "org.apache.kafka.producer.node.request.latency.avg"
    node = {"metric": latency, "node_role": "broker"}
    append_rows(settings.tables, CLIENT_INSTANCES, instance("a", cluster_id="c1"))
    append_rows(
        settings.tables,
        CLIENT_METRICS,
        known | {"value_double": 1.5, "offset": 1},
        known | {"value_long": 7, "offset": 2},
        known | {"value_double": float("nan"), "offset": 3},
        known | {"value_double": float("inf"), "offset": 4},
        known | {"offset": 5},
        known | {"value_double": 2.5, "topic_name": "t"},
        known | {"value_double": 3.5, "topic_name": "t", "topic_partition": 1},
        known | {"value_double": 4.5, "attributes": [("k", "v")]},
        # The slow broker does not hide behind the quick one.
        known | node | {"value_double": 900.0, "node_id": "1", "point_index": 0},
        known | node | {"value_double": 3.0, "node_id": "2", "point_index": 1},
    )
    names = ("metric", "level", "node_id", "value", "unit", "cluster_id")
    rows = spark.table(views.NEWEST_VALUES).select(*names).collect()
    assert sorted(map(tuple, rows), key=str) == [
        ("m", "client", None, 4.5, "number", "c1"),
        ("m", "client", None, 7.0, "number", "c1"),
        ("m", "partition", None, 3.5, "number", "c1"),
        ("m", "topic", None, 2.5, "number", "c1"),
        (latency, "node", "1", 900.0, "ms", "c1"),
        (latency, "node", "2", 3.0, "ms", "c1"),
    ]


def test_newest_values_of_clients_with_wrong_metrics_are_marked(spark, settings):
    make_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    views.register(spark, settings, find_names_in(views.NEWEST_VALUES))
    known = {"metric": "m", "client_software_name": "kgo", "value_double": 1.0}
    append_rows(
        settings.tables,
        CLIENT_METRICS,
        known | {"client_instance_id": "b", "client_software_version": "v1.20.5"},
        known | {"client_instance_id": "c", "client_software_version": "v1.21.4"},
    )
    rows = spark.table(views.NEWEST_VALUES).collect()
    marked = {r["client_instance_id"] for r in rows if r[views.METRICS_FAULT]}
    assert marked == {"b"}
    points = spark.table("client_metrics").transform(with_meaning)
    wrong = points.transform(views.select_wrong_metrics)
    assert [r["client_software_version"] for r in wrong.collect()] == ["v1.20.5"]


def test_client_rollups_combine_the_newest_pushes_of_active_instances(spark, settings):
    make_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    views.register(spark, settings, find_names_in("client_rollups client_points"))
    rate, total = (
        f"org.apache.kafka.producer.outgoing.byte.{end}" for end in ("rate", "total")
    )
    who = {"client_id": "orders", "principal": "User:a"}
    made = {"cluster_id": "c1", "client_type": "producer"} | who
    append_rows(
        settings.tables,
        CLIENT_INSTANCES,
        instance("a", **made),
        instance("b", **made),
        instance("ended", **made, terminated_at=NOW),
    )
    pushes = [(name, hours) for name in "ab" for hours in (0, 1, 2)]
    pushes += [("a", 5), ("ended", 0)]

    def told(name, hours, metric, value, **fields):
        moment = NOW - timedelta(hours=hours)
        times = {"received_at": moment, "time": moment, "event_date": moment.date()}
        return {
            **who,
            **times,
            "client_instance_id": name,
            "push_id": f"{name}-{hours}",
            "metric": metric,
            "kind": "gauge",
            "value_double": value,
            **fields,
        }

    grows = {"kind": "sum", "temporality": "cumulative", "is_monotonic": True}
    append_rows(
        settings.tables,
        CLIENT_PUSHES,
        *(push(name, hours, **who) for name, hours in pushes),
    )
    append_rows(
        settings.tables,
        CLIENT_METRICS,
        *(told(*one, rate, 100.0 if one[1] < 5 else 9e9) for one in pushes),
        *(told(*one, total, 3.6e5 * (60 - one[1]), **grows) for one in pushes[:6]),
    )
    names = ("cluster_id", "client_id", "client_type", "metric", "value", "unit")
    rows = spark.table("client_rollups").select(*names, "instances").collect()
    of_client = ("c1", "orders", "producer")
    assert sorted(map(tuple, rows)) == [
        (*of_client, rate, 200.0, "bytes/s", 2),
        (*of_client, total, 200.0, "bytes/s", 2),
    ]
    growth = spark.table("client_points").where(f"metric = '{total}'")
    assert growth.agg({"amount": "sum"}).collect()[0][0] == 4 * 3.6e5


def test_a_client_instance_is_active_idle_or_terminated(spark, settings):
    make_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    views.register(spark, settings, find_names_in(views.CLIENTS))
    append_rows(
        settings.tables,
        CLIENT_INSTANCES,
        instance("active"),
        instance("idle"),
        instance("slow", push_interval_ms=2**31 - 1),
        instance("gone", terminated_at=NOW),
        instance("never", first_seen=NOW - timedelta(hours=9)),
    )
    append_rows(
        settings.tables,
        CLIENT_PUSHES,
        push("active", 2),
        push("idle", 4),
        push("idle", 9),
        push("slow", 500),
        push("gone", 1),
    )
    assert read_clients(spark, "state", "pushes") == {
        "active": ("active", 1),
        "idle": ("idle", 2),
        "slow": ("active", 1),
        "gone": ("terminated", 1),
        "never": ("idle", 0),
    }


@pytest.mark.long
def test_a_view_shows_what_was_written_after_it_was_registered(spark, settings):
    make_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    views.register(spark, settings)
    append_rows(settings.tables, CLIENT_INSTANCES, instance("a"))
    newest = {"client_source_port": 9, "bridge_id": "b9", "point_count": 5}
    append_rows(settings.tables, CLIENT_PUSHES, push("a", 9, point_count=2))
    assert read_clients(spark, "pushes", "points") == {"a": (1, 2)}
    append_rows(settings.tables, CLIENT_PUSHES, push("a", 3, **newest), push("a", 8))
    columns = ("pushes", "points", "client_source_port", "bridge_id")
    assert read_clients(spark, *columns) == {"a": (3, 8, 9, "b9")}
    assert spark.table("client_pushes").count() == 3
