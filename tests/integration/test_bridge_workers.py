"""Several bridge processes on one port: any of them takes any push."""

import os
import signal
import socket
import subprocess
import uuid

import pytest

from tests.bench.running_bridge import GET, make_push, read_reply
from tests.support.bridge.bridge_process import BridgeProcess, list_children
from tests.support.bridge.config_support import read_topic

PATIENCE_S = 180
CONNECTIONS = 24


def is_running(pid):
    """What has ended stays a zombie where nobody asks for its end, as in containers."""
    done = subprocess.run(
        ["/bin/ps", "-o", "stat=", "-p", str(pid)],
        capture_output=True,
        check=False,
        text=True,
    )
    return done.stdout.strip()[:1] not in {"", "Z"}


@pytest.fixture
def workers(kafka, tmp_path):
    topic = f"workers-{uuid.uuid4()}"
    bridge = BridgeProcess(
        tmp_path, kafka.bootstrap_servers, topic,
        "bridge.workers=2", "bridge.bridge_id=b", "bridge.http_port=0",
    )  # fmt: skip
    bridge.start()
    yield bridge, topic
    bridge.close()


def connect(bridge):
    return socket.create_connection(bridge.address, timeout=PATIENCE_S)


def ask_for_subscription(bridge):
    with connect(bridge) as client:
        client.sendall(GET)
        return read_reply(client)


def test_any_worker_takes_a_push_that_another_has_answered_a_get_for(workers, kafka):
    bridge, topic = workers
    subscriptions = [ask_for_subscription(bridge) for _ in range(CONNECTIONS)]
    for subscription in subscriptions:
        with connect(bridge) as client:
            client.sendall(make_push(subscription))
            assert read_reply(client)[-3:-1] == b"\x00\x00"
    written_by = {dict(one.headers())["bridge_id"] for one in read_topic(kafka, topic)}
    assert written_by == {b"b-0", b"b-1"}


def test_a_worker_that_dies_is_started_again(workers, wait_until):
    bridge, _ = workers
    before = list_children(bridge.pid)
    os.kill(before[0], signal.SIGKILL)
    wait_until(lambda: len(set(list_children(bridge.pid)) - set(before)) == 1)
    wait_until(lambda: len(ask_for_subscription(bridge)) > 0)


def test_they_stop_together_and_leave_no_process(workers):
    bridge, _ = workers
    children = list_children(bridge.pid)
    assert len(children) == 2
    assert bridge.stop() == 0
    assert not any(map(is_running, children))


def test_they_end_with_the_process_that_started_them(workers, wait_until):
    bridge, _ = workers
    children = list_children(bridge.pid)
    bridge.kill()
    wait_until(lambda: not any(map(is_running, children)))
