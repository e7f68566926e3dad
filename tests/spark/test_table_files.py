"""Files that the job writes itself are rows of a Delta table, once."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.testing import assertDataFrameEqual

from pipelines.delta_tables.files_writer import append_files
from pipelines.delta_tables.kernel import KernelTable
from pipelines.delta_tables.local_files import LocalFolders
from pipelines.delta_tables.new_files import NewFile, store_file
from pipelines.delta_tables.retry import is_conflict, is_lost_race
from pipelines.delta_tables.transactions import Transaction
from pipelines.errors import IncompatibleTable, MissingTable
from pipelines.tables.columns import EVENT_DATE, Column, required
from pipelines.tables.contract import (
    STATISTICS_PROPERTY,
    TableContract,
    create_statement,
)
from udfs.files.table_files import FileWriter, TableFile, TableLayout

CONTRACT = TableContract(
    name="things",
    comment="Things.",
    columns=(
        required("id", "BIGINT", "Key."),
        EVENT_DATE,
        Column("text", "STRING", "Text."),
        Column("number", "DOUBLE", "Number."),
        Column("time", "TIMESTAMP", "Time."),
    ),
    merge_key=("id",),
    contract_version=1,
    partition_by=("event_date",),
    properties={STATISTICS_PROPERTY: "id,text,number,time"},
)
COLUMNS = ("id", "text", "number", "time")
LAYOUT = TableLayout(
    table="things", columns=COLUMNS, required=frozenset({"id"}), statistics=COLUMNS
)
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("text", pa.string()),
        ("number", pa.float64()),
        ("time", pa.timestamp("us", "UTC")),
    ]
)
DAY = date(2026, 3, 1)
NOON = datetime(2026, 3, 1, 12, 0, 0, 1234, UTC)


def make_file(*rows, day=DAY):
    """Make a file of (id, text, number, time)."""
    writer = FileWriter(LAYOUT, day)
    named = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    assert not list(writer.write(pa.RecordBatch.from_pylist(named, schema=SCHEMA)))
    [file] = writer.end()
    return NewFile(
        event_date=file.event_date,
        statistics=file.statistics,
        size=len(file.content),
        path=None,
        content=file.content,
    )


def stored(file, table):
    """Let a worker store a file."""
    store = LocalFolders(folders={"things": table}, partition_by="event_date")
    made = TableFile(
        table="things",
        event_date=file.event_date,
        content=file.content,
        row_count=1,
        statistics=file.statistics,
    )
    return replace(file, path=store(made), content=None)


@pytest.fixture
def table(spark, tmp_path):
    spark.sql(create_statement(CONTRACT, f"delta.`{tmp_path}/things`"))
    return f"{tmp_path}/things"


def append(spark, table, *files, batch_id=0, query_id="query"):
    transaction = Transaction(query_id=query_id, batch_id=batch_id)
    append_files(spark, CONTRACT, table, iter(files), transaction)


def append_to(spark, file, table):
    append(spark, table, file)


def ids(spark, table, condition="true"):
    rows = spark.table(f"delta.`{table}`").where(condition).select("id").collect()
    return sorted(row["id"] for row in rows)


def test_rows_of_several_files_and_days_are_read(spark, table):
    later = date(2026, 3, 2)
    append(
        spark,
        table,
        make_file((1, "a", 0.5, NOON), (2, None, None, None)),
        make_file((3, "c", 1.5, NOON), day=later),
    )
    expected = spark.createDataFrame(
        [
            (1, DAY, "a", 0.5, NOON),
            (2, DAY, None, None, None),
            (3, later, "c", 1.5, NOON),
        ],
        "id BIGINT, event_date DATE, text STRING, number DOUBLE, time TIMESTAMP",
    )
    assertDataFrameEqual(spark.table(f"delta.`{table}`"), expected)


def test_the_same_batch_is_appended_once(spark, table):
    append(spark, table, make_file((1, "a", 0.5, NOON)))
    append(spark, table, make_file((9, "again", 0.5, NOON)))
    append(spark, table, make_file((2, "b", 0.5, NOON)), batch_id=1)
    append(spark, table, make_file((9, "late", 0.5, NOON)))
    append(spark, table, make_file((3, "c", 0.5, NOON)), query_id="another")
    assert ids(spark, table) == [1, 2, 3]


def test_the_same_batch_is_appended_once_without_checksum_files(spark, table):
    """They name the transactions of a version; other writers leave none behind."""
    append(spark, table, make_file((1, "a", 0.5, NOON)), batch_id=3)
    for file in Path(table, "_delta_log").glob("*.crc"):
        file.unlink()
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    append(spark, table, make_file((9, "again", 0.5, NOON)), batch_id=3)
    append(spark, table, make_file((2, "b", 0.5, NOON)), batch_id=4)
    assert ids(spark, table) == [1, 2]


def test_a_batch_that_was_there_leaves_no_file_behind(spark, table):
    append(spark, table, make_file((1, "a", 0.5, NOON)))
    append(spark, table, make_file((1, "a", 0.5, NOON)))
    append(spark, table, stored(make_file((1, "a", 0.5, NOON)), table))
    assert len(list(Path(table).rglob("*.parquet"))) == 1


def test_files_that_workers_have_stored_are_rows_of_the_table(spark, table):
    later = make_file((2, "b", 0.5, NOON), day=date(2026, 3, 2))
    append(
        spark,
        table,
        stored(make_file((1, "a", 0.5, NOON)), table),
        stored(later, table),
    )
    assert ids(spark, table) == [1, 2]
    assert ids(spark, table, "event_date = DATE'2026-03-02'") == [2]


def test_statistics_never_hide_a_row(spark, table):
    long = "x" * 40
    nan = float("nan")
    append(spark, table, make_file((1, long, nan, NOON), (2, "y", 1.0, None)))
    append(spark, table, make_file((3, "a", -0.0, NOON)), batch_id=1)
    assert ids(spark, table, F.col("text") == long) == [1]
    assert ids(spark, table, f"text > '{long[:32]}' AND text < 'y'") == [1]
    assert ids(spark, table, "number > 5") == [1]
    assert ids(spark, table, "number >= 0") == [1, 2, 3]
    assert ids(spark, table, F.col("time") == F.lit(NOON)) == [1, 3]
    assert ids(spark, table, "number IS NULL") == []
    assert ids(spark, table, "time IS NULL") == [2]


def test_a_column_of_the_users_own_is_null(spark, table):
    spark.sql(f"ALTER TABLE delta.`{table}` ADD COLUMNS (note STRING)")
    append(spark, table, make_file((1, "a", 0.5, NOON)))
    assert ids(spark, table, "note IS NULL") == [1]


def test_a_table_that_asks_for_more_is_refused(spark, table):
    spark.sql(f"ALTER TABLE delta.`{table}` ADD CONSTRAINT small CHECK (id < 9)")
    with pytest.raises(
        IncompatibleTable, match=r"checkConstraints.* tables\.writer to spark"
    ):
        append(spark, table, stored(make_file((1, "a", 0.5, NOON)), table))
    assert ids(spark, table) == []
    assert not list(Path(table).rglob("*.parquet"))


def test_the_commit_has_its_transaction(spark, table):
    append(spark, table, make_file((1, "a", 0.5, NOON)), batch_id=4)
    newest = max(Path(table, "_delta_log").glob("*.json"))
    actions = [json.loads(line) for line in newest.read_text().splitlines()]
    [info] = [action["commitInfo"] for action in actions if "commitInfo" in action]
    assert info["operation"] == "STREAMING UPDATE"
    [seen] = [action["txn"] for action in actions if "txn" in action]
    assert (seen["appId"], seen["version"]) == ("query/things/append", 4)


@pytest.mark.parametrize("is_stored", [False, True], ids=["by the JVM", "by a worker"])
def test_no_file_is_made_where_there_is_no_table(spark, tmp_path, is_stored):
    gone = tmp_path / "gone"
    file = make_file((1, "a", 1.0, NOON))
    store = partial(stored, file) if is_stored else partial(append_to, spark, file)
    with pytest.raises(MissingTable, match="deleted below the running job"):
        store(str(gone))
    assert not gone.exists()
    gone.mkdir()
    with pytest.raises(MissingTable):
        stored(file, str(gone))
    assert list(gone.iterdir()) == []


def test_an_append_that_began_before_other_commits_enters(spark, table):
    append(spark, table, make_file((1, "a", 0.5, NOON)))
    begun = [KernelTable(spark, "things", f"file:{table}") for _ in range(3)]
    added = store_file(spark, CONTRACT, table, make_file((2, "b", 0.5, NOON)))
    spark.sql(f"UPDATE delta.`{table}` SET text = 'x' WHERE id = 1")  # noqa: S608 - a table of ours
    spark.sql(f"OPTIMIZE delta.`{table}`")
    begun[0].append([added], app_id="q", version=0)
    assert ids(spark, table) == [1, 2]
    with pytest.raises(Py4JJavaError, check=is_lost_race) as twin:
        begun[1].append([added], app_id="q", version=0)
    assert not is_conflict(twin.value), "the twin has the records"
    with pytest.raises(Py4JJavaError, check=is_conflict):
        begun[2].append([added], app_id="other", version=0, is_exact=True)
    assert ids(spark, table) == [1, 2]


def test_checkpoints_are_written_at_the_interval_of_the_table(spark, table):
    spark.sql(
        f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('delta.checkpointInterval'='3')"
    )
    for batch_id in range(4):
        file = make_file((batch_id, "a", 0.5, NOON))
        append(spark, table, file, batch_id=batch_id)
    log = Path(table, "_delta_log")
    assert [path.name[:20] for path in log.glob("*.checkpoint.parquet")] == [f"{3:020}"]
    assert (log / f"{5:020}.crc").exists()
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    assert ids(spark, table) == [0, 1, 2, 3]
