"""Prints what all jobs take on a small site: CPU-seconds a minute, memory, freshness.

`python -m tests.bench.small_site [--minutes N] [--idle-minutes N] [words of jobs]`: a
real Kafka with the topics as a bridge makes them, the command `jobs` as its users start
it, and records as bridge and proxy write them: telemetry of 60 points, configurations
of 11 entries, each of a client instance that starts then, and values seen on the wire.
Counted are the driver, its JVM and its Python workers. Freshness is, for each push, the
time from received_at to the commit of the version of client_pushes that holds it, and
of client_config_pushes likewise. Memory is the sum of proportional sets. Afterwards
nothing comes for some minutes. It never fails on a figure.
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import zstandard
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from pipelines.bridge.protocol.push_config import ClientConfig, write_push_config
from pipelines.embedded import EmbeddedKafka
from tests.bench.generated_pushes import java_push
from tests.bench.process_tree import cpu_seconds, list_tree
from tests.bench.running_bridge import ROOT, describe_machine
from tests.support.jobs.job_support import make_instance_id
from tests.support.kafka.topics import make_topic
from tests.support.spark.config_records import HEADERS as CONFIG_HEADERS
from tests.support.spark.telemetry_records import make_headers
from udfs.sensitive.sensitive_key_rules import CONFIG_TYPE_NAMES

POINTS, INSTANCES, APPLICATIONS = 60, 100, 20
PARTITIONS = 6
MINUTE_S = 60.0
SETTLED_S = 320.0
"""After the last record: all that waited is written."""
WARM_MINUTES = 2
"""The first ones have the first micro-batches of all jobs."""
TOPICS = {
    "telemetry": PARTITIONS, "configs": PARTITIONS, "wire_configs": PARTITIONS,
    "traffic": PARTITIONS, "cluster": 1, "client_configs": 1,
}  # fmt: skip
FRESH = ("client_pushes", "client_config_pushes")
ENTRIES = (
    ("acks", "all", "STRING", False), ("batch.size", "16384", "INT", True),
    ("buffer.memory", "33554432", "LONG", True), ("client.id", "app", "STRING", False),
    ("compression.type", "zstd", "STRING", False),
    ("delivery.timeout.ms", "120000", "INT", True),
    ("enable.idempotence", "true", "BOOLEAN", True), ("linger.ms", "5", "LONG", False),
    ("max.in.flight.requests.per.connection", "5", "INT", True),
    ("request.timeout.ms", "30000", "INT", True),
    ("retries", "2147483647", "INT", True),
)  # fmt: skip
CONFIGS = write_push_config(
    [ClientConfig(k, v, CONFIG_TYPE_NAMES.index(t), d) for k, v, t, d in ENTRIES]
)


class Site:
    """What a small site sends, each kind at its pace, until it is left."""

    def __init__(self, servers, options):
        self._producer = Producer({"bootstrap.servers": servers, "linger.ms": 0})
        self._is_over = threading.Event()
        self._sent = 0
        self._compress = zstandard.ZstdCompressor().compress
        self._lines = [
            threading.Thread(target=self._send_at, args=each)
            for each in (
                (self._send_push, options.pushes_per_s),
                (self._send_config, options.configs / MINUTE_S),
                (self._send_wire, options.wire_configs / MINUTE_S),
            )
            if each[1]
        ]

    def __enter__(self):
        for line in self._lines:
            line.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        for line in self._lines:
            line.join()
        self._producer.flush()

    def _send_at(self, send, per_s):
        pause_s = 1 / per_s
        due_s = time.monotonic() + pause_s * random.random()  # noqa: S311 - no secret
        while not self._is_over.wait(max(0.0, due_s - time.monotonic())):
            send()
            self._producer.poll(0)
            due_s += pause_s

    def _send(self, topic, key, value, **headers):
        now = {"received_at_ms": str(time.time_ns() // 1_000_000)}
        now["push_id"] = str(uuid.uuid4())
        self._producer.produce(topic, value, key=key, headers=headers | now)

    def _send_push(self):
        self._sent += 1
        number = self._sent % INSTANCES
        instance = make_instance_id(number)
        body = self._compress(java_push(self._sent, POINTS))
        headers = dict(make_headers(client_instance_id=instance))
        headers["client_id"] = f"client-{number}"
        self._send("clientele.telemetry", instance, body, **headers)

    def _send_config(self):
        instance = make_instance_id(uuid.uuid4().int >> 2)
        headers = CONFIG_HEADERS | {"client_instance_id": instance}
        headers["client_id"] = self._choose_application()
        self._send("clientele.configs", instance, CONFIGS, **headers)

    def _send_wire(self):
        told = {"client_type": "producer", "configs": {"acks": "all", "linger.ms": "5"}}
        headers = dict(CONFIG_HEADERS)
        del headers["client_instance_id"]
        headers["client_id"] = application = self._choose_application()
        headers["client_source_address"] = f"10.0.0.{random.randrange(50)}"  # noqa: S311 - no secret
        body = json.dumps(told).encode()
        self._send("clientele.wire_configs", application, body, **headers)

    def _choose_application(self):
        return f"app-{random.randrange(APPLICATIONS)}"  # noqa: S311 - no secret


def make_topics(servers):
    admin = AdminClient({"bootstrap.servers": servers})
    for name, partitions in TOPICS.items():
        make_topic(admin, NewTopic(f"clientele.{name}", partitions, 1))


def command(servers, folder, words):
    """Return the command as its users call it."""
    settings = [
        f"kafka.bootstrap_servers={servers}",
        f"tables.root_path={folder}/tables",
    ]
    jobs = (
        *("client_telemetry_to_delta", "client_configs_to_delta"),
        *("client_wire_configs_to_delta", "client_traffic_to_delta"),
        *("cluster_metadata_to_delta", "dynamic_configs_to_delta"),
    )
    settings += [
        f"{job}.checkpoint_location={folder}/checkpoints/{job}" for job in jobs
    ]
    own = [part for one in settings for part in ("--set", one)]
    return [f"{ROOT}/spark-submit.sh", "jobs", "--env", "local", *own, *words]


def read_pss_mib(root):
    """Return proportional memory of a process tree, by kind of process."""
    found = {"driver": 0, "jvm": 0, "worker": 0}
    for pid, line in list_tree(root).items():
        kind = "worker" if b"pyspark.daemon" in line else "driver"
        kind = "jvm" if b"org.apache.spark" in line and b"java" in line else kind
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        except OSError:
            continue  # it has ended meanwhile
        pss = next(one for one in rollup.splitlines() if one.startswith("Pss:"))
        found[kind] += int(pss.split()[1]) // 1024
    return found


def read_delays(folder, table, since_s):
    """Return the seconds from received_at to the commit, of rows since a moment."""
    delays, root = [], Path(folder, "tables", table)
    for entry in sorted(root.glob("_delta_log/*.json")):
        committed_s = entry.stat().st_mtime
        for line in entry.read_text(encoding="utf-8").splitlines():
            added = json.loads(line).get("add")
            if added and committed_s >= since_s and added["dataChange"]:
                file = pq.ParquetFile(root / added["path"])
                column = file.read(["received_at"]).column(0)
                times = pc.cast(column, pa.timestamp("us", "UTC")).cast("int64")
                delays += [committed_s - one / 1e6 for one in times.to_pylist()]
    return delays


def watch(process, folder, minutes, title):
    """Print a line a minute, and the mean of those after the first."""
    taken = []
    for minute in range(minutes):
        before, began = cpu_seconds(process.pid), time.time()
        peak = 0
        while time.time() < began + MINUTE_S:
            time.sleep(MINUTE_S / 20)
            pss = read_pss_mib(process.pid)
            peak = max(peak, sum(pss.values()))
        used = cpu_seconds(process.pid) - before
        taken.append(used)
        batches = sum(
            one.stat().st_mtime >= began
            for one in Path(folder, "checkpoints").glob("*/commits/*")
            if one.name.isdecimal()
        )
        print(
            f"{title} {minute + 1}: {used:.1f} CPU-seconds, {batches} batches, "
            f"{peak} MiB at most ({', '.join(f'{k} {v}' for k, v in pss.items())})",
            flush=True,
        )

    if taken[WARM_MINUTES:]:
        print(
            f"{title}: mean of those warm {statistics.mean(taken[WARM_MINUTES:]):.1f}"
        )


def wait_for_commit(process, folder):
    log = Path(folder, "tables", "client_pushes", "_delta_log")
    began = time.time()
    while not any('"add"' in one.read_text() for one in log.glob("*.json")):
        if process.poll() is not None:
            raise SystemExit("jobs has ended")
        time.sleep(0.05)
    print(
        f"first batch: {time.time() - began:.1f} s, "
        f"{cpu_seconds(process.pid):.1f} CPU-seconds after the start",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], allow_abbrev=False
    )
    parser.add_argument("--minutes", type=int, default=6)
    parser.add_argument("--idle-minutes", type=int, default=3)
    parser.add_argument("--pushes-per-s", type=float, default=10)
    parser.add_argument("--configs", type=float, default=12, help="a minute")
    parser.add_argument("--wire-configs", type=float, default=12, help="a minute")
    options, words = parser.parse_known_args()
    # A plain kill of this program ends all that it has started, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    home = os.environ.get("JAVA_HOME")
    print(f"{describe_machine()}; {vars(options)} {words}")
    with (
        tempfile.TemporaryDirectory(prefix="small-site-") as folder,
        EmbeddedKafka(java=f"{home}/bin/java" if home else "java") as kafka,
    ):
        make_topics(kafka.bootstrap_servers)
        with Site(kafka.bootstrap_servers, options):
            time.sleep(5)
            process = subprocess.Popen(
                command(kafka.bootstrap_servers, folder, words),
                cwd=ROOT,
                stdout=sys.stderr,
                start_new_session=True,
            )
            try:
                wait_for_commit(process, folder)
                began = time.time()
                watch(process, folder, options.minutes, "minute")
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        try:
            time.sleep(SETTLED_S)
            for table in FRESH:
                print_delays(table, read_delays(folder, table, began + MINUTE_S))
            watch(process, folder, options.idle_minutes, "idle minute")
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            print(f"ended with {process.wait()}")


def print_delays(table, delays):
    if len(delays) < 2:
        return
    cuts = statistics.quantiles(sorted(delays), n=100)
    print(
        f"{table}: {len(delays)} rows, p50 {cuts[49]:.1f} s, p95 {cuts[94]:.1f} s, "
        f"longest {max(delays):.1f} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
