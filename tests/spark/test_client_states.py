"""Which instances and clients exist, of which type, and in which state."""

from datetime import UTC, datetime, timedelta

import pytest

from pipelines.reading import views
from pipelines.reading.client_states import (
    held_values_query,
    known_clients_query,
    known_instances_query,
    states_query,
)
from pipelines.settings import load_settings
from pipelines.tables.configs import CLIENT_CONFIGS
from pipelines.tables.telemetry import CLIENT_INSTANCES, CLIENT_PUSHES
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.table_rows import append_rows
from tests.unit.test_databricks_dashboard import DASHBOARD

TABLES = (CLIENT_INSTANCES, CLIENT_PUSHES, CLIENT_CONFIGS, CLIENT_WIRE_CONFIGS)
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOW_SQL = "TIMESTAMP'2026-03-01 12:00:00Z'"
INTERVAL_MS = 300_000
HOUR = 60
YEARS = 5 * 365 * 24 * HOUR


def ago(minutes):
    return NOW - timedelta(minutes=minutes)


def instance(name, *, first=50 * HOUR, **fields):
    known = {"client_instance_id": name, "principal": "User:a", "client_id": name}
    known |= {"cluster_id": "c1", "client_type": "producer"}
    times = {"push_interval_ms": INTERVAL_MS, "first_seen": ago(first)}
    return known | times | fields


def push(name, minutes):
    at = ago(minutes)
    known = {"client_instance_id": name, "received_at": at, "event_date": at.date()}
    return known | {"push_interval_ms": INTERVAL_MS, "push_id": str(minutes)}


def config(name, minutes, **fields):
    known = {"client_instance_id": name, "principal": "User:a", "client_id": name}
    known |= {"cluster_id": "c1", "client_type": "producer"}
    return known | {"received_at": ago(minutes), "configs": []} | fields


def seen(client_id, minutes, **fields):
    known = {"principal": "User:a", "client_id": client_id, "cluster_id": "c1"}
    known |= {"client_type": "producer", "config_key": "acks", "config_value": "0"}
    known |= {"is_exact": True, "wire_client": client_id}
    return known | {"received_at": ago(minutes)} | fields


INSTANCES = (
    instance("active"),
    instance("idle"),
    instance("expired"),
    instance("terminated", terminated_at=ago(10)),
    instance("new", first=0),
    instance("ahead by a minute"),
    instance("once ahead"),
    instance("far ahead", first=-YEARS),
    instance("configures", terminated_at=ago(90)),
    instance("configured long ago", terminated_at=ago(40 * HOUR)),
    instance("type by configs", client_type="consumer"),
    instance("type by wire", client_type=None),
    instance("no type", client_type=None),
    instance("same name", client_id="shared"),
    instance("other cluster", client_id="shared", cluster_id="c2"),
    instance("old run", client_id="restarted", first=9 * HOUR),
    instance("new run", client_id="restarted", first=8 * HOUR),
    instance("broken telemetry"),
    instance("said goodbye", terminated_at=ago(60)),
    instance("came back", terminated_at=ago(60)),
)
PUSHES = (
    *((name, 10) for name in ("active", "type by configs", "type by wire", "no type")),
    *((name, 10) for name in ("same name", "other cluster", "old run", "new run")),
    *(("active", 11 * HOUR), ("idle", 20), ("expired", 30 * HOUR)),
    *(("terminated", 10), ("ahead by a minute", -1), ("broken telemetry", 20)),
    *(("once ahead", 20), ("once ahead", -YEARS), ("far ahead", -YEARS)),
    *(("configures", 90), ("configured long ago", 40 * HOUR)),
    *(("said goodbye", 60), ("came back", 60)),
)
CONFIGS = (
    config("type by configs", 11),
    config("configures", 80),
    config("configured long ago", 39 * HOUR),
    config("configs alone", 2 * HOUR),
    config("configs long ago", 30 * HOUR),
    config("configs far ahead", -YEARS),
)
WIRE = (
    seen("wire alone", 2 * HOUR),
    seen("wire long ago", 30 * HOUR),
    seen("type by wire", 5),
    seen("no type", 5),
    seen("no type", 5, client_type="consumer"),
    seen("shared", 5, cluster_id="c2", config_value="all"),
    seen("restarted", 5),
    seen("broken telemetry", 7),
    seen("said goodbye", 61),
    seen("came back", 59),
)


@pytest.fixture(scope="module", autouse=True)
def tables(spark, tmp_path_factory):
    root = tmp_path_factory.mktemp("tables")
    settings = load_settings("base", [f"tables.root_path={root}"])
    make_tables(spark, settings.tables, TABLES)
    append_rows(settings.tables, CLIENT_INSTANCES, *INSTANCES)
    append_rows(settings.tables, CLIENT_PUSHES, *(push(*one) for one in PUSHES))
    append_rows(settings.tables, CLIENT_CONFIGS, *CONFIGS)
    append_rows(settings.tables, CLIENT_WIRE_CONFIGS, *WIRE)
    views.register(spark, settings, [one.name for one in TABLES])


