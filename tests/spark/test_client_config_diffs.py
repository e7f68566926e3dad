"""Differences: of one client at two moments, of two clients, of instances now."""

from datetime import UTC, datetime

import pytest
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading import views
from pipelines.reading.config_diffs import (
    client_config_diff,
    select_configs_at,
    select_instance_configs_at,
)
from pipelines.reading.config_overview import (
    select_changes,
    select_overridden_keys,
    select_value_spread,
    select_who_runs_what,
)
from pipelines.reading.views.client_config_views import ENTRIES, TIMELINE
from pipelines.settings import load_settings
from pipelines.tables.configs import (
    CLIENT_CONFIG_CONTRACTS,
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIG_PUSHES,
    CLIENT_CONFIGS,
)
from tests.support.spark.config_rows import entry, held, hours, instance, span
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.table_rows import append_rows

TWO = {"client_instance_ids": ["two"], "logical_client": "other", "client_id": "other"}


@pytest.fixture(scope="module")
def filled(spark, tmp_path_factory):
    """A session with tables in which `app` changed acks, and its two instances disagree in retries."""
    folder = tmp_path_factory.mktemp("diffs")
    made = load_settings("base", [f"tables.root_path={folder}"])
    make_tables(spark, made.tables, CLIENT_CONFIG_CONTRACTS)
    append_rows(
        made.tables,
        CLIENT_CONFIG_HISTORY,
        span("acks", "1", 0, 2),
        span("acks", "all", 2, is_default=True),
        span("linger.ms", "5", 0),
        span("retries", "3", 0),
        span("retries", "9", 1, client_instance_ids=["two"]),
        span("gone", "x", 0, 1),
        span("ssl.key.password", None, 0, 1),
        span("ssl.key.password", None, 1),
        span("acks", "all", 0, **TWO),
        span("linger.ms", "7", 0, **TWO),
        span("retries", "3", 0, **TWO),
        span("retries", "9", 0, **TWO),
        span("ssl.key.password", None, 0, **TWO),
    )
    push = {"client_instance_id": "one", "decode_status": "ok"}
    append_rows(
        made.tables,
        CLIENT_CONFIG_PUSHES,
        push
        | {"received_at": hours(0), "configs": [entry("acks", "1")]}
        | {"client_type": "producer", "logical_client": "app"},
        push | {"received_at": hours(2), "configs": [entry("acks", "all")]},
        push | {"received_at": hours(3), "configs": None, "decode_status": "truncated"},
    )
    append_rows(
        made.tables,
        CLIENT_CONFIGS,
        instance("one", {"acks": held("all"), "retries": held("3", "INT")}),
        instance(
            "two",
            {
                "acks": held("all", status="default"),
                "retries": held("9", "INT"),
                "ssl.key.password": held(None, "PASSWORD", "redacted"),
                # Defaults, whatever else they are.
                "ssl.protocol": held(None, "STRING", "redacted", is_default=True),
                "linger.ms": held("5ms", "LONG", "invalid_value", is_default=True),
            },
        ),
        instance("three", {"retries": held("9", "INT"), "acks": held("all")}),
    )
    views.register(spark, made)
    return spark


def read_diff(diff):
    return {
        row["config_key"]: (
            [tuple(one) for one in row["before"]],
            [tuple(one) for one in row["after"]],
            row["change"],
        )
        for row in diff.collect()
    }


CHANGED = {
    "acks": ([("1", False)], [("all", True)], "changed"),
    "gone": ([("x", False)], [], "removed"),
    "retries": ([("3", False)], [("3", False), ("9", False)], "changed"),
}
DIFFERENT = {"linger.ms": ([("5", False)], [("7", False)], "changed")}


def of_client(spark, client_id):
    return spark.table(TIMELINE).where(f"client_id = '{client_id}'")


def test_one_logical_client_at_two_moments(filled):
    timeline = of_client(filled, "app")
    sides = [select_configs_at(timeline, hours(at)) for at in (0, 2)]
    assert read_diff(client_config_diff(*sides)) == CHANGED
    before_all = select_configs_at(timeline, hours(-1))
    changes = read_diff(client_config_diff(before_all, sides[0])).values()
    assert {change for *_, change in changes} == {"added"}


def test_a_moment_begins_with_a_value_and_ends_before_the_next(filled):
    rows = select_configs_at(of_client(filled, "app"), hours(2)).collect()
    assert [r["config_value"] for r in rows if r["config_key"] == "acks"] == ["all"]


