"""A bridge process that is told to stop, and told again."""

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import time

import pytest

from pipelines.embedded import EmbeddedKafka
from pipelines.settings import CONF_PATH
from tests.bench.running_bridge import GET, make_push, read_reply
from tests.support.kafka.stopped_processes import stop_process

PUBLISH_TIMEOUT_S = 29
PATIENCE_S = 180
NONE, REFUSED = 0, 89


@pytest.fixture(scope="module")
def own_kafka(java):
    """A broker that these tests freeze."""
    with EmbeddedKafka(java=java) as cluster:
        yield cluster


@contextlib.contextmanager
def bridge_process(cluster, log_path, *overrides):
    """Run the command; yield the process and its port."""
    words = [
        f"kafka.bootstrap_servers={cluster.bootstrap_servers}",
        "bridge.listen_port=0",
        'subscriptions=[{name="s",metrics=["*"],interval_ms=100,match=[]}]',
        *overrides,
    ]
    command = [sys.executable, "-m", "pipelines", "bridge", "--env", "local"]
    command += [part for word in words for part in ("--set", word)]
    with (
        log_path.open("wb") as log,
        subprocess.Popen(
            command, cwd=CONF_PATH.parent, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        try:
            yield process, int(process.stdout.readline().rpartition(":")[2])
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()


@contextlib.contextmanager
def frozen(cluster):
    (pid,) = cluster.pids.values()
    stop_process(pid)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def connect(port):
    return socket.create_connection(("127.0.0.1", port), PATIENCE_S)


def subscribe(client):
    client.sendall(GET)
    return make_push(read_reply(client))


def error_of(reply):
    return struct.unpack_from(">h", reply, 9)[0]


def push_until_taken(port):
    """Push as one client after the other until Kafka has taken one."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with connect(port) as client:
            client.sendall(subscribe(client))
            if error_of(read_reply(client)) == NONE:
                return
    pytest.fail("Kafka took no push")


def test_what_is_in_flight_is_answered_and_the_exit_code_is_0(own_kafka, tmp_path):
    with bridge_process(own_kafka, tmp_path / "log") as (process, port):
        push_until_taken(port)
        with connect(port) as busy, connect(port) as idle, connect(port) as half:
            subscribe(idle)
            half.sendall(b"\0\0")
            push = subscribe(busy)
            with frozen(own_kafka):
                busy.sendall(push)
                subscribe(idle)
                process.send_signal(signal.SIGTERM)
                assert idle.recv(1) == b""
                # Nobody new comes in while the others leave.
                with pytest.raises(ConnectionRefusedError):
                    connect(port)
            assert error_of(read_reply(busy)) == NONE
            assert busy.recv(1) == b""
            half.close()
            assert process.wait(PATIENCE_S) == 0
    logged = (tmp_path / "log").read_text()
    assert "bridge has stopped" in logged
    assert "Traceback" not in logged


def test_a_kafka_that_does_not_answer_does_not_keep_the_process(own_kafka, tmp_path):
    slow = f"bridge.publish_timeout_ms={PUBLISH_TIMEOUT_S}000"
    with bridge_process(own_kafka, tmp_path / "log", slow) as (process, port):
        push_until_taken(port)
        with connect(port) as busy, connect(port) as half:
            push = subscribe(busy)
            half.sendall(b"\0\0")
            with frozen(own_kafka):
                busy.sendall(push)
                subscribe_elsewhere(port)
                began = time.monotonic()
                process.send_signal(signal.SIGTERM)
                assert error_of(read_reply(busy)) == REFUSED
                assert process.wait(PATIENCE_S) == 0
                # Not for as long as the push might have waited.
                assert time.monotonic() - began < PUBLISH_TIMEOUT_S - 1


def subscribe_elsewhere(port):
    """Return once the bridge has handled what was sent before."""
    with connect(port) as client:
        subscribe(client)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_at_once_and_not_with_0(own_kafka, tmp_path, number):
    slow = f"bridge.publish_timeout_ms={PUBLISH_TIMEOUT_S}000"
    with bridge_process(own_kafka, tmp_path / "log", slow) as (process, port):
        push_until_taken(port)
        with connect(port) as busy, connect(port) as idle:
            push = subscribe(busy)
            subscribe(idle)
            with frozen(own_kafka):
                busy.sendall(push)
                subscribe_elsewhere(port)
                process.send_signal(number)
                # The first one was heard.
                assert idle.recv(1) == b""
                process.send_signal(number)
                assert process.wait(PATIENCE_S) == 128 + number


def test_a_signal_before_kafka_answers_ends_it_too(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        servers = f"127.0.0.1:{silent.getsockname()[1]}"
        command = [sys.executable, "-m", "pipelines", "bridge", "--env", "local"]
        command += ["--set", f"kafka.bootstrap_servers={servers}"]
        command += ["--set", "bridge.listen_port=0"]
        with (
            (tmp_path / "log").open("wb") as log,
            subprocess.Popen(command, cwd=CONF_PATH.parent, stderr=log) as process,
        ):
            # The bridge asks for its topic: it is past its settings.
            silent.settimeout(PATIENCE_S)
            with silent.accept()[0]:
                process.send_signal(signal.SIGTERM)
                assert process.wait(PATIENCE_S) == 0
