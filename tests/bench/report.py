"""Says how large a report is, how long it takes to make, and to open.

`python tests/bench/report.py [--clients 100000] [--rounds 5] [--tables]`: a page of so
many clients from plain rows, its bytes, the seconds to make it and, in headless
Chromium with a new profile each round, those until its words are painted and until its
table can be used. With `--tables` also tables of so many clients, one instance and two
pushes each, a configuration and eight points of metrics, and the seconds, CPU seconds
and memory until the rows of a page are collected. It never fails.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.report.page import bundle_vega, make_page  # noqa: E402 - path
from tests.bench.process_memory import MemoryWatch  # noqa: E402 - path
from tests.bench.process_tree import cpu_seconds  # noqa: E402 - path
from tests.support.report.browser import CHROMIUM, DRIVER, open_browser  # noqa: E402 - path
from tests.support.report.fleets import make_fleet  # noqa: E402 - path

DETAILS = 1_000
_METRICS = (
    *("producer.request.latency.avg", "producer.record.queue.time.avg"),
    *("producer.outgoing.byte.rate", "producer.node.request.latency.avg"),
)
_PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


def open_page(path):
    """Return milliseconds until words are painted, and until the table is there."""
    with tempfile.TemporaryDirectory() as folder, open_browser(Path(folder)) as browser:
        browser.open(f"file://{path}")
        ready = float(browser.wait("document.body.dataset.ready"))
        return float(browser.run(f"return {_PAINTED}")), ready


def say_times(name, values, unit):
    low, high = min(values), max(values)
    print(
        f"{name}: {statistics.median(values):,.2f} {unit} ({low:,.2f} to {high:,.2f})"
    )


def bench_page(clients, rounds, folder):
    vega = bundle_vega()
    fleet = make_fleet(clients, min(clients, DETAILS))
    seconds = []
    for _ in range(rounds):
        began = time.monotonic()
        page = make_page(fleet, vega, {})
        seconds.append(time.monotonic() - began)
    path = folder / "fleet.html"
    path.write_text(page.html, encoding="utf-8")
    print(f"{clients:,} clients, {len(fleet.details):,} with details")
    print(f"page: {path.stat().st_size / 1e6:,.2f} MB")
    print(f"left out: {page.clients_left_out} clients, {page.details_left_out} details")
    say_times("made in", seconds, "s")
    if not (CHROMIUM and DRIVER):
        print("there is no chromium and chromedriver")
        return
    painted, ready = zip(*(open_page(path) for _ in range(rounds)), strict=True)
    say_times("words painted after", painted, "ms")
    say_times("table usable after", ready, "ms")


def bench_tables(clients, folder):
    """Make tables of so many clients, and collect a report of them."""
    from pipelines.report.collecting import Request, collect
    from pipelines.settings import load_settings
    from pipelines.tables.configs import CLIENT_CONFIG_CONTRACTS
    from pipelines.tables.telemetry import TELEMETRY_CONTRACTS
    from tests.bench.effective_quotas import COMPILED
    from tests.support.spark.empty_tables import make_tables
    from tests.support.spark.local_session import start_quick_session

    # The command compiles its queries as well.
    words = (*COMPILED, "--driver-memory", "3g")
    spark = start_quick_session(folder / "warehouse", *words)
    settings = load_settings("base", [f"tables.root_path={folder}/tables"])
    contracts = [*TELEMETRY_CONTRACTS, *CLIENT_CONFIG_CONTRACTS]
    make_tables(spark, settings.tables, contracts)
    fill_tables(spark, settings, clients)
    now = datetime.now(tz=UTC)
    since = now - timedelta(hours=24)
    cpu, began = cpu_seconds(os.getpid()), time.monotonic()
    request = Request(environment="bench", made_at=now, since=since)
    with MemoryWatch(os.getpid()) as memory:
        fleet = collect(spark, settings, request)
    collected = time.monotonic() - began
    cpu = cpu_seconds(os.getpid()) - cpu
    peaks = ", ".join(f"{kind} {mib:,} MiB" for kind, mib in memory.peaks_mib.items())
    print(f"collected with {cpu:,.1f} CPU-s; peak memory: {peaks}")
    began = time.monotonic()
    page = make_page(fleet, bundle_vega(), {})
    made = time.monotonic() - began
    size = len(page.html.encode()) / 1e6
    print(
        f"from tables: {fleet.clients.num_rows:,} clients collected in "
        f"{collected:,.1f} s, {size:,.2f} MB made of them in {made:,.1f} s"
    )
    spark.stop()


def fill_tables(spark, settings, clients):
    from pipelines.tables.configs import CLIENT_CONFIGS
    from pipelines.tables.telemetry import (
        CLIENT_INSTANCES,
        CLIENT_METRICS,
        CLIENT_PUSHES,
    )

    ids = f"SELECT id, 0 AS n FROM range({clients})"  # noqa: S608 - written here
    known = {
        "client_instance_id": "substr(sha2(string(id), 256), 1, 22)",
        "client_id": "concat('service-', id)",
        "principal": "concat('User:team-', id % 400)",
        "client_type": "IF(id % 2 = 0, 'producer', 'consumer')",
        "client_software_name": "IF(id % 3 = 0, 'librdkafka', 'apache-kafka-java')",
        "client_software_version": "concat('3.', id % 9)",
        # Active for an hour, however long it takes to fill the tables.
        "push_interval_ms": "1200000",
        "first_seen": "current_timestamp() - INTERVAL 1 HOUR * (id % 900)",
        "terminated_at": "NULL",
        "received_at": "current_timestamp() - INTERVAL 1 MINUTE * (n * 30)",
        "event_date": "date(current_timestamp() - INTERVAL 1 MINUTE * (n * 30))",
        "offset": "id * 2 + n",
        "push_id": "concat(id, '-', n)",
        "logical_client": "md5(string(id))",
    }
    write(spark, settings, CLIENT_INSTANCES, ids, known)
    twice = (
        f"SELECT id, n FROM range({clients}) LATERAL VIEW explode(array(0, 1)) n AS n"  # noqa: S608 - the same
    )
    write(spark, settings, CLIENT_PUSHES, twice, known)
    metrics = ", ".join(f"'org.apache.kafka.{one}'" for one in _METRICS)
    points = f"SELECT *, explode(array({metrics})) AS name FROM ({twice})"  # noqa: S608 - the same
    told = {"metric": "name", "kind": "'gauge'", "value_double": "10D + id % 90"}
    told |= {"node_id": "IF(name LIKE '%.node.%', string(id % 3), NULL)"}
    told |= {"node_role": "IF(name LIKE '%.node.%', 'broker', NULL)"}
    write(spark, settings, CLIENT_METRICS, points, known | told)
    entry = (
        "named_struct('config_value', string(id % 40 = 0), 'config_type', 'BOOLEAN', "
        "'is_default', false, 'status', 'overridden', 'value_boolean', id % 40 = 0, "
        "'value_long', CAST(NULL AS BIGINT), 'value_double', CAST(NULL AS DOUBLE), "
        "'value_list', CAST(NULL AS ARRAY<STRING>), "
        "'value_string', CAST(NULL AS STRING))"
    )
    names = ", ".join(f"'some.key.{number}', {entry}" for number in range(12))
    write(spark, settings, CLIENT_CONFIGS, ids, known | {"configs": f"map({names})"})


def write(spark, settings, contract, rows, known):
    """Append rows of a query; columns that are not known are blank."""
    from pipelines.delta_tables.locations import identify_table

    blank = {"STRING": "'x'", "INT": "1", "BIGINT": "1", "BOOLEAN": "false"}
    blank |= {"BINARY": "X''", "DATE": "current_date()", "DOUBLE": "0D"}
    blank |= {"TIMESTAMP": "current_timestamp()", "MAP<STRING, STRING>": "map()"}
    columns = []
    for one in contract.columns:
        usual = "NULL" if one.is_nullable else blank.get(one.sql_type, "array()")
        value = known.get(one.name, usual)
        columns.append(f"CAST({value} AS {one.sql_type}) AS `{one.name}`")
    query = f"SELECT {', '.join(columns)} FROM ({rows})"  # noqa: S608 - written here
    spark.sql(query).writeTo(identify_table(spark, settings.tables, contract)).append()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tables", action="store_true")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        bench_page(words.clients, words.rounds, Path(name))
        if words.tables:
            bench_tables(words.clients, Path(name))


if __name__ == "__main__":
    main()