def test_one_instance_at_two_moments(filled):
    pushes = filled.table("client_config_pushes")
    clients = filled.table("client_configs").where("client_instance_id = 'one'")
    sides = [select_instance_configs_at(pushes, clients, hours(at)) for at in (1, 9)]
    diff = read_diff(client_config_diff(*sides))
    assert diff == {"acks": ([("1", False)], [("all", False)], "changed")}
    # The first push was of another type by itself.
    assert [row["client_type"] for row in sides[1].collect()] == ["producer"]


def test_two_clients(filled):
    now = datetime.now(tz=UTC)
    sides = [select_configs_at(of_client(filled, c), now) for c in ("app", "other")]
    # A default that the other one has set to the same is no difference.
    assert read_diff(client_config_diff(*sides)) == DIFFERENT


def test_several_clients_at_two_moments_do_not_mix(filled):
    """Taken together, `app` has added a value that `other` always had."""
    timeline = filled.table(TIMELINE).where("client_id IN ('app', 'other')")
    sides = [select_configs_at(timeline, hours(at)) for at in (0, 2)]
    rows = client_config_diff(*sides, by=["logical_client"]).collect()
    assert {row["logical_client"] for row in rows} == {"app"}
    assert read_diff(client_config_diff(*sides, by=["logical_client"])) == CHANGED
    assert "retries" not in read_diff(client_config_diff(*sides))


def test_hidden_values_are_the_same_whoever_set_them(spark):
    schema = "config_key STRING, config_value STRING, is_default BOOLEAN"
    before = spark.createDataFrame([("a", None, True), ("b", None, True)], schema)
    after = spark.createDataFrame([("a", None, False), ("b", "", True)], schema)
    assert read_diff(client_config_diff(before, after)) == {
        "b": ([(None, True)], [("", True)], "changed")
    }


def sql(text, **moments):
    for name, at in moments.items():
        text = text.replace(f":{name}", f"TIMESTAMP '{hours(at).isoformat()}'")
    return text


def test_the_functions_of_sql_say_the_same(filled):
    text = "SELECT * FROM client_config_diff('app', :a, :b)"
    assert read_diff(filled.sql(sql(text, a=0, b=2))) == CHANGED
    text = "SELECT * FROM client_config_diff('one', :a, :b)"
    assert read_diff(filled.sql(sql(text, a=1, b=9))).keys() == {"acks"}
    text = "SELECT * FROM client_config_diff_between('app', 'other')"
    assert read_diff(filled.sql(text)) == DIFFERENT
    text = "SELECT config_value FROM client_config_at('app', :a)"
    rows = filled.sql(sql(text, a=0) + " WHERE config_key = 'acks'").collect()
    assert rows == [("1",)]


@pytest.mark.long
def test_disagreements_list_each_value_with_its_active_instances(filled):
    found = filled.table("client_config_disagreements").collect()
    assert {"retries", "linger.ms"} <= {row["config_key"] for row in found}
    retries = [row for row in found if row["config_key"] == "retries"]
    shown = [(r["config_value"], r["instances"]) for r in retries]
    assert shown == [("9", 2), ("3", 1)]
    assert retries[0]["client_instance_ids"] == ["three", "two"]


@pytest.fixture(scope="module")
def entries(filled):
    """The rows of the view, worked out once."""
    return filled.table(ENTRIES).localCheckpoint()


def test_who_runs_what_and_which_keys_are_set(filled, entries):
    instances = filled.table("known_instances").withColumn("state", F.lit("active"))
    rows = select_who_runs_what(instances).collect()
    assert [tuple(row)[:4] for row in rows] == [
        ("apache-kafka-java 4.3.1", "producer", 1, 3)
    ]
    # A default is not set, also where it is hidden or does not fit its type.
    rows = select_overridden_keys(entries).drop("status").collect()
    assert [tuple(row) for row in rows] == [
        ("retries", 1, 3, 2, "9 | 3"),
        ("acks", 1, 2, 1, "all"),
        ("ssl.key.password", 1, 1, 1, ""),
    ]


def test_the_spread_of_a_key_tells_defaults_and_hidden_values(entries):
    spread = {key: select_value_spread(entries, key).collect() for key in ("acks",)}
    assert spread["acks"] == [("all", 1, 2), ("all (default)", 1, 1)]
    hidden = select_value_spread(entries.where("is_pushed"), "ssl.key.password")
    assert hidden.collect() == [("(hidden)", 1, 1)]


def test_changes_are_values_that_had_another_one_before(filled):
    rows = select_changes(of_client(filled, "app"), hours(1)).collect()
    shown = [(r["config_key"], r["before"], r["config_value"]) for r in rows]
    assert shown == [("acks", ["1"], "all"), ("retries", ["3"], "9")]
