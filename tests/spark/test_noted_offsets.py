"""Versions of a table that was quiet for longer than its files are kept."""

import os
import time
from datetime import timedelta

from pipelines.delta_tables.noted_offsets import (
    Note,
    noting,
    read_at,
    read_noted_state,
    take_back,
)

NOTE = Note(topic="cluster", topic_id="id", offset=3, query_id="q")


def test_what_a_batch_that_was_cut_off_has_changed_is_read_as_it_was_long_ago(
    spark, tmp_path
):
    table = f"delta.`{tmp_path}/quiet`"
    spark.range(5).write.format("delta").save(f"{tmp_path}/quiet")
    long_ago = time.time() - timedelta(days=30).total_seconds()
    for entry in (tmp_path / "quiet" / "_delta_log").iterdir():
        os.utime(entry, (long_ago, long_ago))
    with noting(spark, NOTE):
        spark.sql(f"DELETE FROM {table} WHERE id > 2")  # noqa: S608 - a folder of ours
    found = read_noted_state(spark, table, topic="cluster", topic_id="id", first=3)
    assert found.version_before == 0
    assert read_at(spark, table, found.version_before).count() == 5
    assert read_at(spark, table, None).count() == 3
    take_back(spark, table, 0, NOTE)
    assert read_at(spark, table, None).count() == 5
