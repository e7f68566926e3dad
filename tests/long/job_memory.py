"""Let each job read topics that would fill its memory, and print what it took.

Usage: python tests/long/job_memory.py [--jobs JOB …] [--loads LOAD …]
                                                  [--scale 1.0] [--folder FOLDER]
                                                  [--replayed 2000]

A real Apache Kafka and the jobs as shipped: `spark-submit.sh JOB --once`, with a topic
and tables of their own for each load. Loads are 600 records of 1 MiB, 50,000 of 100 kB,
600 with 1 MiB of headers, the same compressed, 20,000 with 15 kB of headers, which are
taken, 400,000 of 10 kB, and 12 of 12 kB with 240,000 points each. After a load of
telemetry the first pushes are replayed, too. It fails where a job ends otherwise than
well, where tables do not hold what the topic does, and where a process has more memory
than it should. The largest load takes 6 GB of disk twice.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import pyarrow.dataset as ds  # noqa: E402 - path

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from tests.bench.process_memory import (  # noqa: E402 - path
    DRIVER,
    JVM,
    WORKER,
    MemoryWatch,
)
from tests.support.jobs.job_loads import (  # noqa: E402 - path
    CONFIGS,
    LOADS,
    MIB,
    START_MS,
    TELEMETRY,
    TOPIC_SETTINGS,
    WIRE_CONFIGS,
    produce_load,
)
from tests.support.kafka.java_home import find_java  # noqa: E402 - path

REPLAY = "replay_pushes"
MAX_MIB = {DRIVER: 600, JVM: 2_048, WORKER: 1_024}
"""Resident set: the JVM has a heap of 1 GB, and memory beside it."""
LEDGERS = {
    TELEMETRY: "client_pushes",
    CONFIGS: "client_config_pushes",
    WIRE_CONFIGS: "client_wire_configs",
}


def main():
    arguments = _parse_arguments()
    os.chdir(ROOT)
    failures = []
    for load_name in arguments.loads:
        load = LOADS[load_name]
        load = replace(load, records=max(1, int(load.records * arguments.scale)))
        for job in arguments.jobs:
            with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
                failures += _run_one(job, load_name, load, Path(folder), arguments)
    for failure in failures:
        print("FAILED", failure)
    return 1 if failures else 0


def _run_one(job, load_name, load, folder, arguments):
    """Return what is wrong after one load of one job, and of its replay."""
    with EmbeddedKafka(folder=folder / "kafka", java=find_java()) as kafka:
        began = time.monotonic()
        produce_load(kafka.bootstrap_servers, job, job, load)
        took_s = time.monotonic() - began
        print(f"{job} {load_name}: {load} in the topic after {took_s:.0f} s")
        settings = [
            f"kafka.bootstrap_servers={kafka.bootstrap_servers}",
            f"{TOPIC_SETTINGS[job]}={job}",
            f"tables.root_path={folder}/tables",
            f"{job}.checkpoint_location={folder}/checkpoint",
        ]
        failures = _run(job, ["--once", *arguments.words], settings, folder)
    shutil.rmtree(folder / "kafka", ignore_errors=True)
    failures += _compare(job, load, folder / "tables")
    # Where all are in quarantine there is nothing to replay.
    if job == TELEMETRY and not failures and load.header_bytes < MIB:
        end = datetime.fromtimestamp((START_MS + arguments.replayed) / 1_000, UTC)
        span = ["--from", "2000-01-01", "--to", end.isoformat()]
        settings = [f"tables.root_path={folder}/tables"]
        failures += _run(REPLAY, [*span, *arguments.words], settings, folder)
    return [f"{job} {load_name}: {failure}" for failure in failures]


def _run(command, words, settings, folder):
    """Run a command to its end; return what was wrong with it."""
    words = [*words, *(word for one in settings for word in ("--set", one))]
    words += ["--conf", f"spark.local.dir={folder}/spark"]
    began = time.monotonic()
    log_path = folder / f"{command}.log"
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            [str(ROOT / "spark-submit.sh"), command, *words],
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        with MemoryWatch(process.pid) as watch:
            code = process.wait()
    took_s = time.monotonic() - began
    peaks = ", ".join(f"{kind} {mib} MiB" for kind, mib in watch.peaks_mib.items())
    print(f"  {command}: exit code {code}, {took_s:.0f} s, peaks: {peaks}", flush=True)
    if code:
        text = log_path.read_text(encoding="utf-8", errors="replace")
        print(text[max(0, text.find("Error")) :][:4_000])
        return [f"{command} ended with {code}"]
    return [
        f"{command}: {kind} had {mib} MiB of {MAX_MIB[kind]}"
        for kind, mib in watch.peaks_mib.items()
        if mib > MAX_MIB[kind]
    ]


def _compare(job, load, tables):
    """Return how the tables differ from what the topic held."""
    rejected = _count_rows(tables / "quarantine")
    print(f"  quarantine: {rejected}")
    taken = sum(_count_rows(tables / LEDGERS[job], None).values())
    if job == WIRE_CONFIGS:
        # A row an entry, and all records have the same ones.
        taken = taken and load.records if taken % load.records == 0 else taken
    found = taken + sum(rejected.values())
    return [] if found == load.records else [f"{found} rows for {load.records} records"]


def _count_rows(table, column="reason"):
    """Return the rows of a table that is only appended to, by a column."""
    log = sorted((table / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for one in log for line in one.open(encoding="utf-8")]
    added = [
        str(table / action["add"]["path"]) for action in actions if "add" in action
    ]
    if not added:
        return {}
    rows = ds.dataset(added, format="parquet")
    if column is None:
        return {"": rows.count_rows()}
    counted = rows.to_table(columns=[column]).column(column).value_counts().to_pylist()
    return {one["values"]: one["counts"] for one in counted}


def _parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--jobs", nargs="+", choices=TOPIC_SETTINGS, default=[*TOPIC_SETTINGS]
    )
    parser.add_argument("--loads", nargs="+", choices=LOADS, default=[*LOADS])
    parser.add_argument("--scale", type=float, default=1.0, help="share of the records")
    parser.add_argument("--folder", type=Path, help="for all files (default: TMPDIR)")
    parser.add_argument(
        "--replayed", type=int, default=2_000, help="pushes that are replayed at most"
    )
    parser.add_argument("words", nargs="*", help="more words for the job, after --")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
