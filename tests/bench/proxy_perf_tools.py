"""What Kafka's own performance tools say, direct and through the proxy, in turn.

Usage: python tests/bench/proxy_perf_tools.py [--rounds 3] [--records 200000]
                                              [--size 1000] [--per-second 2000]

A real Kafka, and a bridge process in front of it. kafka-producer-perf-test runs as fast
as it goes, and at so many records a second for its latency; kafka-consumer-perf-test
reads what was written. Printed are the median and the range of the rounds, and the
CPU-seconds of the bridge's process for each GB.
"""

import argparse
import re
import statistics
import sys
import tempfile
import uuid
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from pipelines.reading.text_tables import format_table  # noqa: E402 - path
from tests.bench.process_tree import cpu_seconds  # noqa: E402 - path
from tests.client_jars import find_java  # noqa: E402 - path
from tests.support.bridge.base_ports import pick_base_port  # noqa: E402 - path
from tests.support.bridge.bridge_process import BridgeProcess  # noqa: E402 - path
from tests.support.bridge.proxy_support import ProxiedClients  # noqa: E402 - path
from tests.support.clients.java_programs import run_tool  # noqa: E402 - path

TOOLS = "org.apache.kafka.tools"
DIRECT, PROXIED = "direct", "proxied"
AS_FAST_AS_IT_GOES = -1
PACED_SHARE = 20
"""One record in so many of the others is written at a pace, for the latency."""
GB = 1e9
PRODUCED = re.compile(
    r"(?P<records>[\d.]+) records/sec \((?P<mb>[\d.]+) MB/sec\), "
    r"(?P<avg>[\d.]+) ms avg latency, (?P<max>[\d.]+) ms max latency, "
    r"(?P<p50>\d+) ms 50th, (?P<p95>\d+) ms 95th, (?P<p99>\d+) ms 99th"
)


class Bench:
    """One Kafka, its bridge, and what was measured."""

    def __init__(self, java, servers, pid, size):
        self.java, self.servers, self.pid, self.size = java, servers, pid, size
        self.figures = defaultdict(list)

    def produce(self, way, topic, records, per_second):
        """Write with kafka-producer-perf-test; return what its last line says."""
        cpu = cpu_seconds(self.pid)
        told = run_tool(
            self.java, f"{TOOLS}.ProducerPerformance",
            *("--topic", topic, "--num-records", str(records)),
            *("--record-size", str(self.size), "--throughput", str(per_second)),
            *("--producer-props", f"bootstrap.servers={self.servers[way]}"),
        )  # fmt: skip
        *_, last = PRODUCED.finditer(told)
        return last, cpu_seconds(self.pid) - cpu

    def measure(self, way, topic, records, per_second):
        """Produce and consume once, one way."""
        paced = max(records // PACED_SHARE, per_second)
        last, _ = self.produce(way, topic, paced, per_second)
        for name in ("avg", "p50", "p99"):
            self.note(f"produce {per_second}/s, ms {name}", way, last[name])
        last, cpu_s = self.produce(way, topic, records, AS_FAST_AS_IT_GOES)
        self.note("produce, records/s", way, last["records"])
        self.note("produce, MB/s", way, last["mb"])
        self.note("produce, ms avg", way, last["avg"])
        self.note("produce, ms p99", way, last["p99"])
        self.note_cpu("produce", way, cpu_s, records)
        cpu = cpu_seconds(self.pid)
        told = run_tool(
            self.java, f"{TOOLS}.ConsumerPerformance",
            *("--bootstrap-server", self.servers[way], "--topic", topic),
            *("--num-records", str(records), "--group", str(uuid.uuid4())),
        )  # fmt: skip
        names, values = (
            [word.strip() for word in line.split(", ")]
            for line in told.splitlines()
            if line.count(",") > 5
        )
        read = dict(zip(names, values, strict=True))
        for name in ("fetch.MB.sec", "fetch.nMsg.sec"):
            self.note(f"consume, {name}", way, read[name])
        self.note_cpu("consume", way, cpu_seconds(self.pid) - cpu, records)

    def note(self, name, way, value):
        self.figures[name, way].append(float(value))

    def note_cpu(self, name, way, cpu_s, records):
        if way == PROXIED:
            used = cpu_s / (records * self.size / GB)
            self.note(f"{name}, CPU-s per GB", way, used)

    def table(self):
        names = list(dict.fromkeys(name for name, _ in self.figures))
        return format_table(
            ["", DIRECT, PROXIED],
            [
                [name, *(spread(self.figures[name, way]) for way in (DIRECT, PROXIED))]
                for name in names
            ],
        )


def spread(values):
    if not values:
        return ""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--size", type=int, default=1_000)
    parser.add_argument("--per-second", type=int, default=2_000)
    arguments = parser.parse_args()
    java = find_java()
    with EmbeddedKafka(java=java) as kafka, tempfile.TemporaryDirectory() as folder:
        port = pick_base_port()
        bridge = BridgeProcess(
            *(Path(folder), kafka.bootstrap_servers, "telemetry"),
            *("proxy.enabled=true", f"proxy.base_port={port}"),
        )
        bridge.start()
        servers = {DIRECT: kafka.bootstrap_servers, PROXIED: f"127.0.0.1:{port}"}
        bench = Bench(java, servers, bridge.pid, arguments.size)
        admin = ProxiedClients(kafka.bootstrap_servers)
        try:
            for number in range(arguments.rounds):
                # Whoever is first finds colder caches: they take turns at that.
                for way in (DIRECT, PROXIED) if number % 2 else (PROXIED, DIRECT):
                    topic = admin.create_topic(3, 1)
                    bench.measure(way, topic, arguments.records, arguments.per_second)
                    admin.admin.delete_topics([topic])[topic].result()
        finally:
            bridge.close()
    print(bench.table())


if __name__ == "__main__":
    main()
