"""Let bridge, broker and job work for hours; draw what they hold and how late they are.

Usage: python tests/long/soak.py [--minutes 120] [--pushes-per-s 1000] [--points 60]
                                 [--maintenance-minutes 30] [--folder FOLDER]

A real broker, the bridge and the telemetry job as their users start them, clients that
push real metrics, and `maintain_tables` beside them every now and then. Each ten
seconds: the resident memory of the bridge and of the job's driver, JVM and Python
workers, the files of each table, and how long pushes took until a query saw them. All
of it goes to soak.csv and soak.png of the folder; printed are the slopes behind the
first part, an hour's worth each. It ends with 1 where a push that was acknowledged is
not in the table, or one is there twice.
"""

import argparse
import asyncio
import csv
import json
import math
import signal
import statistics
import sys
import tempfile
import time
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import uvloop
import zstandard

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from confluent_kafka import Consumer, TopicPartition  # noqa: E402 - path

from pipelines.tables.telemetry import CLIENT_METRICS, CLIENT_PUSHES  # noqa: E402 - path
from tests.bench.generated_pushes import java_push  # noqa: E402 - path
from tests.bench.process_memory import (  # noqa: E402 - path
    DRIVER,
    JVM,
    NOW,
    WORKER,
    list_sizes,
)
from tests.bench.push_load import Load  # noqa: E402 - path
from tests.bench.running_bridge import describe_machine, running_bridge  # noqa: E402 - path
from tests.support.jobs.command_process import (  # noqa: E402 - path
    CommandProcess,
    find_command,
)
from tests.support.kafka.topics import find_end, find_partitions  # noqa: E402 - path

TOPIC = "clientele.telemetry"
JOB, MAINTENANCE = "client_telemetry_to_delta", "maintain_tables"
CONNECTIONS, INSTANCES_PER_CONNECTION, INTERVAL_MS = 200, 5, 500
SUBSCRIPTION = f'{{name="s",metrics=["*"],interval_ms={INTERVAL_MS},match=[]}}'
SAMPLE_S = 10.0
MINUTE_S, HOUR_S = 60.0, 3_600.0
WARM_SHARE = 0.2
"""Of the time, which the slopes leave out: caches and heaps fill first."""
PATIENCE_S = 600
KIB_PER_MIB = 1_024
_95TH = 94


@dataclass(frozen=True)
class Sample:
    """What was seen at one moment."""

    minutes: float
    bridge_mib: float = math.nan
    driver_mib: float = math.nan
    jvm_mib: float = math.nan
    workers_mib: float = math.nan
    point_files: int = 0
    push_files: int = 0
    log_files: int = 0
    queryable_p95_s: float = math.nan
    """Of the pushes that a query saw first since the sample before; NaN without any."""
    pushes_per_s: float = 0.0


class RealLoad(Load):
    """Pushes what a Java client would, so many points each."""

    _made = 0
    points = 0

    def make_metrics(self):
        self._made += 1
        pushed = java_push(self._made, self.points)
        return zstandard.ZstdCompressor().compress(pushed)


@dataclass
class DelayReader:
    """Reads from the log of client_pushes how late its rows became visible."""

    table: Path
    rows: int = 0
    _next: int = 0
    delays_s: list = field(default_factory=list)
    """Of the versions that were read last."""

    def read_new(self):
        """Read the versions that are new; return the seconds of their rows."""
        self.delays_s = []
        while (entry := self.table / "_delta_log" / f"{self._next:020}.json").exists():
            self._read(entry)
            self._next += 1
        return self.delays_s

    def _read(self, entry):
        visible_s = entry.stat().st_mtime
        for line in entry.read_text(encoding="utf-8").splitlines():
            added = json.loads(line).get("add")
            # What maintenance writes anew was visible before.
            if not added or not added["dataChange"]:
                continue
            path = self.table / added["path"]
            received = pq.read_table(path, columns=["received_at"])["received_at"]
            self.rows += len(received)
            self.delays_s += [
                visible_s - one.timestamp() for one in received.to_pylist()
            ]


