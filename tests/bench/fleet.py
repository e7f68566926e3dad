"""A fleet of client instances through bridge, broker and telemetry job, and its cost.

`python tests/bench/fleet.py [--instances N] [--pushes-per-s N] [--seconds N]`: by
default a million client instances of several kinds and versions that push 60 points
each every five minutes, for ten minutes. The bridge, a real Apache Kafka and the job
run as their users start them, each in processes of its own, and so do the clients, all
on this machine. In the first interval every client instance is new. Some other pushes
come before and are not counted: they find a job that has just been started.

Printed are, for each minute, how long pushes took from received_at, which the bridge
writes, to the commit of the version of client_pushes that holds them; CPU-seconds for a
million points and the greatest memory, by process; bytes a day of the topic and of the
tables, before any maintenance; and seconds that three typical questions take over
these tables. It never fails on a figure.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.commands.session import own_session  # noqa: E402 - path
from pipelines.reading import views  # noqa: E402 - path
from pipelines.settings import load_settings  # noqa: E402 - path
from pipelines.tables.telemetry import CLIENT_PUSHES, TELEMETRY_CONTRACTS  # noqa: E402 - path
from tests.bench.fleet_load import POINTS  # noqa: E402 - path
from tests.bench.process_groups import JOB, read_groups  # noqa: E402 - path
from tests.bench.running_bridge import describe_machine, running_bridge  # noqa: E402 - path

FIRST_SECONDS, FIRST_PUSHES_PER_S, FIRST_INSTANCES = 20, 500, 10_000
EARLY = 0.97
MINUTE_S = 60
DAY_S = 86_400
PATIENCE_S = 300
LOAD = Path(__file__).with_name("fleet_load.py")
QUESTIONS = {
    "who is connected": "select client_id, client_software_name, "
    "client_software_version, state, last_push from clients order by last_push desc "
    "limit 100",
    "whose requests are slow": "select client_id, metric, value from newest_values "
    "where metric like '%.request.latency%' order by value desc limit 100",
    "what one client reports": "select metric, count(*), max(value_double) from "
    "client_metrics where event_date >= current_date() - 1 and client_instance_id = "
    "(select max(client_instance_id) from client_instances) group by metric",
}


class Site:
    """Where the tables of a run are, and what stands in their logs."""

    def __init__(self, folder: str, servers: str) -> None:
        """Keep everything below a folder."""
        self.folder = Path(folder)
        self.overrides = [
            f"kafka.bootstrap_servers={servers}",
            f"tables.root_path={folder}/tables",
            f"client_telemetry_to_delta.checkpoint_location={folder}/checkpoint",
        ]

    def iter_files(self, table: str) -> Iterator[tuple[Path, int, float, int]]:
        """Yield path, bytes, time of commit and rows of the files of a table."""
        path = self.folder / "tables" / table
        for entry in sorted(path.glob("_delta_log/*.json")):
            for line in entry.read_text(encoding="utf-8").splitlines():
                added = json.loads(line).get("add")
                if added:
                    rows = json.loads(added["stats"])["numRecords"]
                    known = added["size"], entry.stat().st_mtime, rows
                    yield path / added["path"], *known

    def count_pushes(self) -> int:
        """Return how many pushes can be queried."""
        return sum(rows for *_, rows in self.iter_files(CLIENT_PUSHES.name))

    def await_pushes(self, wanted: int) -> None:
        """Wait until so many can be queried.

        Raises: TimeoutError.
        """
        until_s = time.monotonic() + PATIENCE_S
        while self.count_pushes() < wanted:
            if time.monotonic() > until_s:
                raise TimeoutError(
                    f"{self.count_pushes()} of {wanted} pushes are there"
                )
            time.sleep(1)

    def read_delays(self, begun_ms: int) -> tuple[np.ndarray, np.ndarray]:
        """Return, of pushes since a time, when they came and when they were visible.

        Units: Seconds since then, and seconds from there on.
        """
        came, waited = [], []
        for path, _, seen_s, _ in self.iter_files(CLIENT_PUSHES.name):
            times = pq.read_table(path, columns=["received_at"]).column(0)
            received_s = times.cast("int64").to_numpy() / 1e6
            came.append(received_s - begun_ms / 1e3)
            waited.append(seen_s - received_s)
        came_s, waited_s = np.concatenate(came), np.concatenate(waited)
        return came_s[came_s >= 0], waited_s[came_s >= 0]


@contextmanager
def running_job(site: Site, trigger_ms: int) -> Iterator[int]:
    """Run the job as its users do; yield the id of its first process."""
    words = [
        *site.overrides,
        f"client_telemetry_to_delta.trigger_interval_ms={trigger_ms}",
    ]
    with (site.folder / "job.log").open("wb") as log:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "pipelines", "client_telemetry_to_delta"),
                *("--env", "local"),
                *(part for word in words for part in ("--set", word)),
            ],
            cwd=ROOT,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            yield process.pid
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def start_load(port: int, instances: int, pushes_per_s: float, seconds: float):
    """Start the clients; what they print is for finish_load."""
    words = {"instances": instances, "pushes-per-s": pushes_per_s, "seconds": seconds}
    line = [part for name, value in words.items() for part in (f"--{name}", str(value))]
    return subprocess.Popen(
        [sys.executable, str(LOAD), str(port), *line], stdout=subprocess.PIPE, text=True
    )


def finish_load(load) -> dict:
    """Wait for the clients; return what they were answered."""
    told, _ = load.communicate()
    if load.returncode:
        raise RuntimeError(f"the clients ended with {load.returncode}")
    return json.loads(told)


def describe_delays(waited_s: np.ndarray) -> str:
    """Return quantiles of some waits."""
    p50, p95, p99 = np.quantile(waited_s, (0.5, 0.95, 0.99))
    return (
        f"{len(waited_s):,} pushes: p50 {p50:.1f} s, p95 {p95:.1f} s, p99 {p99:.1f} s, "
        f"longest {waited_s.max():.1f} s"
    )


def print_delays(site: Site, begun_ms: int, instances: int) -> None:
    """Print how long pushes waited, by minute and by what was known of their clients."""
    came_s, waited_s = site.read_delays(begun_ms)
    for minute in range(int(came_s.max() // MINUTE_S) + 1):
        is_of = came_s // MINUTE_S == minute
        print(f"  minute {minute + 1:2}: {describe_delays(waited_s[is_of])}")
    # Client instances push in turn.
    in_turn = waited_s[np.argsort(came_s)]
    print(f"new client instances: {describe_delays(in_turn[:instances])}")
    if len(in_turn) > instances:
        print(f"known client instances: {describe_delays(in_turn[instances:])}")


def print_costs(before, after, wall_s: float, points: int) -> None:
    """Print CPU and memory of each group of processes."""
    taken = after.cpu_since(before)
    taken = {name: seconds for name, seconds in taken.items() if name != JOB}
    for name, seconds in taken.items():
        print(
            f"  {name:12} {seconds / wall_s:5.2f} CPUs, {seconds / points * 1e6:6.2f} "
            f"CPU-seconds per million points, {after.peak_mib[name]:6,} MiB"
        )
    others_s = after.machine_s - before.machine_s - sum(taken.values())
    print(
        f"  {'together':12} {sum(taken.values()) / wall_s:5.2f} CPUs; everything else on "
        f"this machine {others_s / wall_s:.2f}"
    )


def print_bytes(site: Site, kafka_folder: Path, wall_s: float, pushes: int) -> None:
    """Print what topic and tables take, a push and a day."""
    logs = kafka_folder.rglob("clientele.telemetry-*/*.log")
    sizes = {"topic": sum(file.stat().st_size for file in logs)}
    for contract in TELEMETRY_CONTRACTS:
        files = site.iter_files(contract.name)
        sizes[contract.name] = sum(size for _, size, *_ in files)
    for name, size in sizes.items():
        print(
            f"  {name:17} {size / pushes:8,.1f} bytes a push, "
            f"{size / wall_s * DAY_S / 1e9:8,.1f} GB a day"
        )


def print_questions(site: Site) -> None:
    """Ask in a session of its own, as `sql` does."""
    words = ["--master", "local[2]", "--driver-memory", "4g"]
    settings = load_settings("local", site.overrides)
    with own_session("bench", words, os.environ, is_verbose=True) as spark:
        for name, query in QUESTIONS.items():
            began_s = time.perf_counter()
            views.register(spark, settings, views.find_names(query))
            rows = len(spark.sql(query).collect())
            print(f"  {name}: {time.perf_counter() - began_s:.1f} s, {rows} rows")


def measure(bridge, site: Site, given) -> None:
    """Run the fleet and print."""
    with running_job(site, given.trigger_ms) as job_pid:
        first = finish_load(
            start_load(bridge.port, FIRST_INSTANCES, FIRST_PUSHES_PER_S, FIRST_SECONDS)
        )
        site.await_pushes(first["pushes"])
        load = start_load(
            bridge.port, given.instances, given.pushes_per_s, given.seconds
        )
        roots = {"bridge": bridge.pid, "broker": bridge.broker_pid}
        roots |= {JOB: job_pid, "clients": load.pid}
        before, began_s = read_groups(roots), time.perf_counter()
        while load.poll() is None:
            after, wall_s = read_groups(roots), time.perf_counter() - began_s
            time.sleep(min(1, given.seconds / 10))
        done = finish_load(load)
        site.await_pushes(first["pushes"] + done["pushes"] - done["refused"])
    print(
        f"{done['pushes']:,} pushes in {done['wall_s']:.0f} s, answers by error code "
        f"{done['errors']}, answered after {done['answer_ms']}; clients took "
        f"{done['cpu_s'] / done['wall_s']:.2f} CPUs; load {os.getloadavg()}"
    )
    print_delays(site, done["begun_ms"], given.instances)
    print_costs(before, after, wall_s, done["pushes"] * POINTS)
    every = first["pushes"] + done["pushes"]
    print_bytes(
        site, bridge.kafka_folder, done["wall_s"] * every / done["pushes"], every
    )


def main():
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--instances", type=int, default=1_000_000)
    parser.add_argument("--pushes-per-s", type=float, default=3_333)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--trigger-ms", type=int, default=2_000)
    given = parser.parse_args()
    interval_ms = round(given.instances / given.pushes_per_s * 1_000)
    # Who comes a moment early would be refused.
    told_ms = round(interval_ms * EARLY)
    subscription = f'{{name="s",metrics=["*"],interval_ms={told_ms},match=[]}}'
    print(
        f"{describe_machine()}; {given.instances:,} client instances, "
        f"{given.pushes_per_s:,.0f} pushes a second of {POINTS} points, each every "
        f"{interval_ms / 1e3:,.0f} s; trigger {given.trigger_ms} ms",
        flush=True,
    )
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        with running_bridge(
            f"subscriptions=[{subscription}]",
            f"bridge.max_client_instances={given.instances + FIRST_INSTANCES}",
        ) as bridge:
            site = Site(folder, bridge.bootstrap_servers)
            measure(bridge, site, given)
        print_questions(site)


if __name__ == "__main__":
    main()
