"""A checkpoint that is older than topic ids gets one, on any Hadoop file system."""

import json
from dataclasses import replace

import pytest

from pipelines.errors import LostRecords, UnsafeStart
from pipelines.jobs.telemetry.job import LEDGER
from pipelines.settings import load_settings
from pipelines.streaming import starts
from pipelines.streaming.positions import TopicBounds
from pipelines.streaming.query_progress import QueryProgress
from pipelines.streaming.start_records import EARLIEST_OFFSET, JobStart
from pipelines.streaming.stored_offsets import StoredOffsets
from tests.unit.streaming.hadoop_stub import HadoopStub

START = JobStart(topic="t", starting_offsets={0: 5}, floors={})
BOUNDS = TopicBounds(beginning={0: 0}, end={0: 9}, topic_id="first")
FOLDER = "hdfs://site/checkpoint/kafka_clientele"


@pytest.fixture
def hadoop(monkeypatch):
    stub = HadoopStub()
    monkeypatch.setattr(starts, "open_path", stub.open_path)
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
        checkpoint_location="hdfs://site/checkpoint",
        **({"starting_offsets": "latest"} | options),
    )


def keep_as_before(hadoop):
    """Keep a start as a program did that knew no ids."""
    old = json.loads(starts.write_start(START))
    text = json.dumps({k: old[k] for k in ("topic", "starting_offsets", "floors")})
    hadoop.files[f"{FOLDER}/start.json"] = text.encode()
    return dict(hadoop.files)


def test_the_id_of_a_topic_is_kept_beside_an_older_start(hadoop):
    before = keep_as_before(hadoop)
    known = replace(START, topic_id="first")
    assert decide(BOUNDS) == known
    assert decide(BOUNDS) == known
    kept = {f"{FOLDER}/topic-id.json": b'"first"'}
    assert hadoop.files == before | kept
    # A broker that does not tell it does not make it unknown again.
    assert decide(replace(BOUNDS, topic_id=None)) == known


def test_the_kept_id_tells_a_topic_that_was_made_anew(hadoop):
    keep_as_before(hadoop)
    decide(BOUNDS)
    with pytest.raises(LostRecords, match="its id was first, is second"):
        decide(replace(BOUNDS, topic_id="second"))


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


@pytest.mark.usefixtures("hadoop")
@pytest.mark.parametrize("planned_end", [{}, {0: 3}])
def test_decide_start_of_unread_topic_that_was_recreated_starts_with_new_topic_id(
    monkeypatch, planned_end
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
    assert starts.find_location(None, "hdfs://site/checkpoint").endswith("continued-1")


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