def take_sample(minutes, bridge, job_pid, tables, reader, pushes_per_s):
    """Look at all processes and files."""
    sizes = {DRIVER: 0, JVM: 0, WORKER: 0}
    for kind, kib in list_sizes(job_pid, NOW):
        # Of drivers the shells that have started them are the small ones.
        is_sum = kind == WORKER
        sizes[kind] = sizes[kind] + kib if is_sum else max(sizes[kind], kib)
    delays = reader.read_new()
    return Sample(
        minutes=minutes,
        bridge_mib=bridge.resident_bytes / KIB_PER_MIB**2,
        driver_mib=sizes[DRIVER] / KIB_PER_MIB,
        jvm_mib=sizes[JVM] / KIB_PER_MIB,
        workers_mib=sizes[WORKER] / KIB_PER_MIB,
        point_files=count_files(tables / CLIENT_METRICS.name, "*.parquet"),
        push_files=count_files(tables / CLIENT_PUSHES.name, "*.parquet"),
        log_files=sum(1 for _ in tables.glob("*/_delta_log/*")),
        queryable_p95_s=find_p95(delays),
        pushes_per_s=pushes_per_s,
    )


def count_files(table, pattern):
    """Return how many data files a table has on the disk, old versions' included."""
    return sum("_delta_log" not in path.parts for path in table.rglob(pattern))


def find_p95(delays):
    """Return the 95th percentile; NaN of less than two."""
    if len(delays) < 2:
        return math.nan
    return statistics.quantiles(delays, n=100)[_95TH]


def find_slopes(samples):
    """Return what each figure grows by in an hour, behind the first part."""
    warm = [one for one in samples if one.minutes >= WARM_SHARE * samples[-1].minutes]
    hours = np.array([one.minutes for one in warm]) * MINUTE_S / HOUR_S
    slopes = {}
    for name in (one.name for one in fields(Sample) if one.name != "minutes"):
        values = np.array([getattr(one, name) for one in warm], dtype=float)
        known = ~np.isnan(values)
        has_line = known.sum() > 1
        slopes[name] = (
            float(np.polyfit(hours[known], values[known], 1)[0])
            if has_line
            else math.nan
        )
    return slopes


def draw(samples, path):
    """Write the pictures: memory, files, delay."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    panels = {
        "resident memory, MiB": [one for one in SAMPLE_FIELDS if one.endswith("_mib")],
        "files": [one for one in SAMPLE_FIELDS if one.endswith("_files")],
        "push to queryable, p95 in s": ["queryable_p95_s"],
        "pushes acknowledged a second": ["pushes_per_s"],
    }
    figure, axes = plt.subplots(
        len(panels), 1, sharex=True, figsize=(10, 12), layout="constrained"
    )
    minutes = [one.minutes for one in samples]
    for axis, (title, names) in zip(axes, panels.items(), strict=True):
        for name in names:
            values = [getattr(one, name) for one in samples]
            axis.plot(minutes, values, label=name.rpartition("_")[0])
        axis.set_title(title)
        axis.set_ylim(bottom=0)
        axis.grid(visible=True, alpha=0.3)
        if len(names) > 1:
            axis.legend(loc="upper left")
    axes[-1].set_xlabel("minutes")
    figure.savefig(path, dpi=110)
    plt.close(figure)


SAMPLE_FIELDS = [one.name for one in fields(Sample)]


def write_samples(samples, path):
    """Write them as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(SAMPLE_FIELDS)
        writer.writerows(astuple(one) for one in samples)


def count_records(servers):
    """Return how many records the topic has got."""
    reader = Consumer({"bootstrap.servers": servers, "group.id": "unused"})
    try:
        partitions = find_partitions(reader, TOPIC)
        return sum(find_end(reader, TopicPartition(TOPIC, one)) for one in partitions)
    finally:
        reader.close()


