"""Both ways of writing leave the same rows, once, whoever began."""

import dataclasses
from datetime import date

import pytest
from delta.tables import DeltaTable
from pyspark.sql.types import StructType

from pipelines.delta_tables.batch_files import read_batch_files
from pipelines.delta_tables.locations import has_table
from pipelines.delta_tables.retry import StaleVersion, is_lost_race
from pipelines.delta_tables.spark_writer import BegunBatches
from pipelines.delta_tables.transactions import Transaction
from pipelines.delta_tables.writers import open_writer
from pipelines.errors import IncompatibleTable
from pipelines.settings import load_settings
from pipelines.tables.columns import Column, required
from pipelines.tables.contract import (
    TableContract,
    column_definition,
    create_statement,
)
from tests.spark.test_table_files import CONTRACT as APPENDED
from tests.spark.test_table_files import NOON, make_file
from udfs.spark import ENCODED_TYPE

WAYS = ("spark", "files")
CHANGED = TableContract(
    name="changed",
    comment="Things.",
    columns=(required("id", "BIGINT", "Key."), Column("text", "STRING", "Text.")),
    merge_key=("id",),
    contract_version=1,
)
SCHEMA = "id BIGINT, text STRING, is_gone BOOLEAN"


@pytest.fixture
def open_by(spark, tmp_path):
    """Return what opens the tables of a run by a way of writing."""
    settings = load_settings("local", [f"tables.root_path={tmp_path}"]).tables

    def make(contract, writer):
        table = f"delta.`{tmp_path}/{contract.name}`"
        if not has_table(spark, table):
            spark.sql(create_statement(contract, table))
        chosen = dataclasses.replace(settings, writer=writer)
        return open_writer(spark, chosen, (contract,))

    return make


def columns_of(contract):
    return ", ".join(map(column_definition, contract.columns))


def append(spark, writer, *numbers, query_id="query", **names):
    """Append rows of a micro-batch, or of a slice of it."""
    file = make_file(*((number, "a", 0.5, NOON) for number in numbers))
    known = {
        "table": APPENDED.name,
        "event_date": file.event_date,
        "row_count": len(numbers),
        "statistics": file.statistics,
        "size": file.size,
        "content": file.content,
    }
    row = tuple(known.get(name) for name in ENCODED_TYPE.names)
    encoded = spark.createDataFrame([row], ENCODED_TYPE)
    batch = read_batch_files(encoded, with_content=writer.way.needs_content)
    transaction = Transaction(query_id=query_id, **names)
    writer.append(batch, APPENDED, transaction)


def change(spark, writer, batch_id, *rows):
    """Give each id its text, or delete its row."""
    transaction = Transaction(query_id="query", batch_id=batch_id)
    made = [(number, text, text is None) for number, text in rows]
    state = writer.open_state(spark, CHANGED, transaction)
    state.merge(spark.createDataFrame(made, SCHEMA), len(rows), is_gone="is_gone")


def read(spark, writer, contract, *columns):
    return sorted(map(tuple, writer.read(spark, contract).select(*columns).collect()))


@pytest.mark.parametrize(("first", "second"), [WAYS, WAYS[::-1]])
def test_a_batch_is_appended_once_whoever_writes_it_again(
    spark, open_by, first, second
):
    for _ in range(2):
        append(spark, open_by(APPENDED, first), 1, 2, batch_id=0)
    again = open_by(APPENDED, second)
    append(spark, again, 1, 2, batch_id=0)
    append(spark, again, 3, batch_id=1)
    append(spark, again, 4, batch_id=1, query_id="another")
    rows = read(spark, again, APPENDED, "id", "text", "number")
    assert [row[0] for row in rows] == [1, 2, 3, 4]
    assert {row[1:] for row in rows} == {("a", 0.5)}


@pytest.mark.parametrize("way", WAYS)
def test_slices_of_a_batch_that_was_written_at_once_add_nothing(spark, open_by, way):
    append(spark, open_by(APPENDED, "files"), 1, 2, batch_id=7)
    again = open_by(APPENDED, way)
    append(spark, again, 1, batch_id=7, slice_number=1)
    append(spark, again, 2, batch_id=7, is_continued=True)
    append(spark, again, 3, batch_id=8, slice_number=1)
    assert read(spark, again, APPENDED, "id") == [(1,), (2,), (3,)]


