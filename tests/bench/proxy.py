"""What the proxy adds: latency, CPU and memory, direct and proxied in turn.

Usage: nice python tests/bench/proxy.py [--rounds 3] [--seconds 4] [--megabytes 400]
                                        [--pairs 1000] [--workers 1]

A real Kafka, a bridge process in front of it, and librdkafka clients. Printed, median
and range of the rounds: what the proxy adds to the latency of 100-byte records at
2,000 a second, and the CPU-seconds of the bridge's process for each record and for each
GB in batches of 100 kB; and the memory of a pair of connections that is idle.
"""

import argparse
import socket
import statistics
import sys
import tempfile
import time
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from confluent_kafka import Consumer, Producer, TopicPartition  # noqa: E402 - path

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from tests.bench.process_tree import cpu_seconds  # noqa: E402 - path
from tests.support.bridge.base_ports import pick_base_port  # noqa: E402 - path
from tests.support.bridge.bridge_process import BridgeProcess  # noqa: E402 - path
from tests.support.bridge.proxy_support import QUIET, ProxiedClients  # noqa: E402 - path

RECORDS_PER_S = 2_000
SMALL, LARGE = b"x" * 100, b"x" * 99_800
GB, US, MS = 1e9, 1e6, 1e3
API_VERSIONS = bytes.fromhex("0000000a0012000000000001ffff")
PATIENCE_S = 120


def make_producer(servers, **config):
    usual = {
        "bootstrap.servers": servers,
        "acks": "1",
        "enable.metrics.push": False,
        "queue.buffering.max.kbytes": 200_000,
    }
    return Producer({**usual, **config}, logger=QUIET)


def measure_latency(servers, topic, seconds):
    """Return the median latency in ms and how many records were written."""
    producer = make_producer(servers, **{"linger.ms": 0})
    producer.list_topics(topic, PATIENCE_S)
    latencies = []

    def timing(began):
        return lambda _error, _record: latencies.append(time.perf_counter() - began)

    due = time.perf_counter()
    end = due + seconds
    while due < end:
        producer.produce(topic, SMALL, on_delivery=timing(time.perf_counter()))
        due += 1 / RECORDS_PER_S
        while (left := due - time.perf_counter()) > 0:
            producer.poll(left)
    producer.flush(PATIENCE_S)
    return statistics.median(latencies) * MS, len(latencies)


def produce(servers, topic, count):
    """Write batches of 100 kB, and wait until all are acknowledged."""
    producer = make_producer(
        servers, **{"batch.size": 100_000, "batch.num.messages": 1, "linger.ms": 0}
    )
    for _ in range(count):
        while True:
            try:
                producer.produce(topic, LARGE)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    assert producer.flush(PATIENCE_S) == 0


def fetch(servers, topic, count):
    """Read so many records from the beginning."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": str(uuid.uuid4()),
            "enable.metrics.push": False,
            "enable.auto.commit": False,
            "queued.max.messages.kbytes": 65_536,
        },
        logger=QUIET,
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    read = 0
    while read < count:
        read += sum(not one.error() for one in consumer.consume(500, 1))
    consumer.close()


def spread(values):
    return f"{statistics.median(values):9.3f} ({min(values):.3f} to {max(values):.3f})"


class Bench:
    """One cluster, one bridge, and what was measured."""

    def __init__(self, direct, proxied, pid):
        self.servers = {"direct": direct, "proxied": proxied}
        self.pid = pid
        self.full = None
        self.clients = ProxiedClients(direct)

    def cpu_of(self, work):
        """Return the CPU-seconds of the bridge, and the seconds, that some work took."""
        cpu, began = cpu_seconds(self.pid), time.perf_counter()
        result = work()
        return cpu_seconds(self.pid) - cpu, time.perf_counter() - began, result

    def measure_small(self, rounds, seconds):
        topic = self.clients.create_topic(1, 1)
        latency = {name: [] for name in self.servers}
        per_record = []
        for servers in self.servers.values():
            measure_latency(servers, topic, 2)
        for _ in range(rounds):
            for name, servers in self.servers.items():
                cpu, _, (median, count) = self.cpu_of(
                    lambda s=servers: measure_latency(s, topic, seconds)
                )
                latency[name].append(median)
                if name == "proxied":
                    per_record.append(cpu / count * US)
        added = [
            proxied - direct for direct, proxied in zip(*latency.values(), strict=True)
        ]
        for name, values in latency.items():
            print(f"p50 {name}, ms                {spread(values)}")
        print(f"p50 added, ms                  {spread(added)}")
        print(f"CPU per record, us             {spread(per_record)}", flush=True)

    def measure_large(self, rounds, megabytes):
        count = int(megabytes * 1e6 / len(LARGE))
        size = count * len(LARGE) / GB
        rates = {}
        for step, work in (("produced", produce), ("fetched", fetch)):
            cpus = []
            for _ in range(rounds):
                for name, servers in self.servers.items():
                    topic = self.topic_for(step, count)
                    cpu, took, _ = self.cpu_of(
                        lambda s=servers, t=topic, w=work: w(s, t, count)
                    )
                    rates.setdefault((step, name), []).append(size / took)
                    if name == "proxied":
                        cpus.append(cpu / size)
                    if step == "produced":
                        self.clients.admin.delete_topics([topic])[topic].result()
            print(f"CPU-s per GB {step:9}         {spread(cpus)}", flush=True)
        for (step, name), values in rates.items():
            print(f"GB/s {step} {name:8}       {spread(values)}")

    def topic_for(self, step, count):
        """Return an empty topic to write to, or one that is full to read."""
        if step == "produced":
            return self.clients.create_topic(1, 1)
        if self.full is None:
            self.full = self.clients.create_topic(1, 1)
            produce(self.servers["direct"], self.full, count)
        return self.full


def measure_idle(bridge, port, pairs):
    """Return the bytes that an idle pair takes, which has asked for ApiVersions."""
    kept = [connect(port) for _ in range(50)]
    before = bridge.resident_bytes()
    kept += [connect(port) for _ in range(pairs)]
    after = bridge.resident_bytes()
    for one in kept:
        one.close()
    print(f"bytes per idle pair            {(after - before) / pairs:9.0f}")


def connect(port):
    one = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
    one.sendall(API_VERSIONS)
    assert one.recv(65_536)
    return one


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--megabytes", type=float, default=400)
    parser.add_argument("--pairs", type=int, default=1_000)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    with EmbeddedKafka() as kafka, tempfile.TemporaryDirectory() as folder:
        port = pick_base_port()
        bridge = BridgeProcess(
            Path(folder),
            kafka.bootstrap_servers,
            "telemetry",
            "proxy.enabled=true",
            f"proxy.base_port={port}",
            f"bridge.workers={arguments.workers}",
        )
        bridge.start()
        try:
            bench = Bench(kafka.bootstrap_servers, f"127.0.0.1:{port}", bridge.pid)
            measure_idle(bridge, port, arguments.pairs)
            bench.measure_small(arguments.rounds, arguments.seconds)
            bench.measure_large(arguments.rounds, arguments.megabytes)
        finally:
            bridge.close()


if __name__ == "__main__":
    main()
