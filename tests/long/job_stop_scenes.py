"""The command of the telemetry job as a person runs it, and what its tables hold then.

For `job_stops`: a scene has a topic, a folder and a producer of its own.
"""

import contextlib
import copy
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.dataset as ds

from pipelines.settings import CONF_PATH
from tests.support.jobs.job_support import Expectation, PushProducer, create_topic

ROOT = CONF_PATH.parent
JOB = "client_telemetry_to_delta"
LOSSES = ("data_loss", "topic_made_anew")
PATIENCE_S = 600
PARTITIONS = 3
# What a healthy run says.
_HEALTHY = (" INFO ", "WARNING: Using incubator modules")
_TRACES = ("Traceback", "Exception in thread", "\tat ", "JVM stacktrace")


class Fault(Exception):
    """Raised where a stop is not as it should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command has ended."""

    code: int
    lines: list[str]
    seconds: float

    @property
    def told(self):
        """Return the lines that are not of a healthy run."""
        return [one for one in self.lines if not any(word in one for word in _HEALTHY)]


class Command:
    """A command that runs, in a process group of its own as from a terminal."""

    def __init__(self, folder, words):
        self.began = time.monotonic()
        self.details = folder / f"details-{os.urandom(4).hex()}.log"
        self.process = subprocess.Popen(
            [str(ROOT / "spark-submit.sh"), *words],
            env=os.environ | {"KAFKA_CLIENTELE_DETAILS": str(self.details)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            # spark-submit itself hands on both of its Python as one.
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self._lines = []
        self._queue = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self._lines.append(line.rstrip("\n"))
            self._queue.put(line)
        self._queue.put(None)

    def wait_for(self, text):
        """Wait for a line with a text.

        Raises: Fault where the command ends, or is silent, before.
        """
        with contextlib.suppress(queue.Empty):
            while (line := self._queue.get(timeout=PATIENCE_S)) is not None:
                if text in line:
                    return
        self.close()
        raise Fault(f"ended without {text!r}: {self._lines}")

    def signal(self, number, *, to_group=True):
        """Send a signal, to all of its processes as a terminal does, or to one."""
        self.began = time.monotonic()
        (os.killpg if to_group else os.kill)(self.process.pid, number)

    def end(self):
        """Wait for the end; return how it was."""
        try:
            code = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise Fault(f"no end after {PATIENCE_S} s: {self._lines}") from None
        finally:
            self.close()
        return Ended(
            code=code, lines=self._lines, seconds=time.monotonic() - self.began
        )

    def close(self):
        """Leave nothing behind."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        self.process.stdout.close()


@dataclass(slots=True, kw_only=True)
class Row:
    """A line of the table at the end."""

    situation: str
    code: int | str
    seconds: float
    way_on: str = "-"
    way_code: int | str = "-"
    is_ok: bool = True


@dataclass(slots=True, kw_only=True)
class Scene:
    """What one situation has to itself."""

    name: str
    kafka: object
    folder: Path
    more_words: list[str]
    rows: list[Row] = field(default_factory=list)
    expected: list[Expectation] = field(default_factory=list)
    """What topics have brought that are gone."""
    is_lost: object = lambda _partition, _offset: False
    producer: PushProducer | None = None
    suffix: str = ""
    """Of the topic's name, where there is a second topic."""
    commands: list[Command] = field(default_factory=list)

    @property
    def topic(self):
        return f"stops-{self.name}{self.suffix}"

    @property
    def tables(self):
        return self.folder / "tables"

    def make_topic(self, partitions=PARTITIONS):
        """Make the topic, and a producer for it."""
        create_topic(self.kafka.bootstrap_servers, self.topic, partitions)
        self.producer = PushProducer(self.kafka.bootstrap_servers, self.topic)

    def leave_topic(self):
        """Expect what was sent until now, and nothing that is sent from now on."""
        self.expected.append(copy.deepcopy(self.producer.expected))

    def start(self, *words, command=JOB, **places):
        """Start the command with the places of this scene, or others."""
        settings = {
            "kafka.bootstrap_servers": self.kafka.bootstrap_servers,
            "topics.telemetry": self.topic,
            "tables.root_path": self.tables,
            f"{JOB}.checkpoint_location": self.folder / "checkpoint",
            f"{JOB}.trigger_interval_ms": 200,
        }
        keys = {
            "topic": "topics.telemetry",
            "tables": "tables.root_path",
            "checkpoint": f"{JOB}.checkpoint_location",
        }
        settings |= {keys[name]: value for name, value in places.items()}
        given = [
            part
            for key, value in settings.items()
            for part in ("--set", f"{key}={value}")
        ]
        started = Command(self.folder, [command, *words, *given, *self.more_words])
        self.commands.append(started)
        return started

    def run(self, *words, **places):
        """Run the job over what its topic holds, to its end."""
        return self.start("--once", *words, **places).end()

    def run_well(self, *words, **places):
        """Run it where nothing is wrong."""
        ended = self.run(*words, **places)
        if ended.code:
            raise Fault(f"ended with {ended.code}: {ended.lines}")

    def check_stop(self, ended, *parts, code=1, what=""):
        """Print a stop, and check that it is one sentence with these parts."""
        row = Row(
            situation=f"{self.name}{what and f', {what}'}",
            code=ended.code,
            seconds=ended.seconds,
        )
        self.rows.append(row)
        print(f"\n{row.situation}: exit code {ended.code}, {ended.seconds:.0f} s")
        for line in ended.lines:
            print(f"  | {line}")
        sys.stdout.flush()
        text = "\n".join(ended.lines)
        if ended.code != code:
            raise Fault(f"exit code {ended.code}, not {code}")
        if any(trace in text for trace in _TRACES):
            raise Fault("a trace")
        if len(ended.told) != 1 or not ended.told[0].startswith("kafka-clientele: "):
            raise Fault(f"{len(ended.told)} lines, not one sentence: {ended.told}")
        lacking = [part for part in parts if part not in ended.told[0]]
        if lacking:
            raise Fault(f"the sentence lacks {lacking}")
        return ended.told[0]

    def go_on(self, way_on, *words, warnings=0, what="", command=JOB, **places):
        """Run what the sentence names; it has to go on."""
        row = self.rows[-1]
        row.way_on = way_on
        once = ("--once",) if command == JOB else ()
        ended = self.start(*once, *words, command=command, **places).end()
        row.way_code = ended.code
        print(f"  way on{what and f', {what}'}: {way_on}: exit code {ended.code}")
        for line in ended.told:
            print(f"  | {line}")
        sys.stdout.flush()
        if ended.code:
            raise Fault(f"the way on ended with {ended.code}: {ended.lines}")
        # The result of a replay is what it prints.
        if command == JOB and len(ended.told) != warnings:
            raise Fault(f"the way on tells of {ended.told}")

    def check_tables(self, losses=(), *, without_points_of=frozenset()):
        """Check that the tables hold everything once, and these losses.

        Args:
            losses: (reason, partition, offset, detail) rows of quarantine.
            without_points_of: push_ids whose points went with a deleted table.
        """
        found, wanted = self._read(), self._expect(without_points_of)
        told = Counter(row for row in read_table(self.tables, "quarantine", *_LOSS))
        told = Counter({row: n for row, n in told.items() if row[0] in LOSSES})
        found["losses"], wanted["losses"] = told, Counter(losses)
        for name, rows in wanted.items():
            missing, extra = rows - found[name], found[name] - rows
            if missing or extra:
                raise Fault(
                    f"{name}: {missing.total()} rows missing {[*missing][:3]}, "
                    f"{extra.total()} too many {[*extra][:3]}"
                )
        told = f"{len(losses)} losses"
        counts = [f"{n} {rows.total()}" for n, rows in wanted.items() if n != "losses"]
        print(f"  tables: {', '.join(counts)}, {told}: each once", flush=True)

    def _read(self):
        place = ("topic", "partition", "offset")
        quarantined = read_table(self.tables, "quarantine", *place, "reason")
        return {
            "client_pushes": Counter(
                read_table(self.tables, "client_pushes", *place, "push_id")
            ),
            "client_metrics": Counter(
                read_table(self.tables, "client_metrics", "push_id", "point_index")
            ),
            "quarantine": Counter(row for row in quarantined if row[3] not in LOSSES),
        }

    def _expect(self, without_points_of):
        expected = [*self.expected, self.producer.expected]
        lost = {
            row[3] for one in expected for row in one.pushes if self.is_lost(*row[1:3])
        }
        is_there = lambda row: not self.is_lost(*row[1:3])  # noqa: E731 - used twice
        return {
            "client_pushes": Counter(
                row for one in expected for row in filter(is_there, one.pushes)
            ),
            "client_metrics": Counter(
                row
                for one in expected
                for row in one.points
                if row[0] not in lost | without_points_of
            ),
            "quarantine": Counter(
                row for one in expected for row in filter(is_there, one.quarantined)
            ),
        }

    def close(self):
        """End what still runs."""
        for command in self.commands:
            command.close()


_LOSS = ("reason", "partition", "offset", "detail")


def read_table(tables, name, *columns):
    """Return the rows of a table, as its log tells its files."""
    folder = tables / name
    files = {}
    for log in sorted((folder / "_delta_log").glob("*.json")):
        for line in log.read_text(encoding="utf-8").splitlines():
            action = json.loads(line)
            if "add" in action:
                files[action["add"]["path"]] = True
            if "remove" in action:
                files.pop(action["remove"]["path"], None)
    if not files:
        return []
    rows = ds.dataset([str(folder / one) for one in files], format="parquet")
    found = rows.to_table(columns=[*columns])
    return [*zip(*(found.column(one).to_pylist() for one in columns), strict=True)]


def list_files(folder):
    """Return the files below a folder that may be gone."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
