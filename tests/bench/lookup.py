"""Says how much of 100 million points a question about one client reads.

`python tests/bench/lookup.py [--points 100000000] [--days 10] [--folder FOLDER]`:
generates client_metrics of some days, each in several appends that hold all clients, as
micro-batches leave them; asks for one metric of one client on one date; compacts by the
job maintain_tables; asks again. Bytes are what Spark's tasks read from the file system,
footers included, beside the bytes of all files of the table. It prints and never fails.
"""

import argparse
import itertools
import os
import statistics
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.commands.session import start_own_session  # noqa: E402 - path
from pipelines.delta_tables.locations import identify_table  # noqa: E402 - path
from pipelines.delta_tables.setup import ensure_tables  # noqa: E402 - path
from pipelines.delta_tables.stored_files import list_stored_files  # noqa: E402 - path
from pipelines.jobs.maintain import job as maintain_tables  # noqa: E402 - path
from pipelines.jobs.maintain.context import Request  # noqa: E402 - path
from pipelines.jobs.maintain.results import COMPACTION  # noqa: E402 - path
from pipelines.settings import load_settings  # noqa: E402 - path
from pipelines.tables.telemetry import CLIENT_METRICS, TELEMETRY_CONTRACTS  # noqa: E402 - path

FIRST_DAY = datetime(2026, 3, 1, tzinfo=UTC)
CLIENTS = 4_000
METRICS = 50
APPENDS_A_DAY = 4
FILES_AN_APPEND = 4
QUESTIONS = 20
DAY_S = 86_400
METRIC_PREFIX = "org.apache.kafka.consumer.fetch.manager.metric."

# Each push of a client has all metrics once; pushes of all clients come side by side.
_POINTS = f"""
SELECT
  'clientele.telemetry' AS topic,
  int(push % 6) AS partition,
  push AS offset,
  int(id % {METRICS}) AS point_index,
  date(received_at) AS event_date,
  received_at,
  concat('push-', lpad(hex(push), 12, '0')) AS push_id,
  concat(lpad(hex(client * 2654435761 % 4294967296), 8, '0'), 'WnpUR5Cqacwr1O')
    AS client_instance_id,
  concat('client-', client) AS client_id,
  concat('User:', client % 300) AS principal,
  'apache-kafka-java' AS client_software_name,
  '3.9.2' AS client_software_version,
  concat('10.0.', client div 250, '.', client % 250) AS client_source_address,
  concat('{METRIC_PREFIX}', id % {METRICS}, '.avg')
    AS metric,
  CASE WHEN id % 3 = 0 THEN 'sum' ELSE 'gauge' END AS kind,
  CASE WHEN id % 3 = 0 THEN 'delta' END AS temporality,
  bigint(0) AS flags,
  CASE WHEN id % 7 <> 0 THEN round(rand(7) * 1000, 2) END AS value_double,
  CASE WHEN id % 7 = 0 THEN bigint(rand(9) * 100000) END AS value_long,
  unix_micros(received_at) * 1000 AS time_unix_nano,
  received_at AS time,
  concat('group-', client % 50) AS group_id,
  concat('consumer-', client, '-6f1c2d3e4b5a') AS group_member_id
FROM (
  SELECT *, push % {CLIENTS} AS client,
    timestamp_micros({{start_us}} + bigint(push * {{step_us}})) AS received_at
  FROM (SELECT id, id div {METRICS} AS push FROM range({{first}}, {{last}}, 1, 4))
)
"""  # noqa: S608 - numbers of ours


def generate(spark, table, points, days):
    """Append the points of each day in some parts."""
    a_day = points // days
    step_us = DAY_S * 1_000_000 * METRICS / a_day
    columns = ", ".join(CLIENT_METRICS.column_names)
    for day in range(days):
        edges = [
            day * a_day + a_day * part // APPENDS_A_DAY
            for part in range(APPENDS_A_DAY + 1)
        ]
        for first, last in itertools.pairwise(edges):
            rows = spark.sql(
                _POINTS.format(
                    start_us=int(FIRST_DAY.timestamp() * 1_000_000),
                    step_us=step_us,
                    first=first,
                    last=last,
                )
            )
            missing = [
                f"CAST(NULL AS {c.sql_type}) AS {c.name}"
                for c in CLIENT_METRICS.columns
                if c.name not in rows.columns
            ]
            whole = rows.selectExpr("*", *missing).select(*columns.split(", "))
            whole.coalesce(FILES_AN_APPEND).writeTo(table).append()
        print(f"  {day + 1} of {days} days", flush=True)


