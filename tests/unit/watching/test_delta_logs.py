"""Tables of delta-rs' own writer and of Spark's, as they are looked at."""

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from pipelines.settings import CONF_PATH
from pipelines.watching.delta_logs import (
    CHECKS,
    MAINTENANCE,
    UnreadableTable,
    count_quarantined,
    find_local,
    list_tables,
    look_at_table,
    read_newest_run,
)
from pipelines.watching.site import RunLook

GOLDEN = CONF_PATH.parent / "tests" / "golden" / "delta"
NOW = dt.datetime(2026, 3, 1, 0, 30, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)


def write(root, name, rows, **options):
    table = pa.Table.from_pylist(rows)
    write_deltalake(str(root / name), table, mode="append", **options)


def test_a_table_is_counted_by_its_log(tmp_path):
    write(tmp_path, "t", [{"a": 1}, {"a": 2}])
    write(tmp_path, "t", [{"a": 3}])
    look = look_at_table(tmp_path, "t")
    assert (look.is_there, look.fault) == (True, None)
    assert (look.rows, look.files, look.version) == (3, 2, 1)
    files = [*(tmp_path / "t").glob("*.parquet")]
    assert look.bytes == sum(one.stat().st_size for one in files)
    [commit] = DeltaTable(str(tmp_path / "t")).history(1)
    assert look.committed_ms == commit["timestamp"]
    assert 0 <= look.committed_ms - look.made_ms < 60_000


def test_files_of_older_versions_do_not_count(tmp_path):
    write(tmp_path, "t", [{"a": 1}, {"a": 2}])
    DeltaTable(str(tmp_path / "t")).delete("a = 1")
    look = look_at_table(tmp_path, "t")
    assert (look.rows, look.files) == (1, 1)


def test_rows_that_a_deletion_vector_marks_are_gone():
    look = look_at_table(GOLDEN, "client_instances")
    assert (look.rows, look.files, look.version) == (6, 3, 2)


def test_a_table_without_rows_has_none(tmp_path):
    schema = pa.schema([("a", pa.int64())])
    DeltaTable.create(str(tmp_path / "t"), schema)
    look = look_at_table(tmp_path, "t")
    assert (look.rows, look.files, look.bytes) == (0, 0, 0)


def test_a_missing_table_and_a_damaged_one_are_told_apart(tmp_path):
    assert not look_at_table(tmp_path, "none").is_there
    (tmp_path / "folder").mkdir()
    assert not look_at_table(tmp_path, "folder").is_there
    write(tmp_path, "t", [{"a": 1}])
    write(tmp_path, "t", [{"a": 1}])
    (tmp_path / "t/_delta_log/00000000000000000001.json").write_text("{")
    look = look_at_table(tmp_path, "t")
    assert look.is_there
    assert look.fault is not None
    assert look.rows is None


def test_tables_are_found_by_their_logs(tmp_path):
    for name in ("b", "a"):
        write(tmp_path, name, [{"a": 1}])
    (tmp_path / "other").mkdir()
    assert list_tables(tmp_path) == ["a", "b"]
    assert list_tables(tmp_path / "none") == []


def test_a_folder_that_nobody_may_look_into_is_a_table_if_its_name_may_be(
    tmp_path, monkeypatch
):
    for name in ("lost+found", "client_pushes"):
        (tmp_path / name).mkdir()

    def refuse(folder):
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr("pathlib.Path.is_dir", refuse)
    assert list_tables(tmp_path) == ["client_pushes"]


def quarantined(reason, moment):
    return {"reason": reason, "kafka_timestamp": moment, "event_date": moment.date()}


def test_quarantine_is_counted_by_reason_since_a_moment(tmp_path):
    # The hour begins on the day before.
    rows = [
        *(quarantined("missing_header", NOW - HOUR / 2) for _ in range(2)),
        quarantined("missing_header", NOW - 2 * HOUR),
        quarantined("truncated_otlp", NOW - HOUR),
        *(quarantined("corrupt_frame", NOW) for _ in range(3)),
    ]
    write(tmp_path, "quarantine", rows, partition_by=["event_date"])
    since_ms = int((NOW - HOUR).timestamp() * 1000)
    told = count_quarantined(tmp_path, "quarantine", since_ms)
    assert [*told.items()] == [
        ("corrupt_frame", 3),
        ("missing_header", 2),
        ("truncated_otlp", 1),
    ]
    assert count_quarantined(tmp_path, "quarantine", since_ms + 2 * 3_600_000) == {}


def run_row(run_id, moment, table, action, outcome):
    return {
        "run_id": run_id,
        "started_at": moment,
        "table_name": table,
        "action": action,
        "outcome": outcome,
    }


def test_the_newest_run_is_told_with_what_failed_in_it(tmp_path):
    rows = [
        run_row("a", NOW - HOUR, "client_pushes", "vacuum", "failed"),
        run_row("b", NOW, "client_pushes", "compaction", "done"),
        run_row("b", NOW + HOUR, "client_metrics", "vacuum", "failed"),
        run_row("b", NOW + HOUR, "client_metrics", "retention", "refused"),
        # Of a table that could not be looked at; the run was cut off.
        run_row("b", NOW + HOUR, "quarantine", "run", "failed"),
    ]
    write(tmp_path, "maintenance_runs", rows)
    told = read_newest_run(tmp_path, MAINTENANCE)
    began_ms = int(NOW.timestamp() * 1000)
    assert told == RunLook(
        began_ms=began_ms,
        completed_ms=None,
        failed=("client_metrics: vacuum", "quarantine: run"),
    )
    ended = [
        run_row("a", NOW - 2 * HOUR, "*", "run", "failed"),
        run_row("0", NOW - 3 * HOUR, "*", "run", "done"),
    ]
    write(tmp_path, "maintenance_runs", ended)
    told = read_newest_run(tmp_path, MAINTENANCE)
    assert told.completed_ms == int((NOW - 2 * HOUR).timestamp() * 1000)


def test_checks_that_failed_are_told_by_table_and_expectation(tmp_path):
    rows = [
        {
            "run_id": "a",
            "checked_at": NOW,
            "table": table,
            "expectation": expectation,
            "success": expectation != "unique",
        }
        for table in ("client_pushes", "client_metrics")
        for expectation in ("unique", "not_null")
    ]
    write(tmp_path, "quality_results", rows)
    told = read_newest_run(tmp_path, CHECKS)
    assert told.failed == ("client_metrics: unique", "client_pushes: unique")
    assert told.completed_ms == told.began_ms


def test_a_table_of_runs_that_never_ran_says_so(tmp_path):
    row = run_row("a", NOW, "t", "vacuum", "done")
    write(tmp_path, "maintenance_runs", [row])
    DeltaTable(str(tmp_path / "maintenance_runs")).delete()
    assert read_newest_run(tmp_path, MAINTENANCE) is None


def test_a_table_of_another_form_is_unreadable_by_name(tmp_path):
    write(tmp_path, "quality_results", [{"a": 1}])
    with pytest.raises(UnreadableTable, match=r"^quality_results: "):
        read_newest_run(tmp_path, CHECKS)


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/data/tables", Path("/data/tables")),
        ("file:/data/a%20b", Path("/data/a b")),
        ("file:///data/tables", Path("/data/tables")),
        ("hdfs://name/data", None),
        ("s3a://bucket/data", None),
        ("dbfs:/data", None),
        ("/Volumes/no_such_catalog/clientele/checkpoints", None),
    ],
)
def test_a_location_is_local_or_not(location, path):
    assert find_local(location) == path
