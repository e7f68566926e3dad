"""What a soak reads from tables, and the slopes and pictures that it makes of it."""

import json
import math
import os
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.long.soak import (
    SAMPLE_FIELDS,
    DelayReader,
    Sample,
    count_files,
    draw,
    find_p95,
    find_slopes,
    write_samples,
)

START_S = 1_767_225_600


def write_version(table, version, seconds, *, late_s, is_new=True):
    """Commit rows that were received at some seconds, each so much later."""
    log = table / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    received = [datetime.fromtimestamp(START_S + one, UTC) for one in seconds]
    (table / "event_date=2026-01-01").mkdir(exist_ok=True)
    path = f"event_date=2026-01-01/{version}.parquet"
    pq.write_table(pa.table({"received_at": received}), table / path)
    entry = log / f"{version:020}.json"
    adds = {"add": {"path": path, "dataChange": is_new}}
    entry.write_text("\n".join(map(json.dumps, [{"commitInfo": {}}, adds])))
    visible_s = START_S + late_s
    os.utime(entry, (visible_s, visible_s))


def test_rows_are_as_late_as_the_version_that_first_has_them(tmp_path):
    reader = DelayReader(tmp_path / "t")
    assert reader.read_new() == []
    write_version(tmp_path / "t", 0, [0, 1], late_s=3)
    write_version(tmp_path / "t", 1, [2], late_s=4)
    assert reader.read_new() == [3.0, 2.0, 2.0]
    write_version(tmp_path / "t", 2, [0, 1, 2], late_s=900, is_new=False)
    assert reader.read_new() == []
    assert reader.rows == 3


def test_files_are_data_files(tmp_path):
    write_version(tmp_path / "t", 0, [0], late_s=1)
    (tmp_path / "t" / "_delta_log" / "0.checkpoint.parquet").write_bytes(b"")
    assert count_files(tmp_path / "t", "*.parquet") == 1


def test_a_slope_is_what_an_hour_adds_behind_the_first_part():
    samples = [
        Sample(
            minutes=minute,
            # The first part, which fills caches, would say something else.
            bridge_mib=500.0 if minute < 10 else 100 + minute,
            queryable_p95_s=math.nan if minute == 30 else 2.0,
        )
        for minute in range(61)
    ]
    slopes = find_slopes(samples)
    assert slopes["bridge_mib"] == pytest.approx(60)
    assert slopes["queryable_p95_s"] == pytest.approx(0, abs=1e-9)
    assert math.isnan(slopes["driver_mib"])


def test_a_percentile_needs_two():
    assert math.isnan(find_p95([1.0]))
    assert find_p95([float(one) for one in range(101)]) == pytest.approx(95, abs=1)


def test_pictures_and_figures_are_files(tmp_path):
    samples = [Sample(minutes=one, bridge_mib=one) for one in range(5)]
    draw(samples, tmp_path / "soak.png")
    assert (tmp_path / "soak.png").read_bytes().startswith(b"\x89PNG")
    write_samples(samples, tmp_path / "soak.csv")
    head, *rows = (tmp_path / "soak.csv").read_text().splitlines()
    assert head.split(",") == SAMPLE_FIELDS
    assert len(rows) == 5
