"""Test starts by topic IDs, on a Hadoop file system in memory."""

import re
from dataclasses import replace

import pytest

from pipelines.errors import LostRecords, UnsafeStart
from pipelines.jobs.telemetry.job import LEDGER
from pipelines.settings import load_settings
from pipelines.streaming import checkpoint_files, starts
from pipelines.streaming.positions import TopicBounds
from pipelines.streaming.query_progress import QueryProgress
from pipelines.streaming.start_records import EARLIEST_OFFSET
from pipelines.streaming.stored_offsets import StoredOffsets
from tests.unit.streaming.hadoop_stub import HadoopStub

BOUNDS = TopicBounds(beginning={0: 0}, end={0: 9}, topic_id="first")
CHECKPOINT = "hdfs://site/checkpoint"
FOLDER = f"{CHECKPOINT}/kafka_clientele"


@pytest.fixture
def hadoop(monkeypatch):
    stub = HadoopStub()
    monkeypatch.setattr(checkpoint_files, "open_path", stub.open_path)
    progress = QueryProgress(position={0: 7}, planned_end={}, committed_at_ms=None)
    monkeypatch.setattr(starts, "read_query_progress", lambda *_: progress)
    stored = StoredOffsets(ledger={}, before={}, marks={})
    monkeypatch.setattr(starts, "read_stored_offsets", lambda *_: stored)
    return stub


def decide(bounds, **options):
    return starts.decide_start(
        None,
        load_settings("base", []).tables,
        LEDGER,
        "t",
        bounds,
        checkpoint_location=CHECKPOINT,
        **({"starting_offsets": "latest"} | options),
    )


def test_decide_start_of_read_topic_that_was_recreated_names_both_ids(hadoop):
    decide(BOUNDS)
    known = dict(hadoop.files)
    # A broker that reports no ID changes nothing.
    assert decide(replace(BOUNDS, topic_id=None)).topic_id == "first"
    with pytest.raises(LostRecords, match="its id was first, is second"):
        decide(replace(BOUNDS, topic_id="second"))
    assert hadoop.files == known


def test_decide_start_with_accepted_loss_moves_old_checkpoint_aside(hadoop):
    first = decide(BOUNDS)
    kept = hadoop.files[f"{FOLDER}/start.json"]
    hadoop.files[f"{CHECKPOINT}/offsets/0"] = b"v1"
    calls = []
    recreated = replace(BOUNDS, topic_id="second")
    start = decide(recreated, accepts_data_loss=True, on_moved=lambda: calls.append(1))
    assert (first.topic_id, start.topic_id) == ("first", "second")
    [moved] = {path.split("/")[3] for path in hadoop.files} - {"checkpoint"}
    assert re.fullmatch(r"checkpoint\.until-\d{8}T\d{6}Z", moved)
    assert hadoop.files == {
        f"hdfs://site/{moved}/kafka_clientele/start.json": kept,
        f"hdfs://site/{moved}/offsets/0": b"v1",
        f"{FOLDER}/start.json": starts.write_start(start).encode(),
    }
    assert calls == [1]
    # The next start needs no decision.
    assert decide(recreated) == start


@pytest.mark.parametrize("end", [10, 500])
def test_decide_start_with_new_checkpoint_and_recreated_topic_is_refused(
    hadoop, monkeypatch, end
):
    """The recreated topic has passed the offsets of the ledger."""
    stored = StoredOffsets(
        ledger={0: 4}, before={"client_metrics": {0: 6}}, marks={}, topic_id="first"
    )
    monkeypatch.setattr(starts, "read_stored_offsets", lambda *_: stored)
    recreated = TopicBounds(beginning={0: 0}, end={0: end}, topic_id="second")
    with pytest.raises(UnsafeStart, match=r"t was deleted and recreated: .* second"):
        decide(recreated)
    assert hadoop.files == {}
    accepted = decide(recreated, accepts_data_loss=True)
    assert accepted.starting_offsets == {0: EARLIEST_OFFSET}
    assert accepted.floors == {"client_metrics": {}}
    [loss] = accepted.losses
    assert (loss.reason, loss.first_offset, loss.marked_offset) == (
        *("topic_made_anew", 5, 6),
    )


@pytest.mark.parametrize("planned_end", [{}, {0: 3}])
def test_decide_start_of_unread_topic_that_was_recreated_starts_with_new_topic_id(
    hadoop, monkeypatch, planned_end
):
    progress = QueryProgress(position={}, planned_end=planned_end, committed_at_ms=None)
    monkeypatch.setattr(starts, "read_query_progress", lambda *_: progress)
    earliest = {"starting_offsets": "earliest"}
    first = decide(BOUNDS, **earliest)
    recreated = replace(BOUNDS, topic_id="second")
    for _ in range(2):
        start = decide(recreated, **earliest)
        assert (start.topic_id, start.starting_offsets) == ("second", {0: -2})
        assert start.losses == ()
    assert first.topic_id == "first"
    assert len(hadoop.files) == len(("old start", "new start"))


@pytest.mark.parametrize("topic_id", ["first", None])
def test_decide_start_with_new_checkpoint_and_same_topic_resumes_after_ledger(
    hadoop, monkeypatch, topic_id
):
    stored = StoredOffsets(
        ledger={0: 4}, before={"client_metrics": {0: 6}}, marks={}, topic_id="first"
    )
    monkeypatch.setattr(starts, "read_stored_offsets", lambda *_: stored)
    resumed = decide(replace(BOUNDS, topic_id=topic_id))
    assert (resumed.starting_offsets, resumed.losses) == ({0: 5}, ())
    assert len(hadoop.files) == 1
