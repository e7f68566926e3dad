"""Rows of single pushes are replaced in one commit, and appends go on beside it."""

import shutil
import struct
from datetime import date
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pytest
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.testing import assertDataFrameEqual

from pipelines.delta_tables.digests import (
    FILE_NAME,
    digest_pushes,
    filter_differing,
    select_totals,
)
from pipelines.delta_tables.direct.row_replacement import CONFLICTS, Replacement
from pipelines.delta_tables.layouts import layout_of
from pipelines.errors import MissingTable
from pipelines.tables.columns import COORDINATES, EVENT_DATE, Column, required
from pipelines.tables.contract import (
    PUSH,
    STATISTICS_PROPERTY,
    TableContract,
    create_statement,
)
from udfs.spark import encode_row_files

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


def encode(rows):
    layout = layout_of(CONTRACT, columns=rows.columns)
    return encode_row_files(rows, layout, EVENT_DATE.name)


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


def find_differing(now, fresh):
    return filter_differing(
        digest_pushes(now.read(), VALUES, f"collect_set({FILE_NAME}) AS files"),
        digest_pushes(fresh, VALUES),
    )


def replace(now, differing, fresh):
    files = differing.transform(select_totals).collect()[0]["files"]
    rows = fresh.join(differing, PUSH, "left_semi")
    now.commit(
        differing, files, rows.select(*fresh.columns), row_count=1, encode=encode
    )


def test_a_difference_is_replaced_and_what_came_meanwhile_stays(spark, table):
    now = Replacement(spark, CONTRACT, table)
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


def test_an_append_that_began_before_it_does_not_fail(spark, table):
    """Each commits upon a version that the other one has not seen."""
    streams = Replacement(spark, CONTRACT, table)
    now = Replacement(spark, CONTRACT, table)
    differing = rows_of(spark, (3, *NOTHING))
    files = [row[0] for row in now.read().select(FILE_NAME).distinct().collect()]
    now.commit(differing, files, differing.limit(0), row_count=0, encode=encode)
    streams.commit(
        differing.limit(0),
        [],
        rows_of(spark, (6, *NOTHING)),
        row_count=1,
        encode=encode,
    )
    offsets = [r[0] for r in spark.table(table).select("offset").collect()]
    assert sorted(offsets) == [1, 1, 2, 6]


def test_of_two_that_remove_one_file_the_later_fails(spark, table):
    first, second = (
        Replacement(spark, CONTRACT, table),
        Replacement(spark, CONTRACT, table),
    )
    pushes = rows_of(spark, (3, *NOTHING))
    files = [row[0] for row in first.read().select(FILE_NAME).distinct().collect()]
    first.commit(pushes, files, pushes.limit(0), row_count=0, encode=encode)
    with pytest.raises(CONFLICTS):
        second.commit(pushes, files, pushes.limit(0), row_count=0, encode=encode)
    assert spark.table(table).count() == 3


def test_a_table_that_was_deleted_gets_no_file(spark, table, tmp_path):
    now = Replacement(spark, CONTRACT, table)
    rows = rows_of(spark, (6, *NOTHING))
    shutil.rmtree(tmp_path / "things")
    with pytest.raises(MissingTable, match=r"table things at .*/things is gone"):
        now.commit(rows.limit(0), [], rows, row_count=1, encode=encode)
    assert not (tmp_path / "things").exists()


def test_a_column_of_the_users_own_stays_with_the_rows_that_stay(spark, table):
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (note STRING)")
    spark.sql(f"UPDATE {table} SET note = 'mine'")  # noqa: S608 - a table of ours
    now = Replacement(spark, CONTRACT, table)
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
    with_files = digest_pushes(one, VALUES, "collect_set(topic) AS files")
    assert filter_differing(with_files, digest_pushes(other, VALUES)).count() == 1
    assert filter_differing(with_files, digest_pushes(one, VALUES)).count() == 0
    nan = rows_of(spark, (1, float("nan"), None, None, (float("nan"), None)))
    nans = digest_pushes(nan, VALUES, "collect_set(topic) AS files")
    assert filter_differing(nans, digest_pushes(nan, VALUES)).count() == 0


def test_a_nan_keeps_its_payload_whether_it_stays_or_comes(spark, table):
    """Spark's own writer makes one of all of them."""
    for offset, removed in ((7, 1), (8, 7), (9, 2)):
        now = Replacement(spark, CONTRACT, table)
        files = [row[0] for row in now.read().select(FILE_NAME).distinct().collect()]
        pushes = rows_of(spark, (removed, *NOTHING))
        fresh = with_nans(spark, offset, NAN_BITS + offset)
        now.commit(pushes, files, fresh, row_count=1, encode=encode)
    stored = pyarrow.dataset.dataset(
        [unquote(urlsplit(name).path) for name in spark.table(table).inputFiles()]
    ).to_table(filter=pc.field("offset") > 3)
    found = {
        offset: (number.view("int64").tolist(), nested.view("int64").tolist())
        for offset, number, nested in zip(
            stored["offset"].to_pylist(),
            stored["number"].to_numpy().reshape(-1, 1),
            stored["nested"].combine_chunks().field("a").to_numpy().reshape(-1, 1),
            strict=True,
        )
    }
    assert found == {n: ([NAN_BITS + n], [NAN_BITS + n]) for n in (8, 9)}


def with_nans(spark, offset, bits):
    """Return one row of a push, with a NaN of these bits in its numbers."""
    schema = to_arrow_schema(spark.createDataFrame([], SCHEMA).schema, timezone="UTC")

    def make(_):
        nan = struct.unpack("<d", struct.pack("<q", bits))[0]
        row = dict.fromkeys(schema.names) | {
            "topic": "t", "partition": 0, "offset": offset, "push_id": "p",
            "event_date": DAY, "number": nan, "nested": {"a": nan, "b": [nan]},
        }  # fmt: skip
        yield pa.RecordBatch.from_pylist([row], schema=schema)

    return spark.range(1).coalesce(1).mapInArrow(make, SCHEMA)
