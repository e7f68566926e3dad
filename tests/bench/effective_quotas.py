"""How long refresh_quotas takes: a million clients, 10,000 entities, five keys.

    python -m tests.bench.effective_quotas [--clients N] [--writer files|spark]

Each client has one live instance, whose newest push reports throttle times and a rate
where its number is divisible by ten. Rounds: a table that is empty; nothing that
differs; the default user's quota changed. Seconds are of the wall, the process tree's
CPU beside them.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables.setup import ensure_tables
from pipelines.jobs.quotas.job import refresh
from pipelines.settings import load_settings
from pipelines.tables.cluster import CLIENT_QUOTAS
from pipelines.tables.telemetry import CLIENT_METRICS, CLIENT_PUSHES
from tests.bench.process_tree import cpu_seconds
from tests.bench.quotas import ENTITIES, SEED, USERS, make_entities
from tests.support.spark.local_session import start_session

COMPILED = (
    *("--conf", "spark.sql.codegen.wholeStage=true"),
    *("--conf", "spark.sql.codegen.factoryMode=FALLBACK"),
    *("--driver-memory", "4g"),
)
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
REPORTED = (
    "org.apache.kafka.producer.produce.throttle.time.avg",
    "org.apache.kafka.producer.produce.throttle.time.max",
    "org.apache.kafka.producer.outgoing.byte.rate",
)
FILLERS = {"string": "x", "int": 1, "bigint": 1, "boolean": False, "binary": b""}


def append(spark, folder, contract, rows):
    """Append rows to a table; what it must have and they lack is a filler."""
    path = f"{folder}/{contract.name}"
    for field in spark.table(f"delta.`{path}`").schema:
        if field.name not in rows.columns:
            kind = field.dataType.simpleString()
            value = None if field.nullable else FILLERS.get(kind)
            rows = rows.withColumn(field.name, F.lit(value).cast(kind))
    names = [field.name for field in spark.table(f"delta.`{path}`").schema]
    rows.select(*names).write.format("delta").mode("append").save(path)


def fill(spark, settings, folder, clients):
    """Make the tables that quotas are worked out of."""
    contracts = (CLIENT_QUOTAS, CLIENT_PUSHES, CLIENT_METRICS)
    ensure_tables(spark, settings.tables, contracts)
    pushes = spark.range(clients).selectExpr(
        "substr(base64(unhex(md5(string(id)))), 1, 22) AS client_instance_id",
        f"concat('User:user-', id % {USERS}) AS principal",
        "concat('service-client-', id) AS client_id",
        "concat_ws('.', '10', id div 65536, id div 256 % 256, id % 256) "
        "AS client_source_address",
        "concat('01a214c1-d8a1-7000-', md5(string(id))) AS push_id",
        "id AS offset",
    )
    received = F.lit(NOW - timedelta(seconds=30))
    pushes = (
        pushes.withColumn("received_at", received)
        .withColumn("event_date", F.lit(NOW.date()))
        .withColumn("push_interval_ms", F.lit(300_000))
    )
    append(spark, folder, CLIENT_PUSHES, pushes)
    points = pushes.where("offset % 10 = 0").select(
        "*",
        F.explode(F.array(*map(F.lit, REPORTED))).alias("metric"),
        F.col("offset").cast("double").alias("value_double"),
    )
    append(spark, folder, CLIENT_METRICS, points)
    fill_quotas(spark, folder, received)


def fill_quotas(spark, folder, valid_from):
    """Fill client_quotas, which must exist, with the quotas of ENTITIES."""
    entities = make_entities(ENTITIES, random.Random(SEED))  # noqa: S311 - the same always
    quotas = spark.createDataFrame(entities.to_pandas()).withColumns(
        {
            "cluster_id": F.lit("cluster-1"),
            "is_current": F.lit(True),
            "valid_from": valid_from,
            "entity_path": F.concat_ws("/", "user_name", "client_id", "ip"),
        }
    )
    append(spark, folder, CLIENT_QUOTAS, quotas)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=1_000_000)
    parser.add_argument("--writer", default="files")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spark = start_session(Path(folder, "warehouse"), *COMPILED)
        settings = load_settings(
            "local", [f"tables.root_path={folder}", f"tables.writer={given.writer}"]
        )
        fill(spark, settings, folder, given.clients)
        print(f"{given.clients} clients, {ENTITIES} entities, {given.writer}")
        quotas = f"delta.`{folder}/{CLIENT_QUOTAS.name}`"
        for name in ("empty table", "nothing differs", "a default differs"):
            if name == "a default differs":
                spark.sql(
                    f"UPDATE {quotas} SET quota_value = quota_value + 1 "  # noqa: S608 - of ours
                    "WHERE is_default_user AND NOT is_default_client_id"
                )
            cpu, begun = cpu_seconds(os.getpid()), time.monotonic()
            done = refresh(spark, settings, NOW)
            took = time.monotonic() - begun
            print(
                f"{name}: {took:.1f} s, {cpu_seconds(os.getpid()) - cpu:.1f} CPU-s, "
                f"{done.changed} rows changed, {done.gone} gone",
                flush=True,
            )
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
