"""A bridge of its own process, and what it left in Kafka."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from tests.support.kafka.topics import find_end, find_partitions

ROOT = Path(__file__).resolve().parents[3]
DEADLINE_S = 180


def start_bridge(kafka, log_path, *overrides):
    """Start the command with PushConfig on a free port; return process, host and port.

    Everything that it prints is in log_path, but its endpoint.
    """
    words = [
        f"kafka.bootstrap_servers={kafka.bootstrap_servers}",
        "bridge.listen_port=0",
        "bridge.http_port=0",
        "client_config.enabled=true",
        "client_config.min_push_interval_ms=0",
        *overrides,
    ]
    sets = [word for override in words for word in ("--set", override)]
    with log_path.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "pipelines/__main__.py", "bridge", "--env", "base", *sets],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    line = process.stdout.readline()
    if not line:
        process.communicate(timeout=DEADLINE_S)
        raise AssertionError(log_path.read_text())
    _, host, port = line.strip().rsplit(":", 2)
    return process, host.strip(), int(port)


@contextlib.contextmanager
def running_bridge(kafka, log_path, *overrides):
    """Run the command; yield its process, host and port; end it in order."""
    process, host, port = start_bridge(kafka, log_path, *overrides)
    try:
        yield process, host, port
    finally:
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=DEADLINE_S)
        with log_path.open("a") as log:
            log.write(rest)


def read_topic(kafka, topic):
    """Return all records of a topic, one partition after the other."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "reader",
            "enable.metrics.push": False,
        }
    )
    records = []
    try:
        for number in find_partitions(consumer, topic):
            partition = TopicPartition(topic, number, 0)
            end = find_end(consumer, partition)
            consumer.assign([partition])
            records += [consumer.poll(DEADLINE_S) for _ in range(end)]
    finally:
        consumer.close()
    return records
