"""The export of cluster metadata runs alone, next to a bridge that does not export."""

import os
import signal
import subprocess
import sys
import urllib.request
import uuid
from pathlib import Path

import pytest

from pipelines.embedded.ports import LOOPBACK, pick_free_ports
from tests.support.feed.topic_reader import TopicReader

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 120


def start_feed(*changes, stderr):
    sets = [word for one in changes for word in ("--set", one)]
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "pipelines", "feed", *sets],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )


@pytest.fixture
def feed(kafka, tmp_path):
    """Run the command on a topic of its own: yields process, topic and port."""
    topic = f"feed-{uuid.uuid4()}"
    (port,) = pick_free_ports(1, frozenset())
    with (tmp_path / "feed.log").open("w") as log:
        process = start_feed(
            f"kafka.bootstrap_servers={kafka.bootstrap_servers}",
            f"topics.cluster={topic}",
            "cluster.poll_ms=200",
            f"bridge.http_port={port}",
            stderr=log,
        )
    yield process, topic, port
    if process.poll() is None:
        process.kill()
        process.wait(PATIENCE_S)
    process.stdout.close()


def test_feed_command_exports_until_it_is_stopped(kafka, feed):
    process, topic, port = feed
    line = process.stdout.readline()
    assert line == f"metrics and health: http://{LOOPBACK}:{port}/\n"
    reader = TopicReader(kafka, topic)
    reader.wait_for_full_set()
    keys = {one.key for one in reader.records}
    assert "RegisterBroker/brokers/1" in keys
    url = f"http://{LOOPBACK}:{port}/metrics"
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as page:
        text = page.read().decode()
    assert "kafka_clientele_bridge_feeding 1.0" in text
    assert "process_cpu_seconds_total" in text
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 0
    reader.close()


def test_feed_command_without_a_source_names_the_setting():
    process = start_feed("cluster.source=off", stderr=subprocess.PIPE)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2
    assert "cluster.source: must name a source, got off" in errors
