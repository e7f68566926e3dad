"""How long client_findings takes: a million clients, all rules.

    python -m tests.bench.findings [--clients N] [--metrics N] [--faulty PERCENT]

Each client is one instance with three pushes in the window, each of some of the metrics
that rules read, and a pushed configuration of the twelve keys of KIP-1324's producers;
some percent of them have a fault. Evaluations: a table that is empty, the second,
which opens findings, and one in which nothing is new. The command prints wall seconds,
CPU-seconds of the process tree, and the peak memory of each kind of process.
"""

import argparse
import os
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables.setup import ensure_tables
from pipelines.jobs.findings import job
from pipelines.settings import load_settings
from pipelines.settings.rules import read_finding_rules
from pipelines.tables.configs import CLIENT_CONFIGS
from pipelines.tables.registry import ALL_CONTRACTS
from pipelines.tables.telemetry import CLIENT_INSTANCES, CLIENT_METRICS, CLIENT_PUSHES
from tests.bench.effective_quotas import COMPILED, append
from tests.bench.process_memory import MemoryWatch
from tests.bench.process_tree import cpu_seconds
from tests.support.spark.finding_fleet import PREFIX
from tests.support.spark.local_session import start_session

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
RULES = 30
PUSHES = 3
LASTING = (
    "--conf",
    "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=4 -XX:+UseParallelGC",
)
"""The job's driver has the whole compiler, a test's has the quick part alone."""
KEYS = {
    "acks": ("all", "STRING"),
    "batch.size": ("16384", "INT"),
    "buffer.memory": ("33554432", "LONG"),
    "compression.type": ("none", "STRING"),
    "delivery.timeout.ms": ("120000", "INT"),
    "enable.idempotence": ("true", "BOOLEAN"),
    "linger.ms": ("5", "LONG"),
    "max.in.flight.requests.per.connection": ("5", "INT"),
    "request.timeout.ms": ("30000", "INT"),
    "retries": ("2147483647", "INT"),
    "metadata.max.age.ms": ("300000", "LONG"),
    "max.block.ms": ("60000", "LONG"),
}


def entry(key, value, config_type, faulty):
    """Return SQL for what client_configs holds of a key."""
    text = f"'{value}'"
    if key == "acks":
        text = f"IF(id % 100 < {faulty}, '1', 'all')"
    kind = {"INT": "value_long", "LONG": "value_long", "BOOLEAN": "value_boolean"}
    typed = {
        name: f"CAST(NULL AS {sql})"
        for name, sql in (
            ("value_boolean", "BOOLEAN"),
            ("value_long", "BIGINT"),
            ("value_double", "DOUBLE"),
            ("value_list", "ARRAY<STRING>"),
            ("value_string", "STRING"),
        )
    }
    name = kind.get(config_type, "value_string")
    cast = {"value_long": "BIGINT", "value_boolean": "BOOLEAN"}.get(name, "STRING")
    typed[name] = f"CAST({text} AS {cast})"
    fields = {
        "config_value": text,
        "config_type": f"'{config_type}'",
        "is_default": "true",
        "status": f"IF({text} = '{value}', 'default', 'overridden')",
    } | typed
    listed = ", ".join(f"'{one}', {sql}" for one, sql in fields.items())
    return f"'{key}', named_struct({listed})"


def fill(spark, settings, folder, given, metrics, now=NOW):
    """Create the tables that rules read.

    Args:
        given: Has clients (their number) and faulty (percent).
        metrics: Names without PREFIX that each push contains.
        now: End of the window, with a time zone.
    """
    ensure_tables(spark, settings.tables, ALL_CONTRACTS)
    clients = spark.range(given.clients).selectExpr(
        "id",
        "substr(base64(unhex(md5(string(id)))), 1, 22) AS client_instance_id",
        "concat('User:user-', id % 1000) AS principal",
        "concat('service-client-', id) AS client_id",
        "concat_ws('.', '10', id div 65536, id div 256 % 256, id % 256) "
        "AS client_source_address",
        "'producer' AS client_type",
        "'apache-kafka-java' AS client_software_name",
        "IF(id % 2 = 0, '4.3.1', '3.9.2') AS client_software_version",
        "md5(concat('logical', id)) AS logical_client",
        "300000 AS push_interval_ms",
        f"timestamp'{now - timedelta(hours=5)}' AS first_seen",
        "'cluster-1' AS cluster_id",
    )
    append(spark, folder, CLIENT_INSTANCES, clients)
    entries = ", ".join(entry(k, *v, given.faulty) for k, v in KEYS.items())
    configured = clients.selectExpr(
        "*", f"map({entries}) AS configs", "first_seen AS received_at"
    )
    append(spark, folder, CLIENT_CONFIGS, configured)
    for number in range(PUSHES):
        at = now - timedelta(seconds=30 + 300 * number)
        pushes = clients.withColumns(
            {
                "received_at": F.lit(at),
                "event_date": F.lit(at.date()),
                "push_id": F.expr(f"concat('{number}', md5(string(id)))"),
                "offset": F.col("id"),
            }
        )
        append(spark, folder, CLIENT_PUSHES, pushes)
        if not metrics:
            continue
        points = pushes.select(
            "*",
            F.explode(F.array(*(F.lit(PREFIX + one) for one in metrics))).alias(
                "metric"
            ),
            F.expr(f"double(IF(offset % 100 < {given.faulty}, offset, 0))").alias(
                "value_double"
            ),
            F.lit("gauge").alias("kind"),
        )
        append(spark, folder, CLIENT_METRICS, points)


def choose_rules(settings):
    """Return all rules, some of them twice where they are fewer than RULES."""
    rules = read_finding_rules(settings)
    some = list(rules.rules)
    rows = [one for one in some if one.where]
    for number in range(RULES - len(some)):
        one = rows[number % len(rows)]
        some.append(replace(one, name=f"{one.name}-{number}"))
    return replace(rules, rules=tuple(some))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=1_000_000)
    parser.add_argument("--metrics", type=int, default=10)
    parser.add_argument("--faulty", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spark = start_session(Path(folder, "warehouse"), *COMPILED, *LASTING)
        settings = load_settings("local", [f"tables.root_path={folder}"])
        rules = choose_rules(settings)
        known = dict.fromkeys(metric for one in rules.rules for metric in one.metrics)
        metrics = list(known)[: given.metrics]
        fill(spark, settings, folder, given, metrics)
        print(
            f"{given.clients} clients, {len(rules.rules)} rules, "
            f"{PUSHES * len(metrics)} points a client, {given.faulty} % faulty",
            flush=True,
        )
        for number, name in enumerate(("first", "second", "third")):
            cpu, begun = cpu_seconds(os.getpid()), time.monotonic()
            now = NOW + timedelta(seconds=number)
            with MemoryWatch(os.getpid()) as memory:
                done = job.evaluate(spark, settings, rules, now)
            took = time.monotonic() - begun
            print(
                f"{name}: {took:.1f} s, {cpu_seconds(os.getpid()) - cpu:.1f} CPU-s, "
                f"peak memory in MiB: {dict(memory.peaks_mib)}, {done}",
                flush=True,
            )
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
