"""What ends a job is told, and its claim released, whatever becomes of the telling."""

from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException

from pipelines.errors import LostRecords, MissingService
from pipelines.jobs.telemetry.job import LEDGER
from pipelines.streaming import job_runs
from pipelines.streaming.job_runs import run_to_end

READY = LostRecords("Kafka no longer has all records")


class Ended(Exception):
    """What Spark raises."""


def run_to_its_end(released):
    """Run a job that ends by itself, under a claim."""

    def start(job_run):
        job_run.claim = SimpleNamespace(release=lambda: released.append(True))
        raise Ended

    run_to_end(None, None, None, LEDGER, start)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (MissingService("there is no topic t"), MissingService),
        (None, LostRecords),
        (AnalysisException("no such column"), LostRecords),
        (ValueError("not JSON"), LostRecords),
        (Py4JError("gone"), LostRecords),
    ],
    ids=repr,
)
def test_a_sentence_that_is_ready_is_told(monkeypatch, found, told):
    def check_records(*_):
        if found is not None:
            raise found

    monkeypatch.setattr(job_runs, "_find_places", lambda *_: None)
    monkeypatch.setattr(job_runs, "explain_stop", lambda *_: READY)
    monkeypatch.setattr(job_runs, "check_records", check_records)
    released = []
    with pytest.raises(told):
        run_to_its_end(released)
    assert released == [True]


def test_without_a_sentence_it_is_told_as_it_was_raised(monkeypatch):
    def find_places(*_):
        raise ValueError("not JSON")

    monkeypatch.setattr(job_runs, "_find_places", find_places)
    released = []
    with pytest.raises(Ended):
        run_to_its_end(released)
    assert released == [True]
