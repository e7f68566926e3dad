"""Rows are changed where they stand, once, and no other row is written again."""

import json
import shutil
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables.direct.row_changes import RowChanges
from pipelines.delta_tables.retry import is_conflict
from pipelines.delta_tables.transactions import Transaction
from pipelines.delta_tables.ways import POSITION
from pipelines.errors import IncompatibleTable, MissingTable
from pipelines.tables.columns import Column, required
from pipelines.tables.contract import TableContract, create_statement

CONTRACT = TableContract(
    name="things",
    comment="Things.",
    columns=(required("id", "BIGINT", "Key."), Column("text", "STRING", "Text.")),
    merge_key=("id",),
    contract_version=1,
    properties={"delta.enableDeletionVectors": "true"},
)
SCHEMA = "id BIGINT, text STRING, is_gone BOOLEAN"


@pytest.fixture
def location(spark, tmp_path):
    spark.sql(create_statement(CONTRACT, f"delta.`{tmp_path}/things`"))
    return f"{tmp_path}/things"


def change(spark, location, batch_id, *rows, query_id="query"):
    """Give each id its text, or take it away."""
    transaction = Transaction(query_id=query_id, batch_id=batch_id)
    changes = RowChanges(spark, CONTRACT, location, transaction)
    wanted = spark.createDataFrame(
        [(number, text, text is None) for number, text in rows], SCHEMA
    )
    known = changes.read().select("id", POSITION)
    changes.commit(wanted.join(known, "id", "left").persist(), is_gone="is_gone")


def read(spark, location):
    rows = spark.read.format("delta").load(location).collect()
    return sorted(map(tuple, rows))


def read_actions(location, version):
    lines = Path(location, "_delta_log", f"{version:020}.json").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_rows_are_added_replaced_and_taken_away(spark, location):
    change(spark, location, 0, (1, "a"), (2, "b"), (3, "c"), (4, "d"))
    change(spark, location, 1, (2, "B"), (3, None), (5, "e"))
    assert read(spark, location) == [(1, "a"), (2, "B"), (4, "d"), (5, "e")]
    change(spark, location, 2, (1, "A"), (2, "BB"))
    assert read(spark, location) == [(1, "A"), (2, "BB"), (4, "d"), (5, "e")]


@pytest.mark.long
def test_no_other_row_is_written(spark, location):
    change(spark, location, 0, *((number, "a") for number in range(100)))
    change(spark, location, 1, (7, "b"), (200, "b"))
    added = [one["add"] for one in read_actions(location, 2) if "add" in one]
    new = [one for one in added if "deletionVector" not in one]
    assert [json.loads(one["stats"])["numRecords"] for one in new] == [2]
    marked = [one["deletionVector"] for one in added if "deletionVector" in one]
    assert [one["cardinality"] for one in marked] == [1]


@pytest.mark.long
def test_a_file_without_a_row_left_is_taken_away(spark, location):
    change(spark, location, 0, (1, "a"))
    change(spark, location, 1, (1, None))
    assert read(spark, location) == []
    assert not any("deletionVector" in str(one) for one in read_actions(location, 2))


@pytest.mark.long
def test_a_batch_that_comes_again_changes_nothing(spark, location):
    change(spark, location, 0, (1, "a"))
    change(spark, location, 1, (1, "b"), (2, "b"))
    change(spark, location, 1, (1, "again"), (2, None), (3, "again"))
    assert read(spark, location) == [(1, "b"), (2, "b")]
    change(spark, location, 0, (1, "c"), query_id="another")
    assert read(spark, location) == [(1, "c"), (2, "b")]


def test_a_table_changed_meanwhile_is_not_written_over(spark, location):
    change(spark, location, 0, (1, "a"), (2, "a"))
    late = RowChanges(spark, CONTRACT, location, Transaction(query_id="q", batch_id=0))
    rows = late.read().where("id = 1").withColumn("text", F.lit("late")).persist()
    rows.count()
    change(spark, location, 1, (1, "b"))
    with pytest.raises(Exception, match="DELTA_CONCURRENT"):
        late.commit(rows)
    assert read(spark, location) == [(1, "b"), (2, "a")]


def test_a_table_without_deletion_vectors_is_refused(spark, location):
    name = f"delta.`{location}`"
    spark.sql(
        f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')"
    )
    with pytest.raises(IncompatibleTable, match=r"delta\.enableDeletionVectors"):
        change(spark, location, 0, (1, "a"))


def test_a_table_that_was_deleted_gets_no_file(spark, location):
    transaction = Transaction(query_id="query", batch_id=0)
    late = RowChanges(spark, CONTRACT, location, transaction)
    place = F.lit(None).cast("STRUCT<file_path: STRING, row_index: BIGINT>")
    rows = spark.createDataFrame([(1, "a")], "id BIGINT, text STRING")
    shutil.rmtree(location)
    with pytest.raises(MissingTable, match=f"table things at {location} is gone"):
        late.commit(rows.withColumn(POSITION, place).persist())
    with pytest.raises(MissingTable, match=f"table things at {location} is gone"):
        RowChanges(spark, CONTRACT, location, transaction)
    assert not Path(location).exists()


def test_of_two_that_add_one_key_at_once_the_later_fails(spark, location):
    first, second = (
        RowChanges(spark, CONTRACT, location, Transaction(query_id=name, batch_id=0))
        for name in ("one", "other")
    )
    place = "STRUCT<file_path: STRING, row_index: BIGINT>"
    row = spark.createDataFrame([(9, "x")], "id BIGINT, text STRING").withColumn(
        POSITION, F.lit(None).cast(place)
    )
    first.commit(row.persist())
    with pytest.raises((PySparkException, Py4JJavaError), check=is_conflict):
        second.commit(row.persist())
    assert read(spark, location) == [(9, "x")]


@pytest.mark.long
def test_a_row_that_is_named_twice_is_marked_once(spark, location):
    change(spark, location, 0, (1, "a"), (2, "b"), (3, "c"))
    transaction = Transaction(query_id="query", batch_id=1)
    changes = RowChanges(spark, CONTRACT, location, transaction)
    known = changes.read().where("id = 1").select("id", POSITION)
    wanted = spark.createDataFrame([(1, "A", False), (1, None, True)], SCHEMA)
    changes.commit(wanted.join(known, "id").persist(), is_gone="is_gone")
    assert read(spark, location) == [(1, "A"), (2, "b"), (3, "c")]
