"""A client instance is a function of the set of its pushes, whatever their order."""

import itertools
import random

import pytest
from delta.tables import DeltaTable
from pyspark.testing import assertDataFrameEqual

from pipelines.delta_tables.locations import identify_table
from pipelines.delta_tables.setup import ensure_tables
from pipelines.delta_tables.transactions import Transaction
from pipelines.delta_tables.writers import open_writer
from pipelines.jobs.telemetry.instances import InstanceWriter
from pipelines.settings import load_settings
from pipelines.tables.telemetry import CLIENT_INSTANCES, CLIENT_PUSHES
from tests.support.spark.instance_tables import (
    INSTANCE_SCHEMA,
    Tables,
    at,
    make_instance,
    make_push,
    make_pushes,
)
from udfs.envelopes.deciding_pushes import select_deciding

STORIES = {
    "there and back again": (
        [
            (1, {"principal": "User:a"}),
            (2, {"principal": "User:b"}),
            (3, {"principal": "User:a"}),
        ],
        {"principal": "User:a", "first_seen": at(1)},
    ),
    "alive after terminating": (
        [
            (1, {}),
            (2, {"terminating": True}),
            (3, {"client_type": None, "group_id": None, "point_count": 0}),
        ],
        {"first_seen": at(1), "terminated_at": None},
    ),
    "an empty last push": (
        [
            (1, {"group_id": "old", "group_member_id": "m"}),
            (2, {"group_id": "new", "client_type": None}),
            (3, {"terminating": True, "point_count": 0, "group_id": None}),
        ],
        {"group_id": "new", "first_seen": at(1), "terminated_at": at(3)},
    ),
}


def list_orders():
    """Give each order of each story to a client instance of its own."""
    for story, (pushes, expected) in STORIES.items():
        for number, order in enumerate(itertools.permutations(pushes)):
            yield f"{story} {number}", order, expected


def test_the_order_of_pushes_does_not_matter(spark):
    tables = Tables(spark)
    for step in range(3):
        batch = [
            make_push(instance, order[step][0], **order[step][1])
            for instance, order, _ in list_orders()
        ]
        tables.write(batch)
    rows = [make_instance(name, **expected) for name, _, expected in list_orders()]
    assertDataFrameEqual(
        tables.frames()[0], spark.createDataFrame(rows, INSTANCE_SCHEMA)
    )


def test_one_batch_of_all_pushes_says_the_same(spark):
    tables = Tables(spark)
    tables.write(
        [
            make_push("i", 2, group_id="new", client_type=None),
            make_push("i", 3, terminating=True, point_count=0, group_id=None),
            make_push("i", 1, group_id="old", group_member_id="m"),
            make_push("j", 5, client_type=None, group_id=None, point_count=0),
        ]
    )
    expected = [
        make_instance("i", group_id="new", first_seen=at(1), terminated_at=at(3)),
        make_instance("j", group_id=None, client_type=None, first_seen=at(5)),
    ]
    assertDataFrameEqual(
        tables.frames()[0], spark.createDataFrame(expected, INSTANCE_SCHEMA)
    )


def test_a_push_that_changes_nothing_is_not_written(spark):
    tables = Tables(spark)
    assert tables.write([make_push("i", 1)]) == 1
    assert tables.write([make_push("i", 2)]) == 0
    empty = make_push("i", 3, client_type=None, group_id=None, point_count=0)
    assert tables.write([empty, make_push("j", 3, client_id=None)]) == 1
    assert tables.write([make_push("j", 4, client_id=None)]) == 0


def test_of_two_pushes_at_one_moment_the_greater_push_id_is_newer(spark):
    tables = Tables(spark)
    tables.write([make_push("i", 1, push_id="b", principal="User:b")])
    tables.write([make_push("i", 1, push_id="a", principal="User:a")])
    expected = [make_instance("i", principal="User:b", first_seen=at(1))]
    assertDataFrameEqual(
        tables.frames()[0], spark.createDataFrame(expected, INSTANCE_SCHEMA)
    )


def test_a_change_of_the_interval_is_a_change(spark):
    tables = Tables(spark)
    tables.write([make_push("i", 1)])
    assert tables.write([make_push("i", 2, push_interval_ms=2000)]) == 1


