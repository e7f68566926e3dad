"""Brokers end with the process that started them, however that one ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PATIENCE_S = 180
# A shell lets what it starts in the background ignore SIGINT, and children inherit that.
OWNER = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from pipelines.embedded import EmbeddedKafka, run_kafka
{body}
"""
IDLE = """
kafka = EmbeddedKafka(java=sys.argv[1])
kafka.start()
print(kafka.folder, kafka.pids[1], flush=True)
sys.stdin.read()
"""


def start_owner(body, java):
    return subprocess.Popen(
        [sys.executable, "-c", OWNER.format(body=body), java],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_broker_and_no_folder_outlive_their_owner(
    java, number, wait_until, list_processes
):
    with start_owner(IDLE, java) as owner:
        folder, pid = owner.stdout.readline().split()
        assert is_alive(int(pid))
        owner.send_signal(number)
        owner.wait(PATIENCE_S)
    wait_until(lambda: not is_alive(int(pid)) and not Path(folder).exists())
    wait_until(lambda: folder not in list_processes())


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGTERM, marks=pytest.mark.long), signal.SIGINT]
)
def test_the_command_runs_until_a_signal_and_leaves_nothing(
    java, number, produce, list_processes
):
    with start_owner("sys.exit(run_kafka(java=sys.argv[1]))", java) as owner:
        servers = owner.stdout.readline().removeprefix("bootstrap servers: ").strip()
        log_path = Path(owner.stdout.readline().removeprefix("log: ").strip())
        produce(servers, "command", b"value")
        assert log_path.exists()
        owner.send_signal(number)
        assert owner.wait(PATIENCE_S) == 0
    assert not log_path.parent.exists()
    assert str(log_path.parent) not in list_processes()
