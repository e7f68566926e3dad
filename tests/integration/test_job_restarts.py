"""However a job ends and begins again, the tables hold each record once."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException

from pipelines.errors import MissingService, UnsafeStart
from pipelines.tables.telemetry import CLIENT_INSTANCES, CLIENT_PUSHES
from tests.support.jobs.job_support import (
    PushProducer,
    create_topic,
    find_differences,
    make_settings,
    read_rows,
    run_once,
)

# Before the next table is the same state as after this one.
POINTS = [
    "before client_metrics",
    "after client_metrics",
    "after quarantine",
    "after client_instances",
    "after client_pushes",
]


class StoppedHereError(Exception):
    """Raised by an observer to end a query between two of its writes."""


def stop_at(point):
    def observe(reached, _rows):
        if reached == point:
            raise StoppedHereError(point)

    return observe


@pytest.fixture
def topic(kafka, request):
    name = request.node.name.replace("[", "-").strip("]").replace(" ", "-")
    create_topic(kafka.bootstrap_servers, name)
    return name


@pytest.fixture
def settings(kafka, topic, tmp_path):
    return make_settings(
        kafka.bootstrap_servers,
        topic,
        tmp_path,
        "client_telemetry_to_delta.max_offsets_per_trigger=50",
    )


@pytest.fixture
def producer(kafka, topic):
    return PushProducer(kafka.bootstrap_servers, topic)


def with_checkpoint(settings, folder):
    job = replace(settings.client_telemetry_to_delta, checkpoint_location=str(folder))
    return replace(settings, client_telemetry_to_delta=job)


@pytest.mark.long
def test_a_restart_goes_on_where_the_job_stopped(spark, settings, producer):
    producer.send(70)
    run_once(spark, settings)
    run_once(spark, settings)
    producer.send(20)
    run_once(spark, settings)
    assert find_differences(spark, settings, producer.expected) == {}


@pytest.mark.long
def test_a_batch_whose_commit_was_lost_is_not_written_again(
    spark, settings, producer, tmp_path
):
    producer.send(40)
    run_once(spark, settings)
    commits = tmp_path / "checkpoint" / "commits"
    newest = max((f for f in commits.iterdir() if f.name.isdecimal()), key=_number)
    newest.unlink()
    (commits / f".{newest.name}.crc").unlink()
    producer.send(30)
    run_once(spark, settings)
    assert find_differences(spark, settings, producer.expected) == {}


def _number(path):
    return int(path.name)


@pytest.mark.long
def test_a_new_checkpoint_goes_on_after_a_stop_at_any_point(
    spark, settings, producer, tmp_path
):
    """Each stop leaves tables that are ahead of the ledger by another step."""
    for number, point in enumerate(POINTS):
        producer.send(25)
        stopped = with_checkpoint(settings, tmp_path / f"checkpoint-{number}")
        with pytest.raises(StreamingQueryException, match="StoppedHereError"):
            run_once(spark, stopped, stop_at(point))
    run_once(spark, with_checkpoint(settings, tmp_path / "last"))
    assert find_differences(spark, settings, producer.expected) == {}


@pytest.mark.long
def test_a_checkpoint_keeps_its_floors_over_restarts(
    spark, settings, producer, tmp_path
):
    producer.send(30)
    with pytest.raises(StreamingQueryException, match="StoppedHereError"):
        run_once(spark, settings, stop_at("before client_pushes"))
    producer.send(5)
    second = with_checkpoint(settings, tmp_path / "second")
    with pytest.raises(StreamingQueryException, match="StoppedHereError"):
        run_once(spark, second, stop_at("before client_metrics"))
    run_once(spark, second)
    assert find_differences(spark, settings, producer.expected) == {}


@pytest.mark.long
def test_pushes_that_change_nothing_do_not_write_client_instances(
    spark, settings, producer, tmp_path
):
    producer.send(30)
    run_once(spark, settings)
    log = tmp_path / "tables" / CLIENT_INSTANCES.name / "_delta_log"
    shutil.rmtree(tmp_path / "checkpoint" / "commits")
    before = sorted(path.name for path in log.glob("*.json"))
    run_once(spark, settings)
    assert sorted(path.name for path in log.glob("*.json")) == before


@pytest.mark.long
def test_a_topic_that_was_made_anew_is_refused(spark, kafka, settings, producer):
    producer.send(20)
    run_once(spark, settings)
    anew = f"{settings.topics.telemetry}-anew"
    create_topic(kafka.bootstrap_servers, anew)
    table = Path(settings.tables.root_path) / CLIENT_PUSHES.name
    pushes = spark.table(f"delta.`{table}`").collect()
    assert pushes
    renamed = [row.asDict() | {"topic": anew} for row in pushes]
    schema = spark.table(f"delta.`{table}`").schema
    spark.createDataFrame(renamed, schema).writeTo(f"delta.`{table}`").append()
    topics = replace(settings.topics, telemetry=anew)
    moved = replace(settings, topics=topics)
    fresh = with_checkpoint(moved, Path(settings.tables.root_path) / "fresh")
    with pytest.raises(UnsafeStart, match="the topic was recreated"):
        run_once(spark, fresh)


def test_a_missing_topic_is_named(spark, settings):
    topics = replace(settings.topics, telemetry="no-such-topic")
    with pytest.raises(MissingService, match="has no topic no-such-topic"):
        run_once(spark, replace(settings, topics=topics))


@pytest.mark.long
def test_latest_begins_at_the_end_and_loses_nothing_after(
    spark, kafka, settings, producer
):
    producer.send(10)
    topic = settings.topics.telemetry
    job = replace(settings.client_telemetry_to_delta, starting_offsets="latest")
    latest = replace(settings, client_telemetry_to_delta=job)
    run_once(spark, latest)
    newer = PushProducer(kafka.bootstrap_servers, topic, seed=1)
    newer.send(10)
    run_once(spark, latest)
    rows = read_rows(spark, settings, CLIENT_PUSHES, "partition", "offset")
    assert rows == sorted((p, o) for _, p, o, _ in newer.expected.pushes)
