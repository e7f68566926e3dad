"""How the command of a job ends when it cannot go on, as its users see it."""

import shutil
import signal

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from pipelines.tables.telemetry import QUARANTINE
from tests.integration.test_docs import HASTE
from tests.long.job_stop_scenes import JOB, PARTITIONS, Scene
from tests.support.jobs.job_support import make_settings, read_rows


@pytest.fixture
def scene(kafka, tmp_path):
    scene = Scene(name="commands", kafka=kafka, folder=tmp_path, more_words=[*HASTE])
    yield scene
    scene.close()


def test_stops_of_a_command_and_the_ways_on(scene, spark, tmp_path):
    scene.make_topic()
    scene.producer.send(20)
    first = scene.start()
    first.wait_for("batch 0: ")

    # Another run on the same tables is refused, whatever its checkpoint location.
    ended = scene.start(checkpoint=tmp_path / "other").end()
    assert ended.code == 1
    [sentence] = ended.told
    assert sentence.startswith(f"kafka-clientele: the tables at {tmp_path}/tables are")
    assert f"process {first.process.pid}, since 20" in sentence
    assert not (tmp_path / "other" / "offsets").exists()

    # Its JVM killed, as by a person who looks for the command, it holds nothing more.
    first.signal(signal.SIGKILL, to_group=False)
    first.process.wait()
    second = scene.start()
    scene.producer.send(20)
    second.wait_for("batch 1: ")

    # A table that vanishes below it.
    shutil.rmtree(tmp_path / "tables" / "client_metrics")
    scene.producer.send(20)
    ended = second.end()
    assert ended.code == 1
    [sentence] = ended.told
    assert sentence.startswith("kafka-clientele: table client_metrics at ")
    assert "is gone: it was deleted below the running job; the job last" in sentence
    assert sentence.endswith(f"(details: {second.details})")
    assert "Exception" in second.details.read_text()
    assert not (tmp_path / "tables" / "client_metrics").exists()

    # Retention takes what it has not read; the same command goes on by decision only.
    expire_all(scene)
    ended = scene.run("--accept-data-loss")
    assert ended.code == 0
    [warning] = ended.told
    told = f"--accept-data-loss: topic {scene.topic} is read without partition 0"
    assert told in warning
    settings = make_settings(scene.kafka.bootstrap_servers, scene.topic, tmp_path)
    rows = read_rows(spark, settings, QUARANTINE, "reason", "topic", "source_job")
    assert ("data_loss", scene.topic, JOB) in rows


def expire_all(scene):
    """Do what retention does, to all records."""
    admin = AdminClient({"bootstrap.servers": scene.kafka.bootstrap_servers})
    places = [TopicPartition(scene.topic, number, -1) for number in range(PARTITIONS)]
    for future in admin.delete_records(places).values():
        future.result()
