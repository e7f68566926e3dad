"""The name that maintain_tables had still compacts past dates, and nothing else."""

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.testing import assertDataFrameEqual

from pipelines.delta_tables.locations import identify_table
from pipelines.delta_tables.setup import ensure_tables
from pipelines.delta_tables.stored_files import list_stored_files
from pipelines.settings import load_settings
from pipelines.tables.telemetry import CLIENT_METRICS, TELEMETRY_CONTRACTS
from pipelines.time_ranges import midnight
from tests.support.jobs.given_calls import run_line
from tests.support.spark.aged_tables import record
from tests.support.spark.table_rows import append_rows

TODAY = datetime.now(tz=UTC).date()
DAY = timedelta(days=1)


@pytest.mark.long
def test_each_past_date_is_clustered_once(spark, tmp_path, capsys):
    settings = load_settings("local", [f"tables.root_path={tmp_path}/tables"])
    ensure_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    table = identify_table(spark, settings.tables, CLIENT_METRICS)
    # The last one is not over, though midnight may come meanwhile; the first one is old
    # enough to be deleted by maintain_tables.
    days = [TODAY - 200 * DAY, TODAY - DAY, TODAY + DAY]
    for offset in range(3):
        for day in days:
            rows = [record(midnight(day), 0, 20 * offset + n) for n in range(20)]
            append_rows(settings.tables, CLIENT_METRICS, *rows)
    before = spark.createDataFrame(
        spark.table(table).collect(), spark.table(table).schema
    )

    def count_files():
        held = list_stored_files(
            spark, CLIENT_METRICS, table, f"{tmp_path}/tables/client_metrics"
        ).held
        return {day: len(files) for day, files in held.items()}

    line = f"./spark-submit.sh compact_tables --from {days[0]}"
    for _ in range(2):
        run_line(spark, line, f"tables.root_path={settings.tables.root_path}")
        assert count_files() == {f"{days[0]}": 1, f"{days[1]}": 1, f"{days[2]}": 3}
    printed = capsys.readouterr()
    assert printed.out.count("client_metrics: compacted 2 dates from ") == 1
    assert "client_metrics: nothing to do" in printed.out
    assert "goes with the next release: maintain_tables compacts" in printed.err
    assertDataFrameEqual(spark.table(table), before)
