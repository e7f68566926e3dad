"""What it costs to look at configurations in passing: with and without, in turn.

Usage: nice python tests/bench/proxy_wire_configs.py [--rounds 6] [--seconds 4]
                                                     [--megabytes 200]

A real Kafka, two bridge processes in front of it that differ in proxy.wire_configs
alone, and librdkafka clients, as in proxy.py. Printed, median and range of the rounds:
CPU-seconds of each bridge for each small record and for each GB, and what looking adds.
First, without any of these, what it adds to taking a request: frames of Produce and
Fetch, as librdkafka sends them, through RequestFrames.
"""

import argparse
import statistics
import struct
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.bridge.core.counters import BridgeCounters  # noqa: E402 - path
from pipelines.bridge.proxy.frames.config_watch import WireWatch  # noqa: E402 - path
from pipelines.bridge.proxy.frames.line import Care, Line  # noqa: E402 - path
from pipelines.bridge.proxy.frames.request_frames import RequestFrames  # noqa: E402 - path
from pipelines.bridge.proxy.frames.versions import FETCH, PRODUCE  # noqa: E402 - path
from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from tests.bench.proxy import (  # noqa: E402 - path
    GB,
    LARGE,
    US,
    fetch,
    measure_latency,
    produce,
    spread,
)
from tests.support.bridge.base_ports import pick_base_port  # noqa: E402 - path
from tests.support.bridge.bridge_process import BridgeProcess  # noqa: E402 - path
from tests.support.bridge.proxy_support import ProxiedClients  # noqa: E402 - path

SAMPLE = 256
FRAMES = 200_000
WITHOUT, WITH = "without", "with"


class Client:
    """One that needs no login."""

    connection = None

    def is_named(self):
        return True


def cpu_seconds(pid):
    """Return what the threads of a process have run for; finer than clock ticks."""
    files = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(one.read_text().split()[0]) for one in files) / GB


def make_produce():
    """Return a Produce request of version 10 with one record of 100 bytes."""
    batch = struct.pack(
        ">qiibIhiqqqhii", 0, 161, 0, 2, 0, 0, 0, 1, 1, -1, -1, -1, 1
    ) + bytes(112)  # fmt: skip
    body = b"\0\0" + struct.pack(">hi", 1, 30_000)
    body += b"\2\6topic\2" + bytes(4) + bytes([len(batch) + 1 & 127 | 128, 1]) + batch
    return PRODUCE, 10, body + bytes(3)


def make_fetch():
    """Return a Fetch request of version 11 with 10 partitions."""
    body = struct.pack(">iiiibii", -1, 500, 1, 52_428_800, 0, 0, -1)
    partitions = struct.pack(">iiqqi", 0, 0, 7, -1, 1_048_576) * 10
    body += struct.pack(">i", 1) + b"\0\5topic" + struct.pack(">i", 10) + partitions
    return FETCH, 11, body + bytes(4) + bytes(2)


def make_frame(api_key, version, body):
    rest = struct.pack(">hhih", api_key, version, 7, 7) + b"rdkafka" + body
    return struct.pack(">i", len(rest)) + rest


def measure_frames(rounds):
    """Print the CPU of taking one request, in turn."""
    for name, made in (("Produce", make_produce()), ("Fetch", make_fetch())):
        frame = make_frame(*made)
        times = {WITHOUT: [], WITH: []}
        for _ in range(rounds):
            for which, values in times.items():
                values.append(time_frames(frame, is_watched=which == WITH))
        for which, values in times.items():
            print(f"{name:8} {which:8} us a request  {spread(values)}")
        print_added(times)