def test_a_push_by_another_broker_is_not_written_and_one_for_another_cluster_is(spark):
    tables = Tables(spark)
    led = {"cluster_id": "c1", "broker_id": 2}
    assert tables.write([make_push("i", 2, **led)]) == 1
    assert tables.write([make_push("i", 3, **led | {"broker_id": 1})]) == 0
    assert tables.write([make_push("i", 4, **led | {"broker_id": None})]) == 0
    # Nobody has looked into the tables for it.
    assert tables.compared == 1
    assert tables.write([make_push("i", 5, **led | {"cluster_id": "c2"})]) == 1
    assert tables.write([make_push("i", 1, **led | {"broker_id": 9})]) == 1
    assert tables.write([make_push("i", 1, **led | {"broker_id": 8})]) == 1
    expected = [
        make_instance("i", first_seen=at(1), cluster_id="c2", broker_id=8),
    ]
    assertDataFrameEqual(
        tables.frames()[0], spark.createDataFrame(expected, INSTANCE_SCHEMA)
    )


def test_what_is_known_is_not_asked_for(spark):
    tables = Tables(spark)
    tables.write([make_push("i", 2), make_push("j", 2)])
    assert tables.compared == 2
    tables.write([make_push("i", 3), make_push("j", 4)])
    tables.write([make_push("i", 5, client_type=None, group_id=None, point_count=0)])
    assert tables.compared == 2
    assert tables.write([make_push("i", 6), make_push("j", 1)]) == 1
    assert tables.compared == 3
    tables.known.forget()
    assert tables.write([make_push("i", 7), make_push("j", 8)]) == 0
    assert tables.compared == 5
    expected = [
        make_instance(name, first_seen=at(m)) for name, m in [("i", 2), ("j", 1)]
    ]
    assertDataFrameEqual(
        tables.frames()[0], spark.createDataFrame(expected, INSTANCE_SCHEMA)
    )


@pytest.mark.parametrize("way", ["spark", "files"])
def test_new_ones_and_others_are_written_where_the_table_is_joined(
    spark, tmp_path, way
):
    """By `files` what a user added is looked up as on HDFS and in object stores."""
    settings = load_settings(
        "local", [f"tables.root_path={tmp_path}", f"tables.writer={way}"]
    ).tables
    contracts = (CLIENT_INSTANCES, CLIENT_PUSHES)
    ensure_tables(spark, settings, contracts)
    table = identify_table(spark, settings, CLIENT_INSTANCES)
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (note STRING)")
    instances = InstanceWriter(tables=open_writer(spark, settings, contracts))

    def write(batch_id, *pushes):
        deciding = select_deciding(make_pushes(spark, *pushes))
        named = Transaction(query_id="query", batch_id=batch_id)
        instances.write(spark, deciding, named)

    write(0, make_push("i", 0), make_push("j", 0))
    DeltaTable.forName(spark, table).update(set={"note": "client_instance_id"})
    write(1, make_push("i", 1, principal="User:bob"), make_push("k", 1))
    rows = spark.table(table).select("client_instance_id", "principal", "note")
    assert sorted(map(tuple, rows.collect())) == [
        *(("i", "User:bob", "i"), ("j", "User:alice", "j"), ("k", "User:alice", None)),
    ]


def make_random_pushes(chance, count):
    return [
        make_push(
            f"i{chance.randrange(30)}",
            chance.randrange(9),
            push_id=chance.choice(["", "é", "z", "\uffff"]) + f"{number:04}",
            principal=f"User:{chance.randrange(3)}",
            client_id=chance.choice([None, "c", "d"]),
            client_type=chance.choice([None, "producer", "consumer"]),
            group_id=chance.choice([None, "g", "h"]),
            client_rack=chance.choice([None, "r"]),
            cluster_id=chance.choice([None, "c1", "c2"]),
            broker_id=chance.choice([None, 1, 2, 2**31 - 1]),
            point_count=chance.choice([None, 0, 0, 1]),
            terminating=chance.random() < 0.3,
        )
        for number in range(count)
    ]


@pytest.mark.long
def test_any_order_of_any_batches_leaves_the_same_table(spark):
    chance = random.Random(1)  # noqa: S311 - to be repeatable
    sent = make_random_pushes(chance, 200)
    found = []
    for _ in range(2):
        chance.shuffle(sent)
        tables = Tables(spark)
        for start in range(0, len(sent), 25):
            tables.write(sent[start : start + 25])
        found.append(tables.instances)
    assert found[0] == found[1]
    whole = Tables(spark)
    whole.write(sent)
    assert whole.instances == found[0]
