"""What is told of an error of Spark's or Delta's, by what it says of itself."""

import errno
import os
import shutil
from types import SimpleNamespace

import pytest

from pipelines.errors import (
    DamagedTable,
    FullDisk,
    IncompatibleTable,
    LostRecords,
    MissingService,
    MissingTable,
    UnsafeStart,
)
from pipelines.streaming import job_stops
from pipelines.streaming.job_stops import JobPlaces, explain_stop

LAST = "the job last committed a micro-batch at 2026-03-01T12:00:00Z"
PLACES = JobPlaces(
    topic="t",
    servers="broker:9092",
    tables="/data/tables",
    checkpoint_location="file:/data/checkpoint",
    last_commit=LAST,
)


class JavaError(Exception):
    """An error of the JVM, with its causes, as py4j hands it over."""

    def __init__(self, *chain):
        super().__init__("An error occurred while calling o1.start")
        self.java_exception = None
        for name, message in reversed(chain):
            self.java_exception = SimpleNamespace(
                getClass=lambda name=name: SimpleNamespace(getName=lambda: name),
                getMessage=lambda message=message: message,
                getCause=lambda cause=self.java_exception: cause,
            )


def explain(error):
    return explain_stop(None, error, PLACES)


@pytest.mark.parametrize(
    ("error", "kind", "parts"),
    [
        (
            JavaError(
                ("org.apache.spark.sql.streaming.StreamingQueryException", "ended"),
                ("org.apache.kafka.common.errors.TimeoutException", "listNodes"),
            ),
            MissingService,
            ("Kafka at broker:9092 has not answered the job (TimeoutException)", LAST),
        ),
        (
            JavaError(
                ("org.apache.spark.SparkException", "Job aborted"),
                (
                    "org.apache.spark.sql.delta.actions.InvalidProtocolVersionException",
                    "file:/data/tables/client_pushes/_delta_log requires version 99",
                ),
            ),
            IncompatibleTable,
            ("the table at /data/tables/client_pushes was written by another", LAST),
        ),
        (
            RuntimeError(
                "Traceback\npipelines.errors.MissingTable: table client_metrics at "
                "/data/tables/client_metrics is gone: it was deleted below the running "
                "job\n more"
            ),
            MissingTable,
            ("table client_metrics at /data/tables/client_metrics is gone", LAST),
        ),
        (
            RuntimeError("[DELTA_MISSING_DELTA_TABLE] x is not a Delta table"),
            MissingTable,
            ("a table at /data/tables is gone", "replay_pushes"),
        ),
        (
            JavaError(
                (
                    "java.io.FileNotFoundException",
                    "File file:/data/tables/x/_delta_log does not exist",
                )
            ),
            MissingTable,
            ("a table at /data/tables is gone", "replay_pushes"),
        ),
        (
            JavaError(
                ("org.apache.spark.sql.kafka010.KafkaIllegalStateException", "gone")
            ),
            LostRecords,
            ("Kafka no longer has all records of topic t", LAST),
        ),
        (
            JavaError(
                ("org.apache.spark.sql.streaming.StreamingQueryException", "ended"),
                (
                    "java.util.concurrent.ExecutionException",
                    (
                        "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: "
                        "This server does not host this topic-partition."
                    ),
                ),
                (
                    "org.apache.kafka.common.errors.UnknownTopicOrPartitionException",
                    "This server does not host this topic-partition.",
                ),
            ),
            LostRecords,
            ("Kafka at broker:9092 has no topic t, or not all of its partitions", LAST),
        ),
        (
            JavaError(
                (
                    "org.apache.kafka.common.errors.TopicAuthorizationException",
                    "Not authorized to access topics: [t]",
                )
            ),
            MissingService,
            (
                (
                    "Kafka at broker:9092 refuses the job (TopicAuthorizationException): "
                    "its principal needs READ and DESCRIBE on topic t"
                ),
                f"{LAST}. Nothing is lost: the same command goes on",
            ),
        ),
        (
            JavaError(
                ("org.apache.kafka.common.errors.GroupAuthorizationException", "")
            ),
            MissingService,
            (
                (
                    "(GroupAuthorizationException): its principal needs READ on groups that "
                    "begin with spark-kafka-source-;"
                ),
                f"{LAST}. Nothing is lost: the same command goes on",
            ),
        ),
        (
            JavaError(
                ("org.apache.kafka.common.KafkaException", "Failed to construct"),
                ("org.apache.kafka.common.errors.SaslAuthenticationException", "no"),
            ),
            MissingService,
            (
                (
                    "Kafka at broker:9092 does not let the job log in "
                    "(SaslAuthenticationException): check kafka.security_protocol and"
                ),
                f"{LAST}. Nothing is lost: the same command goes on",
            ),
        ),
    ],
    ids=[
        *("broker", "protocol", "table", "log", "commit", "records"),
        *("topic", "rights", "group", "login"),
    ],
)
def test_a_known_stop_is_one_sentence(error, kind, parts):
    told = explain(error)
    assert type(told) is kind
    assert all(part in str(told) for part in parts)
    assert "\n" not in str(told)


def test_the_cause_of_a_cause_is_looked_at():
    error = RuntimeError("ended")
    error.__cause__ = JavaError(("x.KafkaIllegalStateException", "gone"))
    assert isinstance(explain(error), LostRecords)


def test_a_full_disk_is_named(monkeypatch):
    monkeypatch.setattr(
        job_stops, "find_local_path", lambda _, path: path.removeprefix("file:")
    )
    monkeypatch.setattr(job_stops, "_find_scratch", lambda _: "/scratch")
    monkeypatch.setattr(job_stops, "_is_full", lambda path: path.name == "tables")
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/data/tables/x")
    told = explain(error)
    assert type(told) is FullDisk
    assert str(told) == (
        f"the disk of the tables at /data/tables is full; {LAST}. Nothing is lost: "
        f"make room, and the same command goes on from there"
    )


def test_a_disk_is_full_when_little_is_left(tmp_path, monkeypatch):
    assert not job_stops._is_full(tmp_path / "not" / "there")
    monkeypatch.setattr(
        shutil, "disk_usage", lambda _: SimpleNamespace(free=(16 << 20) - 1)
    )
    assert job_stops._is_full(tmp_path / "not" / "there")


def test_a_damaged_log_is_named(tmp_path, monkeypatch):
    log = tmp_path / "client_pushes" / "_delta_log"
    log.mkdir(parents=True)
    commit = '{"commitInfo":{}}\n{"add":{}}\n'
    (log / f"{0:020}.json").write_text(commit)
    monkeypatch.setattr(job_stops, "find_local_path", lambda *_: str(tmp_path))
    error = RuntimeError("[FAILED_READ_FILE.NO_HINT] Encountered error")
    assert explain(error) is None
    (log / f"{1:020}.json").write_text(commit[:-5])
    told = explain(error)
    assert type(told) is DamagedTable
    assert str(told).startswith(
        f"the log of the table at {tmp_path}/client_pushes is damaged: {1:020}.json "
        f"cannot be read; {LAST}. With that file as it was, from a copy, the same "
    )


def test_our_own_sentences_stay_and_others_are_nobodys(tmp_path, monkeypatch):
    monkeypatch.setattr(job_stops, "find_local_path", lambda *_: str(tmp_path))
    ours = UnsafeStart("choose")
    assert explain(ours) is ours
    assert explain(ValueError("unheard of")) is None
