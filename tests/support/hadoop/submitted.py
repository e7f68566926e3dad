"""A job that is submitted to YARN as its user would, and killed from outside."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

from pipelines.settings import CONF_PATH
from tests.support.hadoop.daemons import LIVES_S, PATIENCE_S

ROOT = CONF_PATH.parent
CLIENT, CLUSTER = "client", "cluster"
"""Deploy modes."""
_BATCH = re.compile(r"streaming\.progress: batch \d+: ([\d,]+) records")
# JVMs that live for a minute; compiling well would take most of it.
_HASTE = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
_CONF = {
    "spark.executor.cores": "1",
    "spark.ui.enabled": "false",
    # A cluster's default of 200 takes minutes for a few records.
    "spark.sql.shuffle.partitions": "2",
    "spark.yarn.submit.file.replication": "2",
    "spark.yarn.maxAppAttempts": "4",
    # Else two containers that are killed in turn would count as the job's own faults.
    "spark.executor.maxNumFailures": "50",
    "spark.driver.extraJavaOptions": _HASTE,
    "spark.executor.extraJavaOptions": _HASTE,
    # One machine has all nodes, and its name may be an address that others see.
    "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": "127.0.0.1",
    "spark.executorEnv.SPARK_LOCAL_IP": "127.0.0.1",
}
_HERE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.yarn.am.extraJavaOptions": _HASTE,
}


class SubmittedJob:
    """One job, submitted until it has done what it should."""

    def __init__(self, hadoop, spark_home, folder: Path, name, mode, *words):
        self.name, self.mode = name, mode
        self.log_path = folder / f"{name}-{mode}.log"
        self._hadoop = hadoop
        conf = {**_CONF, "spark.yarn.jars": f"local:{spark_home}/jars/*"}
        if mode == CLIENT:
            conf |= _HERE
        sizes = {
            "--num-executors": "2",
            "--executor-memory": "512m",
            "--driver-memory": "700m",
        }
        self._line = [
            *(str(ROOT / "spark-submit.sh"), name, *words),
            *("--master", "yarn", "--deploy-mode", mode, "--name", f"{name} {mode}"),
            *(word for pair in sizes.items() for word in pair),
            *(w for one, value in conf.items() for w in ("--conf", f"{one}={value}")),
        ]
        # Of this process alone: a container finds what it is sent, or fails.
        unwanted = {"PYTHONPATH", "PYSPARK_PYTHON"}
        environ = {n: v for n, v in os.environ.items() if n not in unwanted}
        self._environ = {
            **environ,
            **hadoop.client_environ,
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        self._process = None
        self._known = set()
        self.starts = 0
        """How often it was submitted."""

    def start(self):
        self._known = {one["id"] for one in self._hadoop.list_applications()}
        self.starts += 1
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                self._line,
                cwd=self.log_path.parent,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def poll(self):
        """Return the exit code, None while it runs."""
        return self._process.poll()

    def close(self):
        """End it without a word, and what it has in containers."""
        if self._process is not None and self.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(PATIENCE_S)
        for one in self.find_containers():
            one.kill()

    def find_application(self):
        """Return the id of its application, the first new one; None before that."""
        now = {one["id"] for one in self._hadoop.list_applications()}
        return min(now - self._known, default=None)

    def find_containers(self):
        application = self.find_application()
        return [
            one
            for one in self._hadoop.find_containers()
            if one.application == application
        ]

    def read_log(self):
        """Return what its drivers of this submission have said."""
        told = self.log_path.read_text(errors="replace")
        application = self.find_application()
        if self.mode == CLUSTER and application:
            told = "".join(self._hadoop.read_logs(application).values())
        return told

    def count_batches(self):
        """Return how many micro-batches with records are told to be written."""
        found = _BATCH.findall(self.read_log())
        return sum(count != "0" for count in found)

    def wait_for_executors(self):
        """Wait until it has any; return whether it still runs."""
        return self._wait_until(
            lambda: any(one.is_executor for one in self.find_containers())
        )

    def wait_for_batches(self, more):
        """Wait for more micro-batches; return whether it still runs."""
        wanted = self.count_batches() + more
        return self._wait_until(lambda: self.count_batches() >= wanted)

    def wait(self):
        """Wait for its end; return its exit code."""
        # check_tables may go through all of it twice, when its driver was killed.
        return self._process.wait(4 * PATIENCE_S)

    def kill_driver(self):
        """Kill the driver with its JVM; YARN starts another where it runs there."""
        if self.mode == CLIENT:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(PATIENCE_S)
            return
        for one in self.find_containers():
            if one.is_driver:
                one.kill()

    def kill_containers(self):
        """Kill all executors of one NodeManager; return their number."""
        executors = [one for one in self.find_containers() if one.is_executor]
        node = min((one.node for one in executors), default=None)
        victims = [one for one in executors if one.node == node]
        for one in victims:
            one.kill()
        return len(victims)

    def stop(self):
        """End it in order, as its operator would."""
        drivers = [one for one in self.find_containers() if one.is_driver]
        if self.mode == CLIENT:
            os.killpg(self._process.pid, signal.SIGTERM)
        else:
            for one in drivers:
                self._hadoop.end_application(one.application)
        return self.wait()

    def _wait_until(self, is_so):
        deadline = time.monotonic() + 2 * PATIENCE_S
        while not is_so():
            if self.poll() is not None:
                return False
            assert time.monotonic() < deadline, f"it stands still: see {self.log_path}"
            time.sleep(LIVES_S)
        return True
