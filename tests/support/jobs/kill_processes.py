"""The processes of a kill run: a driver, its JVM and its Python workers."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

DRIVER = Path(__file__).with_name("kill_driver.py")
ROOT = Path(__file__).resolve().parents[3]
TABLES = ("client_metrics", "quarantine", "client_instances", "client_pushes")
POINTS = (
    *(f"{when} {table}" for table in TABLES for when in ("before", "after")),
    "before commit",
)
"""Where a driver can be told to end itself."""
NEVER = "never"
PATIENCE_S = 600
"""Longest wait for a driver to reach its point, on a very busy machine."""


class Driver:
    """A running kill_driver.py: its process group and what it has told."""

    def __init__(
        self,
        folder,
        checkpoint,
        servers,
        topic,
        batch_pushes,
        slice_bytes,
        point,
        occurrence,
        *overrides,
    ):
        self.began = time.monotonic()
        self.reached = []
        self._told = threading.Event()
        log = (folder / "driver.log").open("ab")
        words = [str(folder), checkpoint, servers, topic, str(batch_pushes)]
        words += [str(slice_bytes), point, str(occurrence), *overrides]
        environ = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(folder / "tmp")}
        with log:
            self.process = subprocess.Popen(
                [sys.executable, str(DRIVER), *words],
                env=environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                text=True,
            )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            if line.startswith("reached "):
                self.reached.append(line.removeprefix("reached ").strip())
                self._told.set()

    def arm(self, point, occurrence):
        """Let it end itself at a point of POINTS, so many times from now on."""
        with contextlib.suppress(BrokenPipeError):  # it has ended by itself
            self.process.stdin.write(f"{point},{occurrence}\n")
            self.process.stdin.flush()

    def wait_for_batch(self):
        """Wait until a micro-batch runs; return whether one does."""
        while not self._told.wait(0.1):
            if self.process.poll() is not None:
                return False
            assert time.monotonic() - self.began < PATIENCE_S
        return True

    def wait(self, timeout_s=PATIENCE_S):
        """Wait for the end; return whether it came in time."""
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self):
        """Kill Python and JVM of the driver, if they still run."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)

    def close(self):
        self.kill()
        self.process.wait()
        self._reader.join()
        self.process.stdout.close()
        with contextlib.suppress(BrokenPipeError):  # what it never read
            self.process.stdin.close()

    def list_workers(self):
        """Return the ids of the Python workers: children of Spark's Python daemon."""
        done = subprocess.run(
            ["/bin/ps", "-Ao", "pid=,ppid=,args="],
            capture_output=True,
            text=True,
            check=True,
        )
        rows = [line.split(None, 2) for line in done.stdout.splitlines()]
        children = {}
        for pid, parent, arguments in rows:
            children.setdefault(int(parent), []).append((int(pid), arguments))
        return sorted(_find_workers(children, self.process.pid, is_below=False))


def _find_workers(children, pid, *, is_below):
    for child, arguments in children.get(pid, []):
        is_daemon = "pyspark.daemon" in arguments
        if is_daemon and is_below:
            yield child
        yield from _find_workers(children, child, is_below=is_below or is_daemon)


def kill_workers(driver, chance):
    """Kill Python workers until Spark gives the query up, as it does without retries.

    Returns: How many; none where the driver has ended before.
    """
    killed, asked = 0, time.monotonic()
    while driver.process.poll() is None:
        assert time.monotonic() - asked < PATIENCE_S, f"{killed} killed, and it lives"
        workers = driver.list_workers()
        if not workers:
            driver.wait(0.05)
            continue
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself
            os.kill(chance.choice(workers), signal.SIGKILL)
        killed += 1
        driver.wait(0.5)
    return killed