@pytest.mark.parametrize("way", WAYS)
def test_rows_are_put_changed_and_taken_away_once(spark, open_by, way):
    writer = open_by(CHANGED, way)
    change(spark, writer, 0, (1, "a"), (2, "b"), (3, "c"))
    change(spark, writer, 1, (2, "B"), (3, None), (5, "e"))
    change(spark, writer, 1, (2, "again"), (1, None), (9, "again"))
    assert read(spark, writer, CHANGED, "id", "text") == [(1, "a"), (2, "B"), (5, "e")]
    change(spark, open_by(CHANGED, way), 1, (2, "again"), (9, "again"))
    assert read(spark, writer, CHANGED, "id", "text") == [(1, "a"), (2, "B"), (5, "e")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("begins_late", [False, True])
def test_merge_by_two_runs_that_read_one_version_is_done_once(
    spark, open_by, way, begins_late
):
    """A scheduled job has the version that it reads as the number of its write."""
    writer = open_by(CHANGED, way)
    change(spark, writer, 0, (1, "a"))
    version = writer.read_version(spark, CHANGED)
    transaction = Transaction(query_id="job", batch_id=version)
    rows = spark.createDataFrame([(1, "b"), (2, "b")], "id BIGINT, text STRING")

    def begin():
        return writer.open_state(spark, CHANGED, transaction)

    first, second = begin(), None if begins_late else begin()
    assert first.merge(rows, 2)
    late = spark.createDataFrame([(1, "late")], "id BIGINT, text STRING")
    if second is not None and way == "files":
        with pytest.raises(StaleVersion) as lost:
            second.merge(late, 1)
        assert is_lost_race(lost.value)
    else:
        assert not (second or begin()).merge(late, 1)
    assert read(spark, writer, CHANGED, "id", "text") == [(1, "b"), (2, "b")]


def test_auto_writer_is_files_unless_kernel_cannot_write_a_table(spark, open_by):
    writer = open_by(APPENDED, "auto")
    assert writer.way.name == "files"
    table = writer.names[APPENDED.name]
    spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT small CHECK (id < 9)")
    writer = open_by(APPENDED, "auto")
    assert writer.way.name == "spark"
    append(spark, writer, 1, batch_id=0)
    assert read(spark, writer, APPENDED, "id") == [(1,)]
    with pytest.raises(IncompatibleTable, match=r"checkConstraints.* to auto or spark"):
        open_by(APPENDED, "files")


@pytest.mark.parametrize(
    ("properties", "misfit"),
    [
        ("'delta.columnMapping.mode' = 'name'", "columnMapping"),
        ("'delta.feature.allowColumnDefaults' = 'supported'", "CURRENT_DEFAULT"),
        ("'delta.enableIcebergCompatV2' = 'true'", "columnMapping|IcebergCompatV2"),
    ],
)
def test_tables_that_kernel_would_fill_wrongly_are_refused(
    spark, open_by, tmp_path, properties, misfit
):
    columns = columns_of(APPENDED)
    if "Defaults" in properties:
        columns = columns.replace("`text` STRING", "`text` STRING DEFAULT 'x'")
    mapping = ", 'delta.columnMapping.mode' = 'name'" if "Iceberg" in properties else ""
    spark.sql(
        f"CREATE TABLE delta.`{tmp_path}/things` ({columns}) USING DELTA "
        f"PARTITIONED BY (event_date) TBLPROPERTIES ({properties}{mapping})"
    )
    with pytest.raises(IncompatibleTable, match=misfit):
        open_by(APPENDED, "files")
    assert open_by(APPENDED, "auto").way.name == "spark"


def test_a_table_with_a_generated_column_is_written_by_spark(spark, open_by, tmp_path):
    (
        DeltaTable.createOrReplace(spark)
        .location(f"{tmp_path}/{APPENDED.name}")
        .addColumns(StructType.fromDDL(columns_of(APPENDED)))
        .addColumn("twice", "BIGINT", generatedAlwaysAs="id * 2")
        .partitionedBy(*APPENDED.partition_by)
        .execute()
    )
    writer = open_by(APPENDED, "auto")
    assert writer.way.name == "spark"
    append(spark, writer, 3, batch_id=0)
    assert read(spark, writer, APPENDED, "id", "twice") == [(3, 6)]


def test_rows_of_a_slice_are_looked_for_in_their_dates_while_others_append(
    spark, open_by
):
    append(spark, open_by(APPENDED, "files"), 1, 2, batch_id=7)
    writer = open_by(APPENDED, "spark")
    table = writer.names[APPENDED.name]
    looked = writer.way._read_dates(spark, APPENDED, [NOON.date()])
    spark.sql(f"DELETE FROM {table} WHERE id = 1")  # noqa: S608 - an identifier of ours
    assert {row["id"] for row in looked.collect()} == {1, 2}
    assert writer.way._read_dates(spark, APPENDED, [date(1999, 1, 1)]).count() == 0


def test_only_what_no_run_can_have_begun_is_new():
    begun = BegunBatches()

    def is_new(batch_id, step="merge", **names):
        transaction = Transaction(query_id="query", batch_id=batch_id, **names)
        return begun.note(CHANGED, step, transaction)

    assert not is_new(3), "another run may have begun it"
    assert not is_new(3, "append")
    assert is_new(4)
    assert not is_new(4), "it comes again in this run"
    assert is_new(4, "append")
    assert is_new(5, slice_number=1)
    assert is_new(5, slice_number=2)
    assert not is_new(5, slice_number=1)
