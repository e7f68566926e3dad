"""A bridge in a process of its own, which can be killed and started again."""

import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from pipelines.embedded.ports import LOOPBACK, pick_free_ports

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 180


def list_children(pid):
    """Return the ids of the processes that another one has started."""
    done = subprocess.run(
        ["/bin/ps", "-Ao", "pid=,ppid="], capture_output=True, check=True, text=True
    )
    pairs = (line.split() for line in done.stdout.splitlines())
    return sorted(int(child) for child, parent in pairs if int(parent) == pid)


class BridgeProcess:
    """`./spark-submit.sh bridge` without its set-up; always on the same ports."""

    def __init__(self, folder, bootstrap_servers, topic, *overrides):
        self.port, self.http_port = pick_free_ports(2, frozenset())
        self.log_path = folder / "bridge.log"
        subscription = '{name="s",metrics=["*"],interval_ms=100,match=[]}'
        keys = [
            f"kafka.bootstrap_servers={bootstrap_servers}",
            f"topics.telemetry={topic}",
            "topics.partitions=3",
            f"bridge.listen_port={self.port}",
            f"bridge.http_port={self.http_port}",
            f"subscriptions=[{subscription}]",
            *overrides,
        ]
        sets = [word for key in keys for word in ("--set", key)]
        self._words = [sys.executable, "-m", "pipelines", "bridge", *sets]
        self._process = None
        self.said = []
        """Its lines until clients may connect."""

    @property
    def address(self):
        return LOOPBACK, self.port

    @property
    def pid(self):
        return self._process.pid

    def start(self):
        """Start it and wait until clients may connect."""
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                self._words,
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.said = []
        while not (self.said and self.said[-1].startswith("bridge: ")):
            line = self._process.stdout.readline()
            assert line, f"see {self.log_path}"
            self.said.append(line.rstrip())

    def read_line(self):
        """Return the next line that it prints after its address."""
        return self._process.stdout.readline().rstrip()

    def kill(self):
        """End it as a power cut would."""
        self._process.kill()
        self._finish()

    def stop(self):
        """Ask it to end; return its exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._finish()

    def close(self):
        """Leave nothing behind."""
        if self._process is not None and self._process.poll() is None:
            self.kill()

    def _finish(self):
        code = self._process.wait(PATIENCE_S)
        self._process.stdout.close()
        return code

    def resident_bytes(self):
        """Return what it holds in memory, by ps, which Linux and macOS have."""
        done = subprocess.run(
            ["/bin/ps", "-o", "rss=", "-p", str(self.pid)],
            capture_output=True,
            check=True,
            text=True,
        )
        return int(done.stdout) * 1_024

    def fetch(self, path):
        """Return status and text of one of its pages."""
        url = f"http://{LOOPBACK}:{self.http_port}{path}"
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def fetch_until(self, path, status):
        """Ask again and again until a page has this status."""
        deadline = time.monotonic() + PATIENCE_S
        never = threading.Event()
        while self.fetch(path)[0] != status:
            assert time.monotonic() < deadline, f"{path} is not {status}"
            never.wait(0.05)
