"""Where a job begins, and that it begins there again."""

import re

import pytest

from pipelines.errors import UnsafeStart
from pipelines.jobs.telemetry.job import LEDGER
from pipelines.settings import load_settings
from pipelines.streaming import starts
from pipelines.streaming.checkpoint_files import (
    has_planned_batches,
    read_checkpoint_file,
    write_checkpoint_file,
)
from pipelines.streaming.positions import TopicBounds
from pipelines.streaming.starts import EARLIEST_OFFSET, JobStart, resume_offsets
from pipelines.streaming.stored_offsets import keep_topic_id, read_stored_offsets
from pipelines.tables.telemetry import TELEMETRY_CONTRACTS
from tests.support.spark.empty_tables import make_tables

BOUNDS = TopicBounds(beginning={0: 0, 1: 10}, end={0: 5, 1: 20})


def decide(spark, folder, *, topic="t", bounds=BOUNDS):
    settings = load_settings("base", [f"tables.root_path={folder}/tables"])
    make_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    return starts.decide_start(
        spark,
        settings.tables,
        LEDGER,
        topic,
        bounds,
        checkpoint_location=f"{folder}/checkpoint",
        starting_offsets="latest",
    )


def test_a_start_is_decided_once(spark, tmp_path):
    first = decide(spark, tmp_path)
    later = TopicBounds(beginning={0: 0, 1: 20}, end={0: 999, 1: 999})
    assert decide(spark, tmp_path, bounds=later) == first
    assert first == JobStart(
        topic="t",
        starting_offsets={0: 5, 1: 20},
        floors={"client_metrics": {}, "quarantine": {}},
    )
    assert first.starting_offsets_json == '{"t": {"0": 5, "1": 20}}'


def test_topic_id_is_stored_with_the_ledger(spark, tmp_path):
    tables = load_settings("base", [f"tables.root_path={tmp_path}/tables"]).tables
    make_tables(spark, tables, TELEMETRY_CONTRACTS)
    known = []
    for topic_id in ("first", None, "second"):
        keep_topic_id(spark, tables, LEDGER, "t.with-dots", topic_id)
        known.append(read_stored_offsets(spark, tables, LEDGER, "t.with-dots").topic_id)
    assert known == ["first", "first", "second"]
    assert read_stored_offsets(spark, tables, LEDGER, "t").topic_id is None


def test_latest_is_for_tables_without_a_record_of_the_topic():
    """A batch that was cut off may have left no row in the ledger, yet some elsewhere."""
    first = resume_offsets(LEDGER, "t", {}, BOUNDS, "latest", is_first_run=True)
    assert first == {0: 5, 1: 20}
    later = resume_offsets(LEDGER, "t", {}, BOUNDS, "latest", is_first_run=False)
    assert later == {0: EARLIEST_OFFSET, 1: EARLIEST_OFFSET}
    one_known = resume_offsets(
        LEDGER, "t", {0: 3}, BOUNDS, "latest", is_first_run=False
    )
    assert one_known == {0: 4, 1: EARLIEST_OFFSET}


def test_a_checkpoint_of_another_topic_is_refused(spark, tmp_path):
    decide(spark, tmp_path)
    with pytest.raises(UnsafeStart, match=r"topic t, and topics\.telemetry is u"):
        decide(spark, tmp_path, topic="u")


def test_a_checkpoint_of_another_program_is_refused(spark, tmp_path):
    offsets = tmp_path / "checkpoint" / "offsets"
    offsets.mkdir(parents=True)
    assert not has_planned_batches(spark, f"{tmp_path}/checkpoint")
    (offsets / "0").write_text("v1")
    assert has_planned_batches(spark, f"{tmp_path}/checkpoint")
    with pytest.raises(UnsafeStart, match=r"and no start\.json of this job"):
        decide(spark, tmp_path)


def test_a_file_is_whole_or_not_there(spark, tmp_path):
    folder = str(tmp_path)
    assert read_checkpoint_file(spark, folder, "x") is None
    left_over = tmp_path / "kafka_clientele" / ".x.unfinished"
    left_over.parent.mkdir()
    left_over.write_text("cut o")
    assert read_checkpoint_file(spark, folder, "x") is None
    write_checkpoint_file(spark, folder, "x", "größer")
    assert read_checkpoint_file(spark, folder, "x") == "größer"


def test_a_start_survives_its_file():
    start = JobStart(
        topic="t",
        starting_offsets={0: 7, 12: EARLIEST_OFFSET},
        floors={"client_metrics": {0: 8}, "quarantine": {}},
    )
    assert starts.read_start(starts.write_start(start)) == start


@pytest.mark.parametrize(
    ("pushed", "starting_offsets", "expected"),
    [
        ({}, "earliest", {0: EARLIEST_OFFSET, 1: EARLIEST_OFFSET}),
        ({}, "latest", {0: 5, 1: 20}),
        ({1: 14}, "earliest", {0: EARLIEST_OFFSET, 1: 15}),
        ({0: 4, 1: 9}, "latest", {0: 5, 1: 10}),
    ],
    ids=["new, earliest", "new, latest", "one partition known", "at both ends"],
)
def test_a_job_goes_on_after_the_newest_push(pushed, starting_offsets, expected):
    made = resume_offsets(
        LEDGER, "t", pushed, BOUNDS, starting_offsets, is_first_run=not pushed
    )
    assert made == expected


@pytest.mark.parametrize(
    ("pushed", "reason"),
    [
        ({0: 5}, "partition 0 offset 6, and the topic holds 0 to 5: the topic was"),
        ({1: 8}, "partition 1 offset 9, and the topic holds 10 to 20: the records"),
        ({2: 0}, "t partition 2, and the topic has no such partition"),
    ],
    ids=["beyond the end", "before the beginning", "no such partition"],
)
def test_a_job_does_not_go_on_where_records_are_gone(pushed, reason):
    with pytest.raises(UnsafeStart, match=re.escape(reason)) as refused:
        resume_offsets(LEDGER, "t", pushed, BOUNDS, "earliest", is_first_run=True)
    assert "client_telemetry_to_delta.checkpoint_location" in str(refused.value)
