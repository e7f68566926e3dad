"""Rows of a date are ordered anew and stay what they are."""

from dataclasses import replace
from urllib.parse import unquote, urlsplit

import pyarrow.dataset
import pytest
from pyspark.testing import assertDataFrameEqual

from pipelines.delta_tables.compaction import compact, read_clusterings
from pipelines.delta_tables.session_settings import session_settings
from pipelines.delta_tables.stored_files import list_stored_files
from pipelines.tables.contract import create_statement
from tests.spark.test_row_replacement import (
    CONTRACT,
    DAY,
    NOTHING,
    rows_of,
)

CLUSTERED = replace(CONTRACT, cluster_by=("offset",))
FILE_BYTES = 2**20


@pytest.fixture
def table(spark, tmp_path):
    name = f"delta.`{tmp_path}/things`"
    spark.sql(create_statement(CLUSTERED, name))
    for offset in (1, 2):
        rows_of(spark, (offset, float("nan"), *NOTHING[1:])).writeTo(name).append()
    rows_of(spark, (3, 0.5, 7, {"a": "b"}, (0.25, [1.0]))).writeTo(name).append()
    spark.sql(f"ALTER TABLE {name} ADD COLUMNS (note STRING)")
    spark.sql(f"UPDATE {name} SET note = 'mine' WHERE offset = 3")  # noqa: S608 - a table of ours
    return name


def compact_day(spark, table):
    return compact(spark, CLUSTERED, table, f"{DAY}", file_bytes=FILE_BYTES)


def test_rows_stay_in_order_and_the_history_tells_of_it(spark, table):
    before = spark.createDataFrame(
        spark.table(table).collect(), spark.table(table).schema
    )
    rewritten = compact_day(spark, table)
    held = list_stored_files(spark, CLUSTERED, table, table.split("`")[1]).held
    (file,) = held[f"{DAY}"]
    assert (rewritten.files_removed, rewritten.files_added) == (3, 1)
    assert rewritten.bytes_added == file.size_bytes
    assertDataFrameEqual(spark.table(table), before)
    stored = pyarrow.dataset.dataset(
        [unquote(urlsplit(name).path) for name in spark.table(table).inputFiles()]
    ).to_table()
    assert stored["offset"].to_pylist() == [1, 2, 3]
    known = read_clusterings(spark, table, CLUSTERED)
    assert known.ordered == {f"{DAY}"}
    assert known.since_ms <= file.modified_ms


def test_the_session_has_its_own_settings_back(spark):
    spark.conf.set("kafka_clientele.known", "mine")
    given = {"kafka_clientele.known": "ours", "kafka_clientele.unknown": "ours"}
    with session_settings(spark, given):
        assert [spark.conf.get(name) for name in given] == ["ours", "ours"]
    assert [spark.conf.get(name, None) for name in given] == ["mine", None]
    spark.conf.unset("kafka_clientele.known")


@pytest.mark.long
def test_compaction_is_not_seen_by_readers_of_changes(spark, table):
    newest = spark.sql(f"DESCRIBE HISTORY {table}").first()["version"]
    compact_day(spark, table)
    rows_of(spark, (9, *NOTHING)).writeTo(table).append()
    offsets = [row[0] for row in spark.table(table).select("offset").collect()]
    assert sorted(offsets) == [1, 2, 3, 9]
    stream = (
        spark.readStream.format("delta")
        .option("startingVersion", newest + 1)
        .load(table.split("`")[1])
        .writeStream.format("memory")
        .queryName("seen_changes")
        .trigger(availableNow=True)
    )
    query = stream.start()
    query.awaitTermination()
    assert [row["offset"] for row in spark.table("seen_changes").collect()] == [9]
