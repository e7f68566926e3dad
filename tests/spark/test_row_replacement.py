"""Rows of single pushes are replaced in one commit, and appends go on beside it."""

from datetime import date

import pytest
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.testing import assertDataFrameEqual

from pipelines.delta_tables.digests import (
    digest_pushes,
    filter_differing,
    select_totals,
)
from pipelines.delta_tables.spark_writer import PLACE, MergedReplacement
from pipelines.tables.columns import COORDINATES, EVENT_DATE, Column, required
from pipelines.tables.contract import (
    PUSH,
    STATISTICS_PROPERTY,
    TableContract,
    create_statement,
)

pytestmark = pytest.mark.long

VALUES = (
    Column("number", "DOUBLE", "A value."),
    Column("whole", "BIGINT", "A value."),
    Column("named", "MAP<STRING, STRING>", "Values by name."),
    Column("nested", "STRUCT<a: DOUBLE, b: ARRAY<DOUBLE>>", "Values in one."),
)
PUSH_ID = required("push_id", "STRING", "Of one push.")
CONTRACT = TableContract(
    name="things",
    comment="Things.",
    columns=(*COORDINATES, PUSH_ID, EVENT_DATE, *VALUES),
    merge_key=("offset",),
    contract_version=1,
    partition_by=("event_date",),
    properties={STATISTICS_PROPERTY: "offset,number"},
)
SCHEMA = ", ".join(f"`{c.name}` {c.sql_type}" for c in CONTRACT.columns)
DAY = date(2026, 3, 1)
NAN_BITS = 0x7FF8_DEAD_BEEF_0000
NOTHING = (None, None, None, None)


def rows_of(spark, *rows):
    """Return rows of pushes, each (offset, number, whole, named, nested)."""
    made = [("t", 0, offset, "p", DAY, *values) for offset, *values in rows]
    return spark.createDataFrame(made, SCHEMA)


@pytest.fixture
def table(spark, tmp_path):
    name = f"delta.`{tmp_path}/things`"
    spark.sql(create_statement(CONTRACT, name))
    rows_of(
        spark,
        (1, 0.5, None, None, None),
        (1, 0.5, None, None, None),
        (2, 0.5, 7, None, None),
        (3, *NOTHING),
    ).coalesce(1).writeTo(name).append()
    return name


def test_a_push_of_another_date_is_none_of_its_business(spark, table):
    """Only the partitions of old rows are read, so that others may be written to."""
    other = rows_of(spark, (7, *NOTHING)).withColumn(
        "event_date", F.lit("2026-03-02").cast("date")
    )
    now = MergedReplacement(spark, CONTRACT, table)
    other.writeTo(table).append()
    pushes = rows_of(spark, (3, *NOTHING), (7, *NOTHING))
    now.commit(pushes, [str(DAY)], pushes.limit(0), row_count=0)
    offsets = [row["offset"] for row in spark.table(table).collect()]
    assert sorted(offsets) == [1, 1, 2, 7]


def find_differing(now, fresh):
    return filter_differing(
        digest_pushes(now.read(), VALUES, f"collect_set({PLACE}) AS places"),
        digest_pushes(fresh, VALUES),
    )


def replace(now, differing, fresh):
    files = differing.transform(select_totals).collect()[0]["places"]
    rows = fresh.join(differing, PUSH, "left_semi")
    now.commit(differing, files, rows.select(*fresh.columns), row_count=1)


def test_a_difference_is_replaced_and_what_came_meanwhile_stays(spark, table):
    now = MergedReplacement(spark, CONTRACT, table)
    fresh = rows_of(
        spark, (1, 0.5, None, None, None), (2, 0.5, 7, None, None), (4, *NOTHING)
    )
    rows_of(spark, (5, *NOTHING)).writeTo(table).append()
    differing = find_differing(now, fresh).cache()
    found = {
        (r["offset"], r["stored_rows"], r["fresh_rows"]) for r in differing.collect()
    }
    assert found == {(1, 2, 1), (3, 1, 0), (4, 0, 1)}
    replace(now, differing, fresh)
    expected = fresh.unionByName(rows_of(spark, (5, *NOTHING)))
    assertDataFrameEqual(spark.table(table), expected)


def test_a_column_of_the_users_own_stays_with_the_rows_that_stay(spark, table):
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (note STRING)")
    spark.sql(f"UPDATE {table} SET note = 'mine'")  # noqa: S608 - a table of ours
    now = MergedReplacement(spark, CONTRACT, table)
    fresh = rows_of(spark, (1, 0.5, None, None, None), (2, 9.5, 7, None, None))
    differing = find_differing(now, fresh).cache()
    replace(now, differing.where("offset = 2"), fresh)
    notes = spark.table(table).groupBy("offset").agg(F.max("note")).collect()
    assert dict(map(tuple, notes)) == {1: "mine", 2: None, 3: "mine"}


@pytest.mark.parametrize(
    ("stored", "fresh"),
    [
        ((0.0, None, None, None), (-0.0, None, None, None)),
        ((0.0, None, None, None), (None, 0, None, None)),
        ((None, None, {"a": "1"}, None), (None, None, {"a": "2"}, None)),
        ((None, None, {"a": None}, None), (None, None, {}, None)),
        ((None, None, {}, None), NOTHING),
        ((None, None, None, (0.0, [])), (None, None, None, (-0.0, []))),
        ((None, None, None, (None, [0.0])), (None, None, None, (None, [-0.0]))),
        ((None, None, None, (None, None)), (None, None, None, (None, []))),
    ],
    ids=str,
)
def test_values_that_compare_alike_are_told_apart(spark, stored, fresh):
    one, other = rows_of(spark, (1, *stored)), rows_of(spark, (1, *fresh))
    with_files = digest_pushes(one, VALUES, "collect_set(topic) AS places")
    assert filter_differing(with_files, digest_pushes(other, VALUES)).count() == 1
    assert filter_differing(with_files, digest_pushes(one, VALUES)).count() == 0
    nan = rows_of(spark, (1, float("nan"), None, None, (float("nan"), None)))
    nans = digest_pushes(nan, VALUES, "collect_set(topic) AS places")
    assert filter_differing(nans, digest_pushes(nan, VALUES)).count() == 0
