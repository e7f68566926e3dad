"""How the command of a job ends when it cannot go on, as its users see it."""

import contextlib
import os
import queue
import shutil
import signal
import subprocess
import threading

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from pipelines.settings import CONF_PATH
from pipelines.tables import QUARANTINE
from tests.integration.job_support import (
    PushProducer,
    create_topic,
    make_settings,
    read_rows,
)
from tests.integration.test_readme import HASTE

ROOT = CONF_PATH.parent
JOB = "client_telemetry_to_delta"
PATIENCE_S = 600
TOPIC = "stop-commands"
PARTITIONS = 3


class Command:
    """The command of the job, and what it says."""

    def __init__(self, servers, folder, *words):
        self.details = folder / f"details-{len(words)}-{os.urandom(4).hex()}.log"
        overrides = {
            "kafka.bootstrap_servers": servers,
            "topics.telemetry": TOPIC,
            "tables.root_path": f"{folder}/tables",
            f"{JOB}.checkpoint_location": f"{folder}/checkpoint",
            f"{JOB}.trigger_interval_ms": 200,
        }
        given = [
            word
            for each in overrides.items()
            for word in ("--set", "=".join(map(str, each)))
        ]
        self._process = subprocess.Popen(
            [
                str(ROOT / "spark-submit.sh"),
                JOB,
                "--env",
                "local",
                *given,
                *HASTE,
                *words,
            ],
            env=os.environ | {"KAFKA_CLIENTELE_DETAILS": str(self.details)},
            # spark-submit itself hands on both of its Python as one.
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.pid = self._process.pid
        self.lines = []
        self._queue = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self.lines.append(line.rstrip("\n"))
            self._queue.put(line)
        self._queue.put(None)

    def wait_for(self, text):
        """Wait for a line with a text."""
        while (line := self._queue.get(timeout=PATIENCE_S)) is not None:
            if text in line:
                return
        pytest.fail(f"ended without {text!r}: {self.lines}")

    def end(self):
        """Wait for the end; return the exit code and the lines that are no batch's."""
        code = self._process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        known = (" INFO ", "WARNING: Using incubator modules")
        return code, [line for line in self.lines if not any(k in line for k in known)]

    def kill(self):
        """Kill the JVM alone, as a person would who looks for the command."""
        os.kill(self.pid, signal.SIGKILL)
        self._process.wait(PATIENCE_S)

    def close(self):
        """Leave nothing behind."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        self._process.stdout.close()


@pytest.fixture
def start(kafka, tmp_path):
    started = []

    def start(*words):
        command = Command(kafka.bootstrap_servers, tmp_path, *words)
        started.append(command)
        return command

    yield start
    for command in started:
        command.close()


def test_stops_of_a_command_and_the_ways_on(kafka, spark, start, tmp_path):
    create_topic(kafka.bootstrap_servers, TOPIC, PARTITIONS)
    producer = PushProducer(kafka.bootstrap_servers, TOPIC)
    producer.send(20)
    first = start()
    first.wait_for("batch 0: ")

    # Another run on the same tables is refused, whatever its checkpoint location.
    elsewhere = f"{JOB}.checkpoint_location={tmp_path}/other"
    code, lines = start("--set", elsewhere).end()
    assert code == 1
    [sentence] = lines
    assert sentence.startswith(f"kafka-clientele: the tables at {tmp_path}/tables are")
    assert f"process {first.pid}, since 20" in sentence
    assert not (tmp_path / "other" / "offsets").exists()

    # Killed, it holds nothing any more.
    first.kill()
    second = start()
    producer.send(20)
    second.wait_for("batch 1: ")

    # A table that vanishes below it.
    shutil.rmtree(tmp_path / "tables" / "client_metrics")
    producer.send(20)
    code, lines = second.end()
    assert code == 1
    [sentence] = lines
    assert sentence.startswith("kafka-clientele: table client_metrics at ")
    assert "is gone: it was deleted below the running job; the job last" in sentence
    assert sentence.endswith(f"(details: {second.details})")
    assert "Exception" in second.details.read_text()
    assert not (tmp_path / "tables" / "client_metrics").exists()

    # Retention takes what it has not read; the same command goes on by decision only.
    expire_all(kafka.bootstrap_servers)
    code, lines = start("--once", "--accept-data-loss").end()
    assert code == 0
    [warning] = lines
    assert f"--accept-data-loss: topic {TOPIC} is read without partition 0" in warning
    settings = make_settings(kafka.bootstrap_servers, TOPIC, tmp_path)
    rows = read_rows(spark, settings, QUARANTINE, "reason", "topic", "source_job")
    assert ("data_loss", TOPIC, JOB) in rows


def expire_all(servers):
    """Do what retention does, to all records."""
    admin = AdminClient({"bootstrap.servers": servers})
    places = [TopicPartition(TOPIC, number, -1) for number in range(PARTITIONS)]
    for future in admin.delete_records(places).values():
        future.result()
