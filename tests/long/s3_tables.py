"""Keep tables and checkpoint locations in an S3 server, and compare every row.

Usage: python tests/long/s3_tables.py [--pushes 600] [--rounds 3]
                                      [--writer auto|files|spark] [--folder FOLDER]

A real Apache Kafka, pushes with known ids, and the telemetry job by ./spark-submit.sh
with s3a: tables, once a round and killed with -9 within each round but the last; then
maintenance, all checks and a question by `sql`. In the end every row must be there
exactly once, and `auto` must have chosen as it says.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from tests.support.jobs.job_support import (  # noqa: E402 - path
    PushProducer,
    create_topic,
    find_differences,
    make_settings,
)
from tests.support.jobs.kill_site import (  # noqa: E402 - path
    CHECKS,
    KEYS,
    MAINTENANCE,
)
from tests.support.s3.object_store import ObjectStore  # noqa: E402 - path
from tests.support.spark.local_session import start_quick_session  # noqa: E402 - path
from tests.support.spark.writer_option import WRITERS  # noqa: E402 - path

JOB, TOPIC = "client_telemetry_to_delta", "pushes-to-s3"
PATIENCE_S = 600
CHOSEN = {"auto": "files", "files": "files", "spark": "spark"}
CARE = {MAINTENANCE: "--no-checks", CHECKS: "--all"}
RETENTION = "[every_table]\nvacuum_hours = 168\nlog_hours = 720\n"
"""Rows stay: those of the pushes are of long ago."""
QUESTION = "select count(*) as pushes from client_pushes"


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


class Caller:
    """Calls commands on tables of the store."""

    def __init__(self, store, servers, writer, folder):
        self._folder = folder
        retention = folder / "retention.toml"
        retention.write_text(RETENTION, encoding="utf-8")
        self.sets = [
            f"kafka.bootstrap_servers={servers}",
            f"topics.telemetry={TOPIC}",
            f"tables.root_path={store.uri}/tables",
            f"tables.writer={writer}",
            f"{JOB}.checkpoint_location={store.uri}/progress",
            f"{JOB}.max_offsets_per_trigger=100",
            f"maintain_tables.retention_location={retention}",
            "check_tables.stale_intervals=0",
        ]
        self._words = [
            *(word for one in self.sets for word in ("--set", one)),
            *store.spark_words,
            *("--conf", "spark.sql.shuffle.partitions=2"),
        ]

    def start(self, *words):
        """Start a command in a group of its own; its output goes to files."""
        self._paths = [self._folder / f"{words[0]}.{kind}" for kind in ("out", "err")]
        with self._paths[0].open("wb") as out, self._paths[1].open("wb") as err:
            return subprocess.Popen(
                [ROOT / "spark-submit.sh", *words, *self._words],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def read_log(self):
        """Return all that the last command has said; a job's log is in its output."""
        return "".join(path.read_text() for path in self._paths)

    def run(self, *words):
        """Run a command to its end; return what it prints."""
        process = self.start(*words)
        assert process.wait(PATIENCE_S) == 0, self.read_log()[-3_000:]
        return self._paths[0].read_text()

    def run_killed(self, *words):
        """Kill a command, Python and JVM, within its second micro-batch."""
        process = self.start(*words)
        deadline = time.monotonic() + PATIENCE_S
        while "progress: batch" not in self.read_log():
            assert process.poll() is None, self.read_log()[-3_000:]
            assert time.monotonic() < deadline
            time.sleep(0.1)
        time.sleep(0.4)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_S)


def run(options, folder, java):
    """Run all of it; return what differs, by table."""
    with EmbeddedKafka(java=java) as kafka, ObjectStore() as store:
        servers = kafka.bootstrap_servers
        create_topic(servers, TOPIC)
        producer = PushProducer(servers, TOPIC)
        caller = Caller(store, servers, options.writer, folder)
        for number in range(1, options.rounds + 1):
            producer.send(options.pushes // options.rounds)
            if number < options.rounds:
                caller.run_killed(JOB, "--once")
                say(f"round {number}: killed")
        caller.run(JOB, "--once")
        told = caller.read_log()
        assert f"written by {CHOSEN[options.writer]}" in told, told
        assert "are safe from one driver at a time alone" in told, told
        for name, word in CARE.items():
            sets = [one for key in KEYS[name] for one in ("--set", key)]
            say(caller.run(name, word, *sets))
        (line,) = caller.run("sql", QUESTION, "--format", "json").splitlines()
        say(f"sql: {line}")
        assert json.loads(line)["pushes"] == len(producer.expected.pushes)
        spark = start_quick_session(folder / "warehouse", *store.spark_words)
        try:
            settings = make_settings(servers, TOPIC, folder, *caller.sets)
            return find_differences(spark, settings, producer.expected)
        finally:
            spark.stop()


def main():
    """Print what was found; exit with 1 where a row is missing or twice."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pushes", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--writer", choices=WRITERS, default="auto")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="s3-tables-"))
    folder.mkdir(exist_ok=True)
    home = os.environ.get("JAVA_HOME", "")
    java = str(Path(home) / "bin" / "java") if home else "java"
    differences = run(options, folder, java)
    for table, told in differences.items():
        print(f"{table}: {told}")
    say("NOT EXACT" if differences else "every row exactly once on s3a")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
