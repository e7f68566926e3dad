"""Says how long check_tables takes for a day of points.

`python tests/bench/quality.py [--points 100000000] [--folder FOLDER] [--only-generate]`:
generates the pushes and points of a day, each push with all its points side by side, as
micro-batches leave them; then runs the command as people do, and prints its seconds and
CPU-seconds. Tables that a folder holds already are checked as they are, so that one run
may generate (`--only-generate`) and another one check. It prints and never fails.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.delta_tables.locations import has_table, identify_table  # noqa: E402 - path
from pipelines.delta_tables.setup import ensure_tables  # noqa: E402 - path
from pipelines.settings import load_settings  # noqa: E402 - path
from pipelines.tables.telemetry import CLIENT_METRICS, CLIENT_PUSHES  # noqa: E402 - path
from tests.bench.lookup import open_session  # noqa: E402 - path

DAY = datetime(2026, 3, 1, tzinfo=UTC)
DAY_US = 86_400_000_000
METRICS = 60
"""Points of a push."""
CLIENTS = 20_000
PARTITIONS = 6
FILES = 48
METRIC_PREFIX = "org.apache.kafka.consumer.fetch.manager.metric."

# What both tables say of a push.
_PUSH = f"""
  'clientele.telemetry' AS topic,
  int(push % {PARTITIONS}) AS partition,
  push div {PARTITIONS} AS offset,
  DATE'{DAY.date()}' AS event_date,
  timestamp_micros({int(DAY.timestamp()) * 1_000_000} + bigint(push * {{step_us}}))
    AS received_at,
  concat('0195f3a2-', lpad(hex(push), 8, '0'), '-7000-8000-000000000000') AS push_id,
  concat(lpad(hex(push % {CLIENTS} * 2654435761 % 4294967296), 8, '0'),
    'WnpUR5Cqacwr1O') AS client_instance_id,
  concat('client-', push % {CLIENTS}) AS client_id,
  concat('User:', push % 300) AS principal,
  'apache-kafka-java' AS client_software_name,
  '4.3.1' AS client_software_version,
  concat('10.0.', push % 250, '.', push % 80) AS client_source_address
"""
_POINTS = f"""
SELECT {_PUSH},
  int(id % {METRICS}) AS point_index,
  concat('{METRIC_PREFIX}', id % {METRICS}, '.avg') AS metric,
  CASE WHEN id % 3 = 0 THEN 'sum' ELSE 'gauge' END AS kind,
  CASE WHEN id % 3 = 0 THEN 'delta' END AS temporality,
  CASE WHEN id % 7 <> 0 THEN double(id % 1000) END AS value_double,
  CASE WHEN id % 7 = 0 THEN id % 1000 END AS value_long,
  (unix_micros(received_at) - 20000) * 1000 AS time_unix_nano,
  timestamp_micros(unix_micros(received_at) - 20000) AS time,
  concat('group-', push % 50) AS group_id
FROM (SELECT id, id div {METRICS} AS push FROM range(0, {{points}}, 1, {FILES}))
"""  # noqa: S608 - numbers of ours
_PUSHES = f"""
SELECT {_PUSH},
  51234 AS client_source_port, 'PLAINTEXT' AS listener, 'bridge-1' AS bridge_id,
  'consumer' AS client_type, concat('group-', push % 50) AS group_id,
  7 AS subscription_id, 300000 AS push_interval_ms, 'zstd' AS compression_type,
  false AS terminating, 'ok' AS decode_status, {METRICS} AS point_count,
  600 AS body_bytes, unhex(repeat('ab', 600)) AS body
FROM (SELECT id AS push FROM range(0, {{pushes}}, 1, 4))
"""  # noqa: S608 - numbers of ours


def generate(spark, settings, points):
    """Write both tables."""
    pushes = points // METRICS
    for contract, query in ((CLIENT_METRICS, _POINTS), (CLIENT_PUSHES, _PUSHES)):
        table = identify_table(spark, settings.tables, contract)
        rows = spark.sql(
            query.format(
                points=pushes * METRICS, pushes=pushes, step_us=DAY_US / pushes
            )
        )
        missing = [
            f"CAST(NULL AS {c.sql_type}) AS {c.name}"
            for c in contract.columns
            if c.name not in rows.columns
        ]
        whole = rows.selectExpr("*", *missing).select(*contract.column_names)
        began = time.perf_counter()
        whole.writeTo(table).append()
        seconds = time.perf_counter() - began
        print(f"{contract.name}: generated in {seconds:.0f} s", flush=True)


def prepare(folder, points):
    """Make the tables where there are none."""
    settings = load_settings("local", [f"tables.root_path={folder}"])
    with open_session("quality") as spark:
        if not has_table(spark, identify_table(spark, settings.tables, CLIENT_PUSHES)):
            ensure_tables(spark, settings.tables, (CLIENT_METRICS, CLIENT_PUSHES))
            generate(spark, settings, points)
        for contract in (CLIENT_METRICS, CLIENT_PUSHES):
            table = spark.table(identify_table(spark, settings.tables, contract))
            files = table.inputFiles()
            size = sum(
                Path(unquote(urlsplit(name).path)).stat().st_size for name in files
            )
            print(
                f"{contract.name}: {table.count():,} rows, {len(files)} files, "
                f"{size:,} bytes",
                flush=True,
            )


def check(folder, words, environ):
    """Run the command; print what it took."""
    line = [
        *(sys.executable, "-P", "-m", "pipelines", "check_tables"),
        *("--set", f"tables.root_path={folder}"),
        # The day is long over.
        *("--set", "check_tables.stale_intervals=0", "--master", "local[2]", *words),
    ]
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(line, env=environ, check=False)
    seconds, after = (
        time.perf_counter() - began,
        resource.getrusage(resource.RUSAGE_CHILDREN),
    )
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"checked in {seconds:.1f} s, {cpu:.0f} CPU-seconds, code {done.returncode}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=100_000_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only-generate", action="store_true")
    arguments, words = parser.parse_known_args()
    # A session of this process puts words of its own into it.
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory(prefix="quality-") as scratch:
        folder = (arguments.folder or Path(scratch)).resolve()
        prepare(folder, arguments.points)
        if not arguments.only_generate:
            check(folder, words, environ)


if __name__ == "__main__":
    main()
