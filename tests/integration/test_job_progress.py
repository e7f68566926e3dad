"""After a long stop the job takes what it is allowed, and says how far behind it is."""

import logging
import threading

import pytest
from confluent_kafka import Producer

from pipelines.jobs.telemetry import job as client_telemetry_to_delta
from pipelines.settings.secret_references import SecretReader
from pipelines.streaming.run_stream import RunContext
from tests.bench.generated_pushes import java_push
from tests.support.jobs.job_support import (
    CODECS,
    FLUSH_TIMEOUT_S,
    create_topic,
    make_settings,
)
from tests.support.spark.telemetry_records import make_headers

LIMIT = 40
PUSHES = 100
POINTS = 3
PATIENCE_S = 600


def send_backlog(servers, topic):
    """Send pushes, the last of them without an id."""
    create_topic(servers, topic, partitions=2)
    producer = Producer({"bootstrap.servers": servers})
    for number in range(PUSHES):
        without = ["push_id"] if number == PUSHES - 1 else []
        headers = make_headers(without=without, push_id=f"p{number}")
        body = CODECS["zstd"](java_push(number, POINTS))
        producer.produce(topic, body, headers=headers, key=str(number))
    assert producer.flush(FLUSH_TIMEOUT_S) == 0


@pytest.mark.long
@pytest.mark.parametrize(
    "is_once",
    [
        pytest.param(True, id="once", marks=pytest.mark.long),
        pytest.param(False, id="continuous"),
    ],
)
def test_a_backlog_is_read_in_bounded_batches_and_the_lag_told(
    spark, kafka, tmp_path, caplog, is_once
):
    caplog.set_level(logging.INFO, "pipelines")
    topic = f"backlog-{is_once}"
    send_backlog(kafka.bootstrap_servers, topic)
    settings = make_settings(
        kafka.bootstrap_servers,
        topic,
        tmp_path,
        f"client_telemetry_to_delta.max_offsets_per_trigger={LIMIT}",
    )
    told = []
    begins = f"reads {topic} at {kafka.bootstrap_servers} from its oldest records; "
    is_all = threading.Event()

    def note(progress):
        told.append(progress)
        if sum(each.records for each in told) == PUSHES:
            is_all.set()

    query = client_telemetry_to_delta.run(
        spark,
        settings,
        RunContext(secrets=SecretReader(environ={}), is_once=is_once, on_batch=note),
    )
    said = [record.getMessage() for record in caplog.records]
    assert f"{begins}writes to {settings.tables.root_path}" in said
    assert is_once is not any("waits for records" in line for line in said)
    assert is_all.wait(PATIENCE_S)
    query.stop()
    assert query.exception() is None
    assert max(each.records for each in told) <= LIMIT
    assert sum(each.rows for each in told) == (PUSHES - 1) * POINTS
    assert sum(each.quarantined for each in told) == 1
    read = 0
    for progress in told:
        read += progress.records
        assert progress.lag == PUSHES - read
        assert progress.duration_ms > 0
    assert f"batch {told[0].batch_id}: " in told[0].as_line()
    assert told[-1].as_line().endswith("0 records behind")
