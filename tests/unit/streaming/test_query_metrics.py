"""What Prometheus reads of queries, whatever Spark tells listeners."""

from types import SimpleNamespace

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from pipelines.streaming.progress import BatchProgress
from pipelines.streaming.query_metrics import QueryMetrics

NOW_S = 1_000.0
P = "kafka_clientele_query"


class Queries:
    """Two queries of one session, and what is read of them."""

    def __init__(self):
        self.now_s = NOW_S
        self.registry = CollectorRegistry()
        self.metrics = QueryMetrics(self.registry, ("a", "b"), lambda: self.now_s)

    def start(self, name, run="1"):
        event = SimpleNamespace(id="i", runId=f"{name}-{run}", name=name)
        self.metrics.onQueryStarted(event)

    def end(self, name, run="1", exception=None):
        self.metrics.onQueryTerminated(
            SimpleNamespace(id="i", runId=f"{name}-{run}", exception=exception)
        )

    def idle(self, name, run="1"):
        event = SimpleNamespace(id="i", runId=f"{name}-{run}", timestamp="")
        self.metrics.onQueryIdle(event)

    def progress(self, name, *, records=3, end=7, latest=9, **durations_ms):
        source = SimpleNamespace(
            endOffset=f'{{"t": {{"0": {end}}}}}',
            latestOffset=f'{{"t": {{"0": {latest}}}}}',
        )
        progress = SimpleNamespace(
            name=name,
            batchId=4,
            numInputRows=records,
            batchDuration=1_500,
            durationMs=durations_ms,
            sources=[source],
        )
        self.metrics.onQueryProgress(SimpleNamespace(progress=progress))

    def read(self, query):
        """Return name, or name and phase, to value; as a scraper gets them."""
        text = generate_latest(self.registry).decode()
        return {
            " ".join([s.name, *([s.labels["phase"]] if "phase" in s.labels else [])]): (
                s.value
            )
            for family in text_string_to_metric_families(text)
            for s in family.samples
            if s.labels.get("query") == query and "le" not in s.labels
        }


@pytest.fixture
def queries():
    return Queries()


def test_a_query_is_known_before_it_starts(queries):
    told = queries.read("a")
    assert told[f"{P}_up"] == 0
    assert told[f"{P}_records_total"] == 0
    # Of what has not happened there is no time, and none to be late by.
    assert f"{P}_last_batch_timestamp_seconds" not in told
    assert f"{P}_lag_records" not in told


def test_a_micro_batch_is_counted_for_its_own_query(queries):
    queries.start("a")
    queries.start("b")
    queries.now_s += 5
    queries.progress("a", addBatch=1_200, triggerExecution=1_500)
    queries.progress("a", end=9, addBatch=800, triggerExecution=1_500)
    told, other = queries.read("a"), queries.read("b")
    assert told[f"{P}_up"] == other[f"{P}_up"] == 1
    assert told[f"{P}_records_total"] == 6
    assert told[f"{P}_batches_total"] == 2
    assert told[f"{P}_batch_seconds_count"] == 2
    assert told[f"{P}_batch_seconds_sum"] == 3
    assert told[f"{P}_phase_seconds_total addBatch"] == 2
    assert told[f"{P}_phase_seconds_total triggerExecution"] == 3
    assert told[f"{P}_lag_records"] == 0
    assert told[f"{P}_last_batch_timestamp_seconds"] == NOW_S + 5
    assert other[f"{P}_batches_total"] == 0
    assert other[f"{P}_last_sign_timestamp_seconds"] == NOW_S


def test_what_the_job_says_is_counted_beside_it(queries):
    note = queries.metrics.observe("b")
    progress = BatchProgress(
        batch_id=0,
        records=9,
        rows=70,
        rows_name="points",
        quarantined=2,
        duration_ms=9,
        lag=None,
    )
    note(progress)
    note(progress)
    told = queries.read("b")
    assert told[f"{P}_rows_total"] == 140
    assert told[f"{P}_quarantined_records_total"] == 4


def test_a_trigger_without_a_micro_batch_is_a_sign_of_life_alone(queries):
    queries.start("a")
    queries.now_s += 1
    queries.progress("a", records=0, latestOffset=3, triggerExecution=4)
    assert queries.read("a")[f"{P}_batches_total"] == 0
    assert queries.read("a")[f"{P}_last_sign_timestamp_seconds"] == NOW_S + 1
    queries.now_s += 1
    queries.idle("a")
    assert queries.read("a")[f"{P}_last_sign_timestamp_seconds"] == NOW_S + 2


def test_a_lag_that_spark_does_not_tell_leaves_the_one_before(queries):
    queries.start("a")
    queries.progress("a", end=4, latest=9, addBatch=1)
    queries.progress("a", end=4, latest='"none', addBatch=1)
    assert queries.read("a")[f"{P}_lag_records"] == 5


def test_an_end_by_a_fault_is_told_from_one_that_was_asked_for(queries):
    queries.start("a")
    queries.end("a")
    assert queries.read("a").items() >= {f"{P}_up": 0, f"{P}_failures_total": 0}.items()
    queries.start("a", run="2")
    queries.end("a", run="2", exception="BatchFailed")
    told = queries.read("a")
    assert told[f"{P}_up"] == 0
    assert told[f"{P}_failures_total"] == 1
    assert told[f"{P}_starts_total"] == 2


def test_queries_of_others_in_the_session_are_not_shown(queries):
    queries.start(None)
    queries.start("other")
    queries.progress("other", addBatch=1)
    queries.idle("other")
    queries.end("other", exception="x")
    assert queries.read("other") == {}
    assert queries.read("a")[f"{P}_starts_total"] == 0
