"""Rows that are found in the files are those that a join with the table finds."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from delta.tables import DeltaTable
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables.direct import deletion_vectors
from pipelines.delta_tables.direct.deletion_vectors import StoredVectors
from pipelines.delta_tables.direct.delta_transactions import list_files
from pipelines.delta_tables.direct.key_places import can_read
from pipelines.delta_tables.direct.row_changes import RowChanges
from pipelines.delta_tables.transactions import Transaction
from pipelines.delta_tables.ways import POSITION
from pipelines.tables.columns import required
from pipelines.tables.contract import TableContract, create_statement
from udfs.files.row_bitmaps import MalformedBitmap

CONTRACT = TableContract(
    name="things",
    comment="Things.",
    columns=(
        required("id", "STRING", "Key."),
        required("at", "TIMESTAMP", "When."),
        required("push_id", "STRING", "Of that moment, the last."),
    ),
    merge_key=("id",),
    newest_by=("at", "push_id"),
    contract_version=1,
    properties={"delta.enableDeletionVectors": "true"},
)
SCHEMA = "id STRING, at TIMESTAMP, push_id STRING"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(second):
    return NOON + timedelta(seconds=second, microseconds=123)


def rows_of(spark, *rows):
    made = [(key, at(second), push_id) for key, second, push_id in rows]
    return spark.createDataFrame(made, SCHEMA)


def spoil_last_byte(data):
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.fixture
def location(spark, tmp_path):
    """A table of three files, with rows marked in two of them."""
    path = f"{tmp_path}/things with a space"
    spark.sql(create_statement(CONTRACT, f"delta.`{path}`"))
    for batch in range(2):
        rows = rows_of(spark, *((f"{batch}-{n}", n, f"p{n}") for n in range(40)))
        write(spark, path, batch, rows.withColumn(POSITION, F.lit(None)))
    changes = begin(spark, path, 2)
    wanted = rows_of(spark, *((f"{n % 2}-{n}", 100 + n, "new") for n in range(9)))
    known = changes.read().select("id", POSITION)
    changes.commit(wanted.join(known, "id", "left").persist())
    return path


def begin(spark, path, batch_id):
    transaction = Transaction(query_id="query", batch_id=batch_id)
    return RowChanges(spark, CONTRACT, path, transaction)


def write(spark, path, batch_id, rows):
    place = "STRUCT<file_path: STRING, row_index: BIGINT>"
    typed = rows.withColumn(POSITION, F.col(POSITION).cast(place))
    begin(spark, path, batch_id).commit(typed.persist())


WANTED = (
    ("0-0", 100, "new"),
    ("0-20", 20, "p20"),
    ("1-39", 0, "p0"),
    ("1-1", 200, "newer"),
    ("unknown", 1, "p1"),
)


def compare(changes, wanted):
    """Return what is found, beside what a join with the table finds."""
    found = changes.find(wanted).collect()
    joined = changes.read().join(wanted.select("id"), "id", "left_semi").collect()
    places = [
        {
            row["id"]: (row["at"], Path(row[POSITION][0]).name, row[POSITION][1])
            for row in rows
        }
        for rows in (found, joined)
    ]
    ids = {row["id"]: row["push_id"] for row in joined}
    return places, {row["id"]: (row["push_id"], ids[row["id"]]) for row in found}


def test_rows_are_where_a_join_finds_them(spark, location):
    changes = begin(spark, location, 9)
    assert can_read(changes._snapshot)
    (found, joined), push_ids = compare(changes, rows_of(spark, *WANTED))
    assert found == joined
    assert found.keys() == {"0-0", "0-20", "1-39", "1-1"}
    # Where the times are the same, the next column is there to decide.
    assert push_ids["0-20"] == ("p20", "p20")
    assert push_ids["0-0"] == ("new", "new")


def test_a_file_whose_found_rows_are_all_gone_gives_none(spark, location):
    changes = begin(spark, location, 9)
    wanted = rows_of(spark, ("0-0", 100, "new"), ("1-39", 0, "p0"))
    (found, joined), _ = compare(changes, wanted)
    assert found == joined
    assert found.keys() == {"0-0", "1-39"}


def test_nothing_is_found_where_nothing_is(spark, location):
    changes = begin(spark, location, 9)
    assert changes.find(rows_of(spark, ("unknown", 1, "p"))).collect() == []


@pytest.mark.long
def test_a_table_whose_columns_have_other_names_in_its_files_is_joined(spark, location):
    spark.sql(
        f"ALTER TABLE delta.`{location}` SET TBLPROPERTIES "
        "('delta.columnMapping.mode' = 'name')"
    )
    changes = begin(spark, location, 9)
    assert not can_read(changes._snapshot)
    (found, joined), push_ids = compare(changes, rows_of(spark, *WANTED))
    assert found == joined
    assert all(one == other for one, other in push_ids.values())


@pytest.mark.long
def test_rows_that_delta_itself_deletes_are_gone(spark, location):
    DeltaTable.forPath(spark, location).delete("id < '0-3'")
    changes = begin(spark, location, 9)
    numbers = [(f"{n % 2}-{n}", 100 + n, "newest") for n in range(40)]
    wanted = rows_of(spark, *numbers)
    (found, joined), _ = compare(changes, wanted)
    assert found == joined
    assert len(found) < len(numbers)
    changes.commit(
        wanted.join(changes.find(wanted).select("id", POSITION), "id", "left").persist()
    )
    rows = spark.read.format("delta").load(location).where("push_id = 'newest'")
    assert sorted(row["id"] for row in rows.collect()) == sorted(n[0] for n in numbers)
    assert (
        spark.read.format("delta")
        .load(location)
        .groupBy("id")
        .count()
        .where("count > 1")
        .collect()
        == []
    )


def test_marked_rows_are_the_same_however_they_are_read(spark, location, monkeypatch):
    changes = begin(spark, location, 9)
    vectors = [
        file.deletionVector()
        for file in list_files(changes._jvm, changes._snapshot)
        if file.deletionVector() is not None
    ]
    assert len(vectors) == 2
    here = [StoredVectors(changes._jvm, changes._snapshot).read(v) for v in vectors]
    monkeypatch.setattr(deletion_vectors, "LOCAL", "elsewhere")
    there = [StoredVectors(changes._jvm, changes._snapshot).read(v) for v in vectors]
    assert [rows.tolist() for rows in here] == [rows.tolist() for rows in there]


@pytest.mark.parametrize("change", [lambda data: data[:-1], spoil_last_byte])
def test_a_deletion_vector_that_is_not_as_written_is_told(spark, location, change):
    for path in Path(location).glob("deletion_vector_*.bin"):
        path.write_bytes(change(path.read_bytes()))
    changes = begin(spark, location, 9)
    with pytest.raises(MalformedBitmap, match=r"deletion_vector_.*\.bin"):
        changes.find(rows_of(spark, *WANTED))
