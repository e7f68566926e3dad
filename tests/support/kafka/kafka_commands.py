"""Apache Kafka's own command-line tools, run from the jars."""

import atexit
import subprocess
import threading
from pathlib import Path

from pipelines.embedded.installation import CACHE_PATH, JARS_PATH, find_installation

PATIENCE_S = 180
SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of a JVM that lives for seconds: most of its work is to begin."""
RUN_CONFIGS = Path(__file__).parents[1] / "clients" / "java" / "RunConfigs.java"


def run_configs(java, endpoint, *words):
    """Run kafka-configs.sh in a process of its own; returns (code, output)."""
    kafka = find_installation(java, JARS_PATH, CACHE_PATH)
    done = subprocess.run(
        [
            java, *SHORT_LIVED, *kafka.cache.archive_arguments(),
            "-cp", _class_path(java),
            "kafka.admin.ConfigCommand", "--bootstrap-server", endpoint, *words,
        ],
        capture_output=True, text=True, check=False, timeout=PATIENCE_S,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def _class_path(java):
    kafka = find_installation(java, JARS_PATH, CACHE_PATH)
    return ":".join(map(str, kafka.jars))


def run_each_configs(java, calls):
    """Run kafka-configs with the words of each call, all in one JVM.

    Args:
        calls: Where to, and the other words.
    Returns: Exit code and output of each.
    """
    return [ask_configs(java, *call) for call in calls]


def ask_configs(java, endpoint, *words):
    """Run kafka-configs in the JVM of run_each_configs; returns (code, output).

    What it says of errors comes among its output; a fault of its words has a trace.
    """
    return _start_configs(java).run("--bootstrap-server", endpoint, *words)


def configure(java, endpoint, *words):
    """Run kafka-configs --entity-type client-metrics; returns (code, output)."""
    return ask_configs(java, endpoint, "--entity-type", "client-metrics", *words)


class _Configs:
    """Kafka's kafka-configs in a JVM that answers one call after the other."""

    def __init__(self, java):
        self._process = subprocess.Popen(
            [java, *SHORT_LIVED, "-cp", _class_path(java), str(RUN_CONFIGS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *words):
        given, said = self._process.stdin, self._process.stdout
        timer = threading.Timer(PATIENCE_S, self._process.kill)
        timer.start()
        try:
            given.write("\t".join(words) + "\n")
            given.flush()
            output = []
            while not (line := said.readline()).startswith("exit "):
                assert line, f"ended by itself, after {''.join(output)[-3_000:]}"
                output.append(line)
        finally:
            timer.cancel()
        return int(line.split()[1]), "".join(output)

    @property
    def has_ended(self):
        return self._process.poll() is not None

    def end(self):
        """End it, as it does at the end of what it is given."""
        if not self.has_ended:
            self._process.stdin.close()
            self._process.wait(PATIENCE_S)


_running = []
"""The one of this process: to begin takes Kafka longer than to answer."""


def _start_configs(java):
    if not _running or _running[-1].has_ended:
        configs = _Configs(java)
        atexit.register(configs.end)
        _running.append(configs)
    return _running[-1]
