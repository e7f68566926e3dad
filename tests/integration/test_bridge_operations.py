"""What operators see of a bridge process: health, metrics and log, with a real Kafka."""

import asyncio
import json
import os
import signal
import socket
import struct
import subprocess
import sys

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pipelines.embedded import EmbeddedKafka
from tests.support.bridge.bridge_process import BridgeProcess
from tests.support.clients.raw_pushers import make_frame, make_push, pushing
from tests.support.deployments import CONTAINERS, read_dockerfile
from tests.support.kafka.stopped_processes import stop_process

CANARY = b"canary-7f3a"
STRANGERS = 300


@pytest.fixture(scope="module")
def own_kafka(java):
    """A broker that these tests freeze."""
    with EmbeddedKafka(java=java) as cluster:
        yield cluster


@pytest.fixture
def bridge(own_kafka, tmp_path):
    process = BridgeProcess(
        tmp_path,
        own_kafka.bootstrap_servers,
        "operations",
        "bridge.log_format=json",
        "bridge.telemetry_max_bytes=1000",
    )
    process.start()
    yield process
    process.close()


def read_metrics(bridge):
    status, text = bridge.fetch("/metrics")
    assert status == 200
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def read_log(bridge):
    return [json.loads(line) for line in bridge.log_path.read_text().splitlines()]


class Stranger:
    """A socket that sends what it likes."""

    def __init__(self, bridge):
        self._socket = socket.create_connection(bridge.address)
        self._file = self._socket.makefile("rb")

    def ask(self, frame):
        self._socket.sendall(frame)
        (size,) = struct.unpack(">i", self._file.read(4))
        return self._file.read(size)[5:]

    def is_cut_off(self, frame):
        self._socket.sendall(frame)
        try:
            return self._file.read() == b""
        except ConnectionResetError:
            return True

    def close(self):
        self._file.close()
        self._socket.close()


@pytest.mark.long
def test_frozen_kafka_makes_the_bridge_unready_until_it_goes_on(own_kafka, bridge):
    (pid,) = own_kafka.pids.values()
    bridge.fetch_until("/readyz", 200)
    stop_process(pid)
    try:
        bridge.fetch_until("/readyz", 503)
        assert bridge.fetch("/readyz")[1].startswith("Kafka has not answered for")
        assert bridge.fetch("/healthz") == (200, "ok\n")
        assert read_metrics(bridge)["kafka_clientele_bridge_ready",] == 0
    finally:
        os.kill(pid, signal.SIGCONT)
    bridge.fetch_until("/readyz", 200)
    assert bridge.stop() == 0


def is_healthy(bridge):
    """Ask as the engine of its container would."""
    check = dict(read_dockerfile(CONTAINERS / "bridge.Dockerfile"))["HEALTHCHECK"]
    _, *words = json.loads(check.partition("CMD")[2])
    variables = {"KAFKA_CLIENTELE_BRIDGE__HTTP_PORT": str(bridge.http_port)}
    done = subprocess.run(
        [sys.executable, *words],
        env=os.environ | variables,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode == 0


def test_killed_kafka_makes_the_bridge_unready_until_it_is_back(own_kafka, bridge):
    bridge.fetch_until("/readyz", 200)
    assert is_healthy(bridge)
    own_kafka.kill(1)
    bridge.fetch_until("/readyz", 503)
    assert not is_healthy(bridge)
    own_kafka.restart(1)
    bridge.fetch_until("/readyz", 200)


def test_metrics_count_what_clients_did(bridge):
    async def push():
        async with pushing(bridge.address, 3) as outcomes:
            await outcomes.wait_for_accepted(30)
            read = await asyncio.to_thread(read_metrics, bridge)
        return outcomes, read

    outcomes, read = asyncio.run(push())
    own = "kafka_clientele_bridge_"
    assert 30 <= read[own + "accepted_pushes_total",] <= outcomes.accepted
    assert read[own + "requests_total", "0", "72"] >= 30
    assert read[own + "open_connections",] == 3
    assert read[own + "received_bytes_total",] > 30 * 50
    assert read[own + "publish_latency_seconds_count",] >= 30
    assert 0 < read[own + "publish_latency_seconds_sum",] < 60
    assert read["kafka_server_client_metrics_instance_count",] == 3
    exports = [
        value
        for key, value in read.items()
        if key[0] == "kafka_server_client_metrics_plugin_export_count"
    ]
    assert len(exports) == 3
    assert sum(exports) == read[own + "accepted_pushes_total",]
    after = read_metrics(bridge)
    assert after[own + "accepted_pushes_total",] == outcomes.accepted


def test_log_of_the_process_says_who_and_why_and_never_what(bridge):
    for number in range(STRANGERS):
        stranger = Stranger(bridge)
        size = struct.pack(">i", 2**30 + number)
        assert stranger.is_cut_off(size + CANARY)
        stranger.close()
    client = Stranger(bridge)
    body = client.ask(make_frame(71, bytes(16) + b"\x00"))
    instance_id, (subscription,) = body[6:22], struct.unpack_from(">i", body, 22)
    too_large = make_push(instance_id, subscription, CANARY * 200)
    assert struct.unpack_from(">h", client.ask(too_large), 4) == (118,)
    unserved = struct.pack(">hhih", 999, 0, 1, len(CANARY)) + CANARY
    assert client.is_cut_off(struct.pack(">i", len(unserved)) + unserved)
    client.close()
    assert bridge.stop() == 0

    text, lines = bridge.log_path.read_text(), read_log(bridge)
    assert CANARY.decode() not in text
    by_reason = {}
    for line in lines:
        by_reason.setdefault(line.get("reason"), []).append(line)
    malformed = by_reason["malformed_request"]
    assert sum(line.get("repeated", 1) for line in malformed) == STRANGERS
    assert len(malformed) < STRANGERS / 3
    assert all(line["connection_id"] for line in malformed)
    (refused,) = by_reason["telemetry_too_large"]
    assert refused["error_code"] == 118
    assert len(refused["client_instance_id"]) == 22
    (unsupported,) = by_reason["unsupported_request"]
    assert unsupported["connection_id"] == refused["connection_id"]
    assert "API key 999" in unsupported["message"]
    assert {"time", "level", "logger", "message"} <= lines[0].keys()
