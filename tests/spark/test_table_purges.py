"""What a table does not hold is gone from its folder; what is being written is not."""

import os
import time

import pytest

from pipelines.delta_tables.erase import LISTING_TASKS, erase_old_files

HOUR_S = 3600


def leave_behind(folder, name, age_s):
    """Write a file that no commit names, as a job does that is killed or at work."""
    path = folder / name
    path.write_bytes(b"canary")
    changed = time.time() - age_s
    os.utime(path, (changed, changed))
    return path


@pytest.mark.long
def test_replaced_rows_and_old_leftovers_go_and_new_ones_stay(spark, tmp_path):
    table = f"delta.`{tmp_path}`"
    spark.sql(
        f"CREATE TABLE {table} (name STRING) USING DELTA "
        "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    )
    spark.sql(f"INSERT INTO {table} VALUES ('one'), ('two')")  # noqa: S608 - ours
    spark.sql(f"DELETE FROM {table} WHERE name = 'one'")  # noqa: S608 - ours
    old = leave_behind(tmp_path, "of-a-killed-job.parquet", 2 * HOUR_S)
    new = leave_behind(tmp_path, "of-a-running-job.parquet", 0)
    before = spark.conf.get(LISTING_TASKS)
    erase_old_files(spark, table)
    assert not old.exists()
    assert new.exists()
    left = {path.name for path in tmp_path.glob("*.parquet")} - {new.name}
    files = spark.table(table).select("_metadata.file_name").distinct().collect()
    assert left == {row[0] for row in files}
    assert spark.table(table).collect() == [("two",)]
    assert spark.conf.get(LISTING_TASKS) == before