class Soak:
    """One run: its processes, and what was seen of them."""

    def __init__(self, folder, bridge, arguments, say):
        self._folder, self._bridge, self._say = folder, bridge, say
        self._arguments = arguments
        self._tables = folder / "tables"
        self._reader = DelayReader(self._tables / CLIENT_PUSHES.name)
        self._job = self._start(JOB)
        self._care = None
        self._cared_minutes = 0.0
        self.samples = []
        self.accepted = 0
        self.refused = 0

    def _start(self, name, *own):
        sets = (
            f"kafka.bootstrap_servers={self._bridge.bootstrap_servers}",
            f"tables.root_path={self._tables}",
            f"{JOB}.checkpoint_location={self._folder}/checkpoint",
        )
        words = [word for one in sets for word in ("--set", one)]
        return CommandProcess(self._folder, name, *own, *words)

    async def run(self):
        """Push and look, until the time is over."""
        arguments = self._arguments
        load = RealLoad(
            connections=CONNECTIONS,
            instances_per_connection=INSTANCES_PER_CONNECTION,
            interval_ms=INTERVAL_MS,
            pushes_per_s=arguments.pushes_per_s,
        )
        load.points = arguments.points
        await load.connect("127.0.0.1", self._bridge.port)
        running = asyncio.create_task(load.run(arguments.minutes * MINUTE_S))
        began_s = seen_s = time.monotonic()
        try:
            while not running.done():
                await asyncio.wait({running}, timeout=SAMPLE_S)
                now_s, before = time.monotonic(), self.accepted
                self.accepted = load.result.errors[0]
                self.refused = load.result.errors.total() - self.accepted
                # Of two hours they would be most of what this process holds.
                load.result.latencies_s.clear()
                rate = (self.accepted - before) / (now_s - seen_s)
                minutes, seen_s = (now_s - began_s) / MINUTE_S, now_s
                # In a thread: clients do not stand still meanwhile.
                await asyncio.to_thread(self._look, minutes, rate)
                self._take_care(minutes)
            await running
        finally:
            running.cancel()
            load.close()

    def _look(self, minutes, pushes_per_s):
        assert not self._job.is_over, f"the job has ended: see {self._folder}/{JOB}.log"
        sample = take_sample(
            minutes,
            self._bridge,
            self._job.process.pid,
            self._tables,
            self._reader,
            pushes_per_s,
        )
        self.samples.append(sample)
        self._say(
            f"{minutes:6.1f} min  {pushes_per_s:6.0f} pushes/s  p95 "
            f"{sample.queryable_p95_s:6.2f} s  bridge {sample.bridge_mib:5.0f}  driver "
            f"{sample.driver_mib:5.0f}  JVM {sample.jvm_mib:5.0f}  workers "
            f"{sample.workers_mib:5.0f} MiB  files {sample.point_files:5} "
            f"{sample.push_files:5} {sample.log_files:5}"
        )

    def _take_care(self, minutes):
        """Start maintenance where it is time, and see how the one before has ended."""
        if self._care is not None and self._care.is_over:
            code, self._care = self._care.process.returncode, None
            assert code == 0, f"{MAINTENANCE} has failed: see {self._folder}"
            self._say(f"{minutes:6.1f} min  {MAINTENANCE} has ended")
        every = self._arguments.maintenance_minutes
        if every and self._care is None and minutes - self._cared_minutes >= every:
            self._cared_minutes = minutes
            self._care = self._start(MAINTENANCE, "--no-checks")

    def finish(self):
        """Wait until the table has what the topic has; return rows and records."""
        records = count_records(self._bridge.bootstrap_servers)
        deadline_s = time.monotonic() + PATIENCE_S
        while self._reader.rows < records and time.monotonic() < deadline_s:
            self._reader.read_new()
            time.sleep(1)
        return self._reader.rows, records

    def close(self):
        """Leave nothing behind."""
        for command in (self._care, self._job):
            if command is not None:
                command.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--pushes-per-s", type=float, default=1_000)
    parser.add_argument("--points", type=int, default=60)
    parser.add_argument(
        "--maintenance-minutes", type=float, default=30, help="0 for none"
    )
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    try:
        for name in (JOB, *([MAINTENANCE] if arguments.maintenance_minutes else [])):
            find_command(name)
    except LookupError as error:
        sys.exit(f"error: {error}")
    # A plain kill of this program ends all that it has started, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="soak-"))
    folder.mkdir(parents=True, exist_ok=True)
    print(
        f"{describe_machine()}; tables, soak.csv and soak.png in {folder}", flush=True
    )
    with running_bridge(f"subscriptions=[{SUBSCRIPTION}]") as bridge:
        soak = Soak(folder, bridge, arguments, lambda text: print(text, flush=True))
        try:
            uvloop.run(soak.run())
            rows, records = soak.finish()
        finally:
            soak.close()
            if soak.samples:
                write_samples(soak.samples, folder / "soak.csv")
                draw(soak.samples, folder / "soak.png")
    print(f"\n{'figure':18} {'last':>10} {'an hour':>10}")
    for name, slope in find_slopes(soak.samples).items():
        print(f"{name:18} {getattr(soak.samples[-1], name):10.1f} {slope:+10.1f}")
    is_exact = rows == records >= soak.accepted
    print(
        f"\n{soak.accepted:,} pushes acknowledged, {soak.refused:,} refused, {records:,} "
        f"in the topic, {rows:,} rows: {'none lost or twice' if is_exact else 'WRONG'}"
    )
    return 0 if is_exact else 1


if __name__ == "__main__":
    sys.exit(main())
