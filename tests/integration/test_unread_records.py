"""What topics delete, or will, before their job has read it."""

import shutil
import time
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)

from pipelines.errors import UnsafeStart
from pipelines.jobs.maintain.queries import clean_checkpoints, compare_topics
from pipelines.jobs.telemetry.job import LEDGER
from pipelines.settings.secret_references import SecretReader
from pipelines.streaming.old_queries import list_left_overs
from pipelines.tables.telemetry import TELEMETRY_CONTRACTS
from tests.support.jobs.job_support import (
    PushProducer,
    create_topic,
    make_settings,
    run_once,
)
from tests.support.kafka.topics import wait_for
from tests.support.spark.empty_tables import make_tables

WEEK_MS = int(timedelta(days=7).total_seconds() * 1_000)
PATIENCE_S = 60


@pytest.fixture
def settings(spark, kafka, tmp_path):
    topic = f"unread-{uuid.uuid4()}"
    create_topic(kafka.bootstrap_servers, topic, partitions=1)
    made = make_settings(kafka.bootstrap_servers, topic, tmp_path)
    make_tables(spark, made.tables, TELEMETRY_CONTRACTS)
    return made


def compare(spark, settings):
    said = []
    secrets = SecretReader(environ={})
    loud = compare_topics(spark, settings, secrets, [LEDGER], said.append)
    (line,) = said
    assert loud == [line] * line.startswith("!!!")
    return line


def set_retention(kafka, topic, retention_ms):
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    entry = ConfigEntry(
        "retention.ms",
        str(retention_ms),
        incremental_operation=AlterConfigOpType.SET,
    )
    resource = ConfigResource("TOPIC", topic, incremental_configs=[entry])
    for done in admin.incremental_alter_configs([resource]).values():
        done.result(PATIENCE_S)


def delete_records(servers, topic, offset):
    """Delete those before an offset, as retention does."""
    admin = AdminClient({"bootstrap.servers": servers})
    (gone,) = admin.delete_records([TopicPartition(topic, 0, offset)]).values()
    gone.result(PATIENCE_S)


def remake_topic(servers, topic):
    admin = AdminClient({"bootstrap.servers": servers})
    admin.delete_topics([topic])[topic].result(PATIENCE_S)
    wait_for(
        lambda: admin.list_topics(timeout=PATIENCE_S).topics,
        lambda topics: topic not in topics,
    )
    create_topic(servers, topic, partitions=1)


def test_a_topic_that_deletes_before_its_job_reads_is_loud(spark, kafka, settings):
    topic, servers = settings.topics.telemetry, kafka.bootstrap_servers
    set_retention(kafka, topic, WEEK_MS)
    pushes = PushProducer(servers, topic)
    pushes.send(5)
    run_once(spark, settings)
    told = f"client_telemetry_to_delta, topic {topic}"
    assert compare(spark, settings) == (
        f"{told}: 0 records behind; the topic deletes after 168 h"
    )
    # Records are in the order of their times, but for those of this test.
    delete_records(servers, topic, 5)
    producer = Producer({"bootstrap.servers": servers})
    old_ms = time.time_ns() // 1_000_000 - WEEK_MS * 3 // 4
    for _ in range(2):
        producer.produce(topic, b"old", timestamp=old_ms)
    producer.produce(topic, b"new")
    assert producer.flush(PATIENCE_S) == 0
    line = compare(spark, settings)
    assert line.startswith(
        f"!!! {told}: will delete what the job has not read: 2 of 3 records are older "
        f"than 84 h of the 168 h"
    )
    set_retention(kafka, topic, -1)
    assert compare(spark, settings).endswith("the topic deletes nothing by age")
    delete_records(servers, topic, 7)
    assert compare(spark, settings).startswith(
        f"!!! {told}: 2 records were deleted by retention before the job has read them, "
        f"and 1 record"
    )


def test_a_topic_that_was_made_anew_is_loud(spark, kafka, settings):
    topic, servers = settings.topics.telemetry, kafka.bootstrap_servers
    PushProducer(servers, topic).send(2)
    run_once(spark, settings)
    remake_topic(servers, topic)
    PushProducer(servers, topic).send(5)
    line = (
        f"!!! client_telemetry_to_delta, topic {topic}: the topic was recreated since "
        f"the job has read it, and 5 records of the new one are to be read: start the "
        f"job, which says what is lost and how it goes on"
    )
    assert compare(spark, settings) == line
    # A new checkpoint location knows the topic by what its tables have stored.
    shutil.rmtree(settings.client_telemetry_to_delta.checkpoint_location)
    assert compare(spark, settings) == line
    with pytest.raises(UnsafeStart, match="was deleted and recreated"):
        run_once(spark, settings)


def test_a_ledger_that_cannot_be_read_is_loud(spark, settings):
    run_once(spark, settings)
    shutil.rmtree(f"{settings.client_telemetry_to_delta.checkpoint_location}")
    log = Path(settings.tables.root_path) / "client_pushes" / "_delta_log"
    newest = max(log.glob("*.json"))
    newest.write_text(newest.read_text() + "{cut off")
    assert compare(spark, settings).startswith(
        "!!! client_telemetry_to_delta: its topic was not looked at: "
    )


def test_a_topic_that_cannot_be_looked_at_is_loud(spark, kafka, tmp_path):
    elsewhere = make_settings(kafka.bootstrap_servers, "none", tmp_path)
    make_tables(spark, elsewhere.tables, TELEMETRY_CONTRACTS)
    line = compare(spark, elsewhere)
    assert line.startswith("!!! client_telemetry_to_delta: its topic was not looked at")
    assert f"Kafka at {kafka.bootstrap_servers} has no topic none" in line


def test_what_former_queries_left_in_a_checkpoint_location_goes(spark, settings):
    run_once(spark, settings)
    location = Path(settings.client_telemetry_to_delta.checkpoint_location)
    offsets = location / "offsets"
    offsets.mkdir(exist_ok=True)
    unfinished = offsets / ".7.0a1b.tmp"
    unfinished.write_text("cut off")
    two_days_ms = 2 * 86_400_000
    later_ms = time.time_ns() // 1_000_000 + two_days_ms
    assert [one.path for one in list_left_overs(spark, str(location), later_ms)] == [
        f"file:{unfinished}"
    ]
    assert list_left_overs(spark, str(location), later_ms - two_days_ms) == []
    now = datetime.now(tz=UTC)
    old, recent = (
        location.with_name(f"{location.name}.until-{moment:%Y%m%dT%H%M%SZ}")
        for moment in (now - timedelta(days=31), now - timedelta(days=29))
    )
    shutil.copytree(location, old)
    shutil.copytree(location, recent)
    said = []
    for is_dry_run in (True, False, False):
        clean_checkpoints(spark, settings, [LEDGER], said.append, is_dry_run=is_dry_run)
    would, did = said
    assert would.replace("would delete", "deleted") == did
    assert did.endswith(" bytes of former queries in its checkpoint location")
    assert not old.exists()
    assert (recent / "kafka_clientele" / "start.json").exists()
    assert (location / "kafka_clientele" / "start.json").exists()
