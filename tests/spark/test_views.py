"""What readers see is what stands in the tables at that moment."""

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.testing import assertDataFrameEqual

from pipelines.delta_tables.locations import identify_table
from pipelines.reading import views
from pipelines.reading.overview import select_newest_values
from pipelines.reading.views.view_names import VIEWS
from pipelines.settings import load_settings
from pipelines.tables.telemetry import (
    CLIENT_INSTANCES,
    CLIENT_METRICS,
    CLIENT_PUSHES,
    TELEMETRY_CONTRACTS,
)
from tests.support.spark.empty_tables import make_tables

NOW = datetime.now(tz=UTC)
INTERVAL_MS = 3_600_000


@pytest.fixture
def settings(tmp_path):
    return load_settings("base", [f"tables.root_path={tmp_path}"])


def append(spark, settings, contract, *rows):
    """Append rows that say only what matters."""
    fields = spark.table(identify_table(spark, settings.tables, contract)).schema
    fillers = {"string": "x", "int": 1, "bigint": 1, "boolean": False, "binary": b""}
    fillers |= {"date": NOW.date(), "timestamp": NOW}
    blank = {
        f.name: None if f.nullable else fillers[f.dataType.simpleString()]
        for f in fields
    }
    made = [tuple((blank | row).values()) for row in rows]
    table = identify_table(spark, settings.tables, contract)
    spark.createDataFrame(made, fields).writeTo(table).append()


def instance(name, **fields):
    return {"client_instance_id": name, "push_interval_ms": INTERVAL_MS} | fields


def push(name, hours_ago, **fields):
    received_at = NOW - timedelta(hours=hours_ago)
    return {"client_instance_id": name, "received_at": received_at} | fields


def read_clients(spark, *columns):
    rows = spark.table(views.CLIENTS).select("client_instance_id", *columns).collect()
    return {row[0]: tuple(row)[1:] for row in rows}


def test_only_tables_that_exist_are_registered(spark, settings):
    assert views.register(spark, settings) == []
    make_tables(spark, settings.tables, [CLIENT_PUSHES])
    assert views.register(spark, settings) == ["client_pushes"]
    make_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    names = ["client_instances", "client_metrics", "client_pushes", "clients"]
    names += ["newest_values", "quarantine"]
    assert views.register(spark, settings) == names
    assert {*names} - {one.name for one in TELEMETRY_CONTRACTS} <= VIEWS.keys()


def test_newest_values_are_those_that_the_library_gives(spark, settings):
    make_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    views.register(spark, settings)
    known = {"client_instance_id": "a", "metric": "m"}
    append(
        spark,
        settings,
        CLIENT_METRICS,
        known | {"value_double": 1.5, "offset": 1},
        known | {"value_long": 7, "offset": 2},
        known | {"value_double": float("nan"), "offset": 3},
        known | {"offset": 4},
        known | {"metric": "n", "value_double": 2.5},
    )
    found = spark.table(views.NEWEST_VALUES)
    assert {(r["metric"], r["value"]) for r in found.collect()} == {
        ("m", 7.0),
        ("n", 2.5),
    }
    expected = spark.table("client_metrics").transform(select_newest_values)
    assertDataFrameEqual(found, expected)


def test_a_client_is_live_silent_or_terminated(spark, settings):
    make_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    views.register(spark, settings)
    append(
        spark,
        settings,
        CLIENT_INSTANCES,
        instance("live"),
        instance("silent"),
        instance("slow", push_interval_ms=2**31 - 1),
        instance("gone", terminated_at=NOW),
        instance("never", first_seen=NOW - timedelta(hours=9)),
    )
    append(
        spark,
        settings,
        CLIENT_PUSHES,
        push("live", 2),
        push("silent", 4),
        push("silent", 9),
        push("slow", 500),
        push("gone", 1),
    )
    assert read_clients(spark, "state", "pushes") == {
        "live": ("live", 1),
        "silent": ("silent", 2),
        "slow": ("live", 1),
        "gone": ("terminated", 1),
        "never": ("silent", 0),
    }


def test_a_view_shows_what_was_written_after_it_was_registered(spark, settings):
    make_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    views.register(spark, settings)
    append(spark, settings, CLIENT_INSTANCES, instance("a"))
    newest = {"client_source_port": 9, "bridge_id": "b9", "point_count": 5}
    append(spark, settings, CLIENT_PUSHES, push("a", 9, point_count=2))
    assert read_clients(spark, "pushes", "points") == {"a": (1, 2)}
    append(spark, settings, CLIENT_PUSHES, push("a", 3, **newest), push("a", 8))
    columns = ("pushes", "points", "client_source_port", "bridge_id")
    assert read_clients(spark, *columns) == {"a": (3, 8, 9, "b9")}
    assert spark.table("client_pushes").count() == 3