def ask(spark, table, questions):
    """Ask some questions; return bytes and seconds of each."""
    store = spark.sparkContext._jsc.sc().statusStore()
    asked = []
    for number in range(questions):
        day = (FIRST_DAY + timedelta(days=number % 7)).date()
        client = f"client-{number * 197 % CLIENTS}"
        found = (
            spark.table(table)
            .where(f"client_id = '{client}'")
            .select("client_instance_id")
            .limit(1)
            .collect()
        )
        instance = found[0][0]
        group = f"question {number}"
        spark.sparkContext.setJobGroup(group, group)
        began = time.perf_counter()
        rows = (
            spark.table(table)
            .where(f"event_date = '{day}'")
            .where(f"client_instance_id = '{instance}'")
            .where(f"metric = '{METRIC_PREFIX}{number}.avg'")
            .select("time", "value_double", "value_long")
            .orderBy("time")
            .collect()
        )
        seconds = time.perf_counter() - began
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        asked.append((read_input_bytes(spark, store, group), seconds, len(rows)))
    return asked


def read_input_bytes(spark, store, group):
    """Return the bytes that the tasks of a job group read."""
    tracker = spark.sparkContext.statusTracker()
    stages = {
        stage
        for job in tracker.getJobIdsForGroup(group)
        for stage in tracker.getJobInfo(job).stageIds
    }
    return sum(store.lastStageAttempt(stage).inputBytes() for stage in stages)


def print_answers(spark, table, name):
    files = list_stored_files(spark, CLIENT_METRICS, table, None)
    total = sum(files.sizes().values())
    count = sum(map(len, files.held.values()))
    asked = ask(spark, table, QUESTIONS)
    shares = [read / total for read, _, _ in asked]
    print(f"{name}: {count} files, {total:,} bytes")
    print(
        f"  a question read {statistics.median(shares):.3%} of them "
        f"({min(shares):.3%} to {max(shares):.3%}) "
        f"in {statistics.median(s for _, s, _ in asked):.2f} s "
        f"({min(s for _, s, _ in asked):.2f} to {max(s for _, s, _ in asked):.2f}); "
        f"{asked[0][2]} rows each",
        flush=True,
    )


@contextmanager
def open_session(name):
    """Yield a session that has minutes of work: others of ours compile in haste."""
    spark = start_own_session(
        name,
        [
            *("--master", "local[2]", "--driver-memory", "3g"),
            *("--driver-java-options", "-XX:TieredStopAtLevel=4"),
        ],
        os.environ,
    )
    try:
        yield spark
    finally:
        spark.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=100_000_000)
    parser.add_argument("--days", type=int, default=10)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lookup-") as scratch:
        folder = arguments.folder or Path(scratch)
        with open_session("lookup") as spark:
            run(spark, folder, arguments.points, arguments.days)


def run(spark, folder, points, days):
    settings = load_settings("local", [f"tables.root_path={folder}/tables"])
    ensure_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    table = identify_table(spark, settings.tables, CLIENT_METRICS)
    if spark.table(table).isEmpty():
        began = time.perf_counter()
        generate(spark, table, points, days)
        print(f"generated in {time.perf_counter() - began:.0f} s")
    print(f"{spark.table(table).count():,} points, {days} days, {CLIENTS} clients")
    print_answers(spark, table, "as appended")
    began = time.perf_counter()
    request = Request(
        tables=[CLIENT_METRICS.name], actions=(COMPACTION,), quiet_minutes=0
    )
    maintain_tables.run(spark, settings, request, ledgers=(), say=print)
    print(f"compacted in {time.perf_counter() - began:.0f} s")
    print_answers(spark, table, "compacted")


if __name__ == "__main__":
    main()