@pytest.fixture(scope="module")
def instances(spark):
    names = [one.name for one in TABLES]
    query = known_instances_query(names, now=NOW_SQL, expire_after_hours=24)
    rows = spark.sql(query).localCheckpoint()
    rows.createOrReplaceTempView("instances_now")
    return rows.collect()


def test_an_instance_has_the_state_of_its_newest_sign_of_life(instances):
    states = {r["client_instance_id"]: r["state"] for r in instances}
    del states[None]
    assert states == dict.fromkeys(states, "active") | {
        "idle": "idle",
        "once ahead": "idle",
        "broken telemetry": "idle",
        "expired": "expired",
        "far ahead": "expired",
        "configured long ago": "expired",
        "configs long ago": "expired",
        "configs far ahead": "expired",
        "terminated": "terminated",
        "said goodbye": "terminated",
        "came back": "terminated",
    }


def test_an_instance_ended_when_it_terminated_or_became_idle(instances):
    ends = {r["client_instance_id"]: r["ended_at"] for r in instances}
    known = {name: at.astimezone(UTC) for name, at in ends.items() if at}
    assert known == {
        "idle": ago(5),
        "once ahead": ago(5),
        "broken telemetry": ago(5),
        "expired": ago(30 * HOUR - 15),
        "terminated": ago(10),
        "said goodbye": ago(60),
        "came back": ago(60),
    }


def test_a_client_type_comes_from_configs_then_telemetry_then_the_proxy(instances):
    types = {
        r["client_instance_id"]: (r["client_type"], r["client_type_source"])
        for r in instances
    }
    assert types["type by configs"] == ("producer", "configs")
    assert types["active"] == ("producer", "telemetry")
    assert types["type by wire"] == ("producer", "wire")
    # Two types behind one client ID: nobody can tell.
    assert types["no type"] == (None, None)


def test_a_client_of_the_proxy_alone_has_no_first_seen(instances):
    rows = [r for r in instances if r["known_by"] == "wire"]
    assert {
        (r["cluster_id"], r["client_id"], r["client_type"], r["state"]) for r in rows
    } == {
        ("c1", "wire alone", "producer", "active"),
        ("c1", "wire long ago", "producer", "expired"),
        # No instance with that type is known.
        ("c1", "no type", "producer", "active"),
        ("c1", "no type", "consumer", "active"),
        # The instance of that name no longer reports.
        ("c1", "broken telemetry", "producer", "active"),
        ("c1", "came back", "producer", "active"),
    }
    assert {(r["client_instance_id"], r["first_seen"]) for r in rows} == {(None, None)}


def test_a_value_on_the_wire_belongs_to_the_newest_active_instance(spark):
    names = [one.name for one in TABLES]
    states = states_query(names, now=NOW_SQL, expire_after_hours=24)
    rows = spark.sql(held_values_query(states)).collect()
    held = {r["client_id"]: r["client_instance_id"] for r in rows}
    assert held == dict.fromkeys(held) | {
        "type by wire": "type by wire",
        "shared": "other cluster",
        "restarted": "new run",
        "said goodbye": "said goodbye",
    }


@pytest.mark.usefixtures("instances")
def test_a_client_is_as_active_as_its_instances(spark):
    rows = spark.sql(known_clients_query("instances_now")).collect()
    found = {
        (r["cluster_id"], r["client_id"], r["client_type"]): (
            *(r["state"], r["known_by"], r["instances"], r["active_instances"]),
        )
        for r in rows
    }
    assert found["c1", "restarted", "producer"] == ("active", "telemetry", 2, 2)
    assert found["c1", "shared", "producer"] == ("active", "telemetry", 1, 1)
    assert found["c2", "shared", "producer"] == ("active", "telemetry", 1, 1)
    assert found["c1", "wire alone", "producer"] == ("active", "wire", 0, 0)
    assert found["c1", "broken telemetry", "producer"] == ("active", "telemetry", 1, 0)
    assert len(found) == len(rows)


def test_recent_pushes_are_enough_for_active_instances(spark, instances):
    names = [one.name for one in TABLES]
    query = states_query(
        names, now=NOW_SQL, expire_after_hours=24, since=f"{NOW_SQL} - INTERVAL 3 HOURS"
    )
    rows = spark.sql(query).where("state = 'active'").collect()
    active = {r["client_instance_id"] for r in instances if r["state"] == "active"}
    assert {r["client_instance_id"] for r in rows} == active - {None}


def test_the_dashboard_shows_the_same_states(spark, instances):
    (states,) = (one for one in DASHBOARD["datasets"] if one["name"] == "states")
    query = "".join(states["queryLines"]).replace("current_timestamp()", NOW_SQL)
    query = query.replace("current_date()", "DATE'2026-03-01'")
    shown = {r["client_instance_id"]: r["state"] for r in spark.sql(query).collect()}
    expected = {r["client_instance_id"]: r["state"] for r in instances}
    # The dashboard reads telemetry alone.
    others = {one["client_instance_id"] for one in CONFIGS} | {"far ahead"}
    compared = {*shown} - others
    assert {expected[one] for one in compared} == {
        *("active", "idle", "terminated", "expired"),
    }
    assert {one: shown[one] for one in compared} == {
        one: expected[one] for one in compared
    }