def time_frames(frame, *, is_watched):
    told = []
    watch = WireWatch(
        Client(), gap_limit=SAMPLE, counters=BridgeCounters(), tell=told.append
    )
    line = Line()
    cares = {PRODUCE: Care.PRODUCE} | ({FETCH: Care.FETCH} if is_watched else {})
    frames = RequestFrames(
        line,
        cares=cares,
        reader=None,
        find_address=None,
        to_broker=len,
        max_read_bytes=1,
        watch=watch if is_watched else None,
    )
    began = time.process_time()
    for _ in range(FRAMES):
        frames.receive(frame)
        line.popleft()
    took = time.process_time() - began
    assert len(told) == is_watched
    return took / FRAMES * US


def print_added(times):
    pairs = zip(times[WITHOUT], times[WITH], strict=True)
    added = [(one / other - 1) * 100 for other, one in pairs]
    medians = [statistics.median(times[one]) for one in (WITHOUT, WITH)]
    print(
        f"  added, % of each pair     {spread(added)}; of the medians "
        f"{(medians[1] / medians[0] - 1) * 100:.2f}",
        flush=True,
    )


class Bench:
    """One cluster, two bridges, and what was measured."""

    def __init__(self, direct, bridges):
        self.clients = ProxiedClients(direct)
        self.direct = direct
        self.bridges = bridges

    def measure(self, name, rounds, work):
        """Print the CPU of the bridges for some work; it returns how much there was."""
        times = {WITHOUT: [], WITH: []}
        for number in range(rounds):
            # What comes first may find the caches cold.
            for which in (WITHOUT, WITH) if number % 2 else (WITH, WITHOUT):
                servers, pid = self.bridges[which]
                cpu = cpu_seconds(pid)
                amount = work(servers)
                times[which].append((cpu_seconds(pid) - cpu) / amount)
        for which, values in times.items():
            print(f"{name} {which:8}  {spread(values)}")
        print_added(times)

    def run(self, rounds, seconds, megabytes):
        topic = self.clients.create_topic(1, 1)
        for servers, _ in self.bridges.values():
            measure_latency(servers, topic, 1)
        self.measure(
            "us a record      ",
            rounds,
            lambda servers: measure_latency(servers, topic, seconds)[1] / US,
        )
        count = int(megabytes * 1e6 / len(LARGE))
        size = count * len(LARGE) / GB
        full = self.clients.create_topic(1, 1)
        produce(self.direct, full, count)

        def write(servers):
            name = self.clients.create_topic(1, 1)
            produce(servers, name, count)
            self.clients.admin.delete_topics([name])[name].result()
            return size

        def read(servers):
            fetch(servers, full, count)
            return size

        self.measure("CPU-s/GB produced", rounds, write)
        self.measure("CPU-s/GB fetched ", rounds, read)


def folder_of(folder, which):
    path = Path(folder) / which
    path.mkdir()
    return path


def parse_arguments(description, *more):
    """Return how long and how often; `more` are the names of flags."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--megabytes", type=float, default=200)
    for name in more:
        parser.add_argument(name, action="store_true")
    return parser.parse_args()


def compare_bridges(arguments, setting_of):
    """Measure two bridges in turn; setting_of says by what setting they differ."""
    with EmbeddedKafka() as kafka, tempfile.TemporaryDirectory() as folder:
        bridges, running = {}, []
        try:
            for which in (WITHOUT, WITH):
                port = pick_base_port()
                bridge = BridgeProcess(
                    folder_of(folder, which),
                    kafka.bootstrap_servers,
                    "telemetry",
                    "proxy.enabled=true",
                    f"proxy.base_port={port}",
                    setting_of(which),
                )
                running.append(bridge)
                bridge.start()
                bridges[which] = (f"127.0.0.1:{port}", bridge.pid)
            bench = Bench(kafka.bootstrap_servers, bridges)
            bench.run(arguments.rounds, arguments.seconds, arguments.megabytes)
        finally:
            for bridge in running:
                bridge.close()


def main():
    arguments = parse_arguments(__doc__)
    measure_frames(arguments.rounds)
    compare_bridges(
        arguments, lambda which: f"proxy.wire_configs={str(which == WITH).lower()}"
    )


if __name__ == "__main__":
    main()
