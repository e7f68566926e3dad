"""Small files of past dates become few, clustered ones; rows stay as they are."""

from datetime import UTC, date, datetime, timedelta

import pytest
from pyspark.testing import assertDataFrameEqual

from pipelines.delta_tables.compaction import read_partition_files
from pipelines.delta_tables.locations import identify_table
from pipelines.delta_tables.setup import ensure_tables
from pipelines.jobs.compact import job as compact_tables
from pipelines.settings import load_settings
from pipelines.tables.telemetry import CLIENT_METRICS, TELEMETRY_CONTRACTS
from pipelines.time_ranges import TimeRange, midnight
from tests.support.jobs.given_calls import run_line

TODAY = datetime.now(tz=UTC).date()
DAY = timedelta(days=1)


@pytest.fixture
def settings(spark, tmp_path):
    made = load_settings("local", [f"tables.root_path={tmp_path}/tables"])
    ensure_tables(spark, made.tables, TELEMETRY_CONTRACTS)
    return made


def append(spark, table, day, offset):
    """Append one point of each of twenty clients."""
    fields = spark.table(table).schema
    fillers = {"string": "x", "int": 0, "bigint": 0}
    fillers |= {"date": day, "timestamp": midnight(day)}
    blank = {
        f.name: None if f.nullable else fillers[f.dataType.simpleString()]
        for f in fields
    }
    rows = [
        tuple(
            (
                blank
                | {"client_instance_id": f"{number:02}", "offset": offset + number}
            ).values()
        )
        for number in range(20)
    ]
    spark.createDataFrame(rows, fields).coalesce(1).writeTo(table).append()


def count_files(spark, table):
    return {day: f.count for day, f in read_partition_files(spark, table).items()}


def test_each_past_date_is_clustered_once(spark, settings, capsys):
    table = identify_table(spark, settings.tables, CLIENT_METRICS)
    # The last one is not over, though midnight may come meanwhile.
    days = [TODAY - 2 * DAY, TODAY - DAY, TODAY + DAY]
    for offset in range(3):
        for day in days:
            append(spark, table, day, offset * 100)
    before = spark.createDataFrame(
        spark.table(table).collect(), spark.table(table).schema
    )
    run_line(
        spark,
        "./spark-submit.sh compact_tables",
        f"tables.root_path={settings.tables.root_path}",
    )
    printed = capsys.readouterr().out
    assert f"client_metrics {days[1]}: 3 files of " in printed
    assert count_files(spark, table) == {days[0]: 1, days[1]: 1, days[2]: 3}
    assertDataFrameEqual(spark.table(table), before)
    append(spark, table, days[1], 300)
    span = TimeRange(midnight(days[0]), midnight(TODAY))
    done = {c.event_date: c for c in compact_tables.run(spark, settings, span)}
    assert done[str(days[0])].is_skipped
    assert not done[str(days[1])].is_skipped
    assert count_files(spark, table) == {days[0]: 1, days[1]: 1, days[2]: 3}


def test_dates_without_rows_are_no_error(spark, settings):
    span = TimeRange(midnight(date(2026, 3, 1)), midnight(date(2026, 3, 2)))
    assert compact_tables.run(spark, settings, span) == []
