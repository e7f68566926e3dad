"""What changed, and who disagrees, of rows that no table has to hold."""

import pytest
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading.config_diffs import LOGICAL_CLIENT
from pipelines.reading.config_overview import select_changes
from pipelines.reading.views import active_config_view
from pipelines.reading.views.client_config_disagreements import VIEW
from pipelines.tables.configs import CLIENT_CONFIG_HISTORY
from tests.support.spark.config_rows import hours, span

SPANS = (
    # The second roll-out of z, after it was taken back.
    ("again", "x", 0, None),
    ("again", "z", 10, 20),
    ("again", "z", 30, None),
    # What ended last is not what began last.
    ("ended", "x", 0, 50),
    ("ended", "y", 10, 20),
    ("ended", "z", 60, None),
    ("several", "x", 0, None),
    ("several", None, 1, 40),
    ("several", "y", 2, 40),
    ("several", "z", 40, None),
    ("paused", "x", 0, 10),
    ("paused", "x", 20, None),
    ("hidden", None, 0, 10),
    ("hidden", None, 20, None),
    ("first", "x", 10, None),
)


def test_a_change_comes_after_what_was_held_or_ended_last(spark):
    columns = CLIENT_CONFIG_HISTORY.columns
    ddl = ", ".join(f"{one.name} {one.sql_type}" for one in columns)
    rows = [[span(*one).get(column.name) for column in columns] for one in SPANS]
    changes = select_changes(spark.createDataFrame(rows, ddl), hours(5)).collect()
    shown = [(r["config_key"], r["before"], r["config_value"]) for r in changes]
    assert shown == [
        ("ended", ["x"], "z"),
        ("several", [None, "x", "y"], "z"),
        ("again", ["x"], "z"),
        ("again", ["x"], "z"),
        ("ended", ["x"], "y"),
    ]


@pytest.fixture
def entries(spark):
    """Entries of two logical clients; one of them has no client id."""
    columns = (*LOGICAL_CLIENT, "config_key", "config_value", "client_instance_id")
    ddl = ", ".join(f"{name} STRING" for name in columns)
    app = ("app", "User:a", "app", "producer")
    bare = ("bare", "User:a", None, None)
    return spark.createDataFrame(
        [
            (*app, "acks", "all", "one", True),
            (*app, "acks", "all", "two", False),
            (*app, "acks", "1", "three", False),
            (*app, "acks", "0", "gone", False),
            (*app, "retries", "3", "one", None),
            (*app, "retries", "9", "quiet", None),
            (*app, "ssl.key.password", None, "one", False),
            (*app, "ssl.key.password", "x", "two", False),
            (*app, "linger.ms", "5", None, None),
            (*app, "linger.ms", "7", "two", False),
            (*bare, "acks", "1", "four", None),
            (*bare, "acks", "0", "five", None),
            (*bare, "retries", "3", "five", False),
        ],
        f"{ddl}, is_default BOOLEAN",
    ).withColumn("cluster_id", F.lit("c1"))


IDENTITY = (
    *("cluster_id", "principal", "client_id", "client_source_address", "client_type"),
    "client_instance_id",
)


def test_entries_of_inactive_instances_are_not_in_the_active_ones(spark):
    ddl = ", ".join(f"{name} STRING" for name in IDENTITY)
    app = ("c1", "User:a", "app", "x", "producer")
    bare = (None, "User:a", None, "x", None)
    states = [
        (*app, "runs", "active"),
        (*app, "ended", "terminated"),
        (*app, None, "expired"),
        (*bare, None, "active"),
    ]
    known = spark.createDataFrame(states, f"{ddl}, state STRING")
    known.createOrReplaceTempView("known_instances")
    rows = [(*one[:-1], one[-1]) for one in states] + [(*app, "unknown", "no row")]
    found = spark.createDataFrame(rows, f"{ddl}, config_value STRING")
    found.createOrReplaceTempView("client_config_entries")
    kept = spark.sql(active_config_view.VIEW.sql)
    assert kept.columns == [*IDENTITY, "config_value"]
    assert sorted(kept.collect(), key=str) == sorted(
        [(*app, "runs", "active"), (*bare, None, "active")], key=str
    )


def test_disagreements_compare_known_values_of_instances(spark, entries):
    is_active = "coalesce(client_instance_id, '') NOT IN ('gone', 'quiet')"
    active = entries.where(is_active)
    # A client of the same name in another cluster is another client.
    other = active.where("config_key = 'retries'").withColumns(
        {"cluster_id": F.lit("c2"), "config_value": F.lit("8")}
    )
    active.unionByName(other).createOrReplaceTempView("active_config_entries")
    rows = spark.sql(VIEW.sql).collect()
    columns = (
        *("logical_client", "config_key", "config_value", "is_default"),
        *("client_instance_ids", "instances"),
    )
    assert [tuple(row[name] for name in columns) for row in rows] == [
        ("app", "acks", "all", True, ["one", "two"], 2),
        ("app", "acks", "1", False, ["three"], 1),
        ("bare", "acks", "0", None, ["five"], 1),
        ("bare", "acks", "1", None, ["four"], 1),
    ]
