"""Ten days of telemetry in 2,000 small commits, before and after maintenance.

`python tests/bench/maintenance.py [--commits 2000] [--days 10] [--folder FOLDER]`:
generates client_metrics and client_pushes, asks three typical questions, runs the
command maintain_tables in a process of its own, and asks again. Beside it a stream
appends points and merges client instances, another one follows client_metrics, and a
thread asks one question after the other. Rows are compared by hashes of the generated days. With
--folder a run that was cut off while it generated goes on. It prints
and never fails but for an error of writer or reader, or rows that are others.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pyspark.sql import functions as F  # noqa: E402, N812 - path; Spark's own habit

from pipelines.delta_tables.locations import identify_table  # noqa: E402 - path
from pipelines.delta_tables.merging import merge_rows  # noqa: E402 - path
from pipelines.delta_tables.retry import repeat_on_conflict  # noqa: E402 - path
from pipelines.delta_tables.setup import ensure_tables  # noqa: E402 - path
from pipelines.delta_tables.stored_files import list_stored_files  # noqa: E402 - path
from pipelines.delta_tables.transactions import Transaction  # noqa: E402 - path
from pipelines.settings import load_settings  # noqa: E402 - path
from pipelines.tables.telemetry import (  # noqa: E402 - path
    CLIENT_INSTANCES,
    CLIENT_METRICS,
    CLIENT_PUSHES,
    TELEMETRY_CONTRACTS,
)
from tests.bench.lookup import open_session, read_input_bytes  # noqa: E402 - path
from tests.bench.small_commits import (  # noqa: E402 - path
    CLIENTS,
    METRIC_PREFIX,
    MIDNIGHT,
    SmallCommits,
)

TIMES = 3
"""How often each question is asked; the median counts."""
OWN_TRIGGER_S = 2
BETWEEN_QUESTIONS_S = 1


class Site:
    """The tables, and what is asked of them."""

    def __init__(self, spark, folder, days):
        self.spark, self.folder, self.days = spark, folder, days
        settings = load_settings("local", [f"tables.root_path={folder}/tables"])
        self.tables = settings.tables
        ensure_tables(spark, self.tables, TELEMETRY_CONTRACTS)
        self.names = {
            one.name: identify_table(spark, self.tables, one)
            for one in TELEMETRY_CONTRACTS
        }

    def generate(self, commits):
        made = SmallCommits(self.spark, self.tables, self.days, commits)
        threads = [
            threading.Thread(target=made.write, args=(contract,))
            for contract in (CLIENT_METRICS, CLIENT_PUSHES)
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join()

    def print_files(self, name):
        for contract in (CLIENT_METRICS, CLIENT_PUSHES):
            found = list_stored_files(
                self.spark,
                contract,
                self.names[contract.name],
                f"{self.folder}/tables/{contract.name}",
            )
            count = sum(map(len, found.held.values()))
            size = sum(found.sizes().values())
            print(f"{name}: {contract.name} {count:,} files, {size:,} bytes")

    def of_generated(self, contract):
        rows = self.spark.table(self.names[contract.name])
        return rows.where(F.col("event_date") < F.lit(MIDNIGHT.date()))

    def digest(self):
        """Return rows and a sum of hashes of the days that were generated."""
        found = {}
        for contract in (CLIENT_METRICS, CLIENT_PUSHES):
            rows = self.of_generated(contract)
            plain = [c for c in rows.columns if "attributes" not in c]
            plain = [c for c in plain if c != "distribution"]
            digest = F.xxhash64(*plain).cast("decimal(38,0)")
            counts = rows.agg(F.count("*"), F.sum(digest), F.count_distinct("push_id"))
            found[contract.name] = tuple(counts.first())
        return found

    def questions(self):
        """Return the three questions, as people ask them."""
        metrics = self.spark.table(self.names["client_metrics"])
        pushes = self.spark.table(self.names["client_pushes"])
        day = F.date_sub(F.lit(MIDNIGHT.date()), self.days // 2)
        return {
            "one metric of one client on one day": metrics.where(
                (F.col("event_date") == day)
                & (F.col("client_instance_id") == f"{CLIENTS // 2:08d}WnpUR5Cqacwr1O")
                & (F.col("metric") == f"{METRIC_PREFIX}7.avg")
            ).select("time", "value_double"),
            "last push and points of each client in three days": pushes.where(
                F.col("event_date") >= F.date_sub(F.lit(MIDNIGHT.date()), 3)
            )
            .groupBy("client_instance_id", "client_id")
            .agg(F.max("received_at"), F.sum("point_count")),
            "a metric of all clients by hour, all days": metrics.where(
                F.col("metric") == f"{METRIC_PREFIX}3.avg"
            )
            .groupBy(F.date_trunc("hour", "received_at"))
            .agg(F.avg("value_double"), F.max("value_double")),
        }

    def print_answers(self, name):
        store = self.spark.sparkContext._jsc.sc().statusStore()
        for number, question in enumerate(self.questions()):
            seconds, rows = [], 0
            for time_number in range(TIMES):
                group = f"{name} {number} {time_number}"
                self.spark.sparkContext.setJobGroup(group, group)
                began = time.perf_counter()
                rows = len(self.questions()[question].collect())
                seconds.append(time.perf_counter() - began)
            self.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
            read = read_input_bytes(self.spark, store, group)
            median = sorted(seconds)[TIMES // 2]
            print(
                f"{name}: {question}: {median:.2f} s, {read:,} bytes read, {rows} rows",
                flush=True,
            )


class Beside:
    """A streaming writer, a streaming reader and somebody who asks, until the end."""

    def __init__(self, site):
        self.site, self.batches, self.answers, self.faults = site, 0, 0, []
        # Once: the job's appends do not read the table that they write to either.
        sample = site.of_generated(CLIENT_METRICS).limit(1)
        self._sample = site.spark.createDataFrame(sample.collect(), sample.schema)
        self._is_over = threading.Event()
        self._asking = threading.Thread(target=self._ask)

    def __enter__(self):
        spark, folder = self.site.spark, self.site.folder
        rate = spark.readStream.format("rate").option("rowsPerSecond", 200).load()
        self._writer = (
            rate.writeStream.foreachBatch(self._write)
            .option("checkpointLocation", f"{folder}/writer")
            .trigger(processingTime=f"{OWN_TRIGGER_S} seconds")
            .start()
        )
        self._reader = (
            spark.readStream.format("delta")
            .option("skipChangeCommits", "true")
            .option("maxFilesPerTrigger", 500)
            .load(f"{folder}/tables/client_metrics")
            .writeStream.format("noop")
            .option("checkpointLocation", f"{folder}/reader")
            .start()
        )
        self._asking.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._asking.join()
        for query in (self._writer, self._reader):
            if query.exception() is not None:
                self.faults.append(str(query.exception()))
            query.stop()

    def _write(self, rows, batch_id):
        """Append points of today, and merge client instances, as the job does."""
        site, self.batches = self.site, self.batches + 1
        session = rows.sparkSession
        count = rows.count()
        points = self._sample.crossJoin(rows.select("value")).withColumns(
            {
                "event_date": F.lit(MIDNIGHT.date()),
                "offset": F.col("value") + 10_000_000,
            }
        )
        columns = CLIENT_METRICS.column_names
        points.select(*columns).coalesce(1).writeTo(
            site.names["client_metrics"]
        ).option("txnAppId", "beside").option("txnVersion", str(batch_id)).append()
        known = {
            "client_instance_id": F.concat(F.lit("beside-"), F.col("value") % 50),
            "first_seen": F.current_timestamp(),
            "push_interval_ms": F.lit(1000),
        }
        who = rows.where(F.lit(count > 0)).limit(50).dropDuplicates(["value"])
        instances = who.select(
            *(
                (
                    known.get(c.name)
                    if c.name in known
                    else F.lit(None if c.is_nullable else "x")
                )
                .cast(c.sql_type)
                .alias(c.name)
                for c in CLIENT_INSTANCES.columns
            )
        ).dropDuplicates(["client_instance_id"])
        repeat_on_conflict(
            lambda: merge_rows(
                session.createDataFrame(instances.collect(), instances.schema),
                CLIENT_INSTANCES,
                site.names["client_instances"],
                Transaction(query_id="beside", batch_id=batch_id),
            ),
            what="client_instances",
        )

    def _ask(self):
        while not self._is_over.is_set():
            try:
                for question in self.site.questions().values():
                    question.collect()
                    self.answers += 1
                    self._is_over.wait(BETWEEN_QUESTIONS_S)
            except Exception as error:  # noqa: BLE001 - told, and counted
                self.faults.append(f"reader: {error}")
                return


def maintain(folder):
    """Run the command as people do, in a process of its own; return its seconds."""
    began = time.perf_counter()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pipelines", "maintain_tables"),
            *(
                "--without-topics",
                "--no-checks",
                "--set",
                f"tables.root_path={folder}/tables",
            ),
            *("--set", "maintain_tables.quiet_minutes=0"),
            *("--driver-memory", "2g"),
        ],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - began
    print(done.stdout, end="")
    if done.returncode:
        print(done.stderr, end="")
    print(f"maintain_tables ended with {done.returncode} after {seconds:.0f} s")
    return done.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commits", type=int, default=2_000)
    parser.add_argument("--days", type=int, default=10)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="maintenance-") as scratch:
        folder = arguments.folder or Path(scratch)
        with open_session("maintenance") as spark:
            return run(Site(spark, folder, arguments.days), arguments.commits)


def run(site, commits):
    """Return 0 where nobody failed and rows are equal."""
    began = time.perf_counter()
    site.generate(commits)
    print(f"{commits:,} commits a table in {time.perf_counter() - began:.0f} s")
    site.print_files("before")
    before = site.digest()
    print(f"rows: { {name: found[0] for name, found in before.items()} }")
    site.print_answers("before")
    with Beside(site) as beside:
        codes = [maintain(site.folder) for _ in range(2)]
    site.print_files("after")
    site.print_answers("after")
    after = site.digest()
    print(
        f"beside it: {beside.batches} micro-batches, {beside.answers} answers, "
        f"{len(beside.faults)} errors"
    )
    for fault in beside.faults:
        print(fault)
    print(f"rows are {'equal' if before == after else f'others: {after}'}")
    return int(bool(any(codes) or beside.faults or before != after))


if __name__ == "__main__":
    sys.exit(main())
