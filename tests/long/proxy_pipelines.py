"""Random pipelines with a bad request somewhere: does the proxy answer as the broker?

Usage: python tests/long/proxy_pipelines.py [--pipelines 10000] [--seed N]

A real broker and a bridge in front of it. Each pipeline is written at once, to the broker
and to the proxy: good requests, one that ends the connection, and more. Compared are all
bytes that come back until the end of the connection, but for the proxy's addresses and
what ApiVersions offers; and, of each topic, the records that arrived. Requests of
telemetry stand in what the proxy gets alone, and must be answered in their places.
"""

import argparse
import random
import socket
import struct
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from tests.support.bridge.bridge_support import running_bridge  # noqa: E402 - path
from tests.support.bridge.config_support import read_topic  # noqa: E402 - path
from tests.support.bridge.pipeline_requests import (  # noqa: E402 - path
    API_VERSIONS,
    FETCH,
    FIND_COORDINATOR,
    GET,
    METADATA,
    api_versions,
    describe_cluster,
    fetch,
    find_coordinator,
    framed,
    get_telemetry,
    list_offsets,
    metadata,
    produce,
    request,
    split,
    split_requests,
    string,
)
from tests.support.bridge.proxy_support import (  # noqa: E402 - path
    ProxiedClients,
    ask_in_bytes,
    proxy_settings,
    write_all,
)
from tests.support.kafka.topics import wait_for  # noqa: E402 - path

END_S = 20.0
"""A connection that has not ended by then is kept open."""
WORKERS = 4
BAD = ("sizes", "cut", "version", "unknown", "own_bad", "newer", "unanswered")
"""The kinds of bad requests, each a method of Pipelines."""
NO_ERROR = b"\0\0"


@dataclass
class Pipeline:
    """What is sent to the broker, and to the proxy."""

    kind: str
    direct: bytes = b""
    proxied: bytes = b""
    own: list = field(default_factory=list)
    """Correlation ids of what the proxy alone is asked."""
    own_behind: list = field(default_factory=list)
    """Those behind the bad one: the proxy has answered before the broker closes."""
    offers: set = field(default_factory=set)
    """Those of ApiVersions."""


class Pipelines:
    """Makes pipelines; what is read is in one topic, what is written in two."""

    def __init__(self, rng, read_topic, topics):
        self.rng, self.read_topic, self.topics = rng, read_topic, topics
        self.makers = (fetch, metadata, find_coordinator, describe_cluster, list_offsets,
                       api_versions)  # fmt: skip

    def make(self):
        rng = self.rng
        bad = getattr(self, rng.choice(BAD))
        pipeline = Pipeline(bad.__name__)
        for number in range(rng.randrange(20)):
            self.add_good(pipeline, number)
        self.add(pipeline, *bad(1_000))
        for number in range(2_000, 2_000 + rng.randrange(4)):
            self.add_good(pipeline, number, is_behind=True)
        return pipeline

    def add(self, pipeline, direct, proxied):
        pipeline.direct += direct
        pipeline.proxied += proxied

    def add_good(self, pipeline, number, *, is_behind=False):
        rng = self.rng
        if rng.random() < 0.15:
            (pipeline.own_behind if is_behind else pipeline.own).append(number)
            self.add(pipeline, b"", framed(request(*get_telemetry(rng, ""), number)))
        elif rng.random() < 0.4:
            seed = rng.random()
            self.add(
                pipeline,
                *(
                    framed(request(*produce(random.Random(seed), topic), number))  # noqa: S311 - repeatable
                    for topic in self.topics
                ),
            )
        else:
            api_key, version, body = rng.choice(self.makers)(rng, self.read_topic)
            if api_key == API_VERSIONS:
                pipeline.offers.add(number)
            padding = rng.randbytes(rng.choice((0, 0, 0, 5)))
            one = framed(request(api_key, version, body + padding, number))
            self.add(pipeline, one, one)

    def sizes(self, _number):
        size = self.rng.choice((-1, 0, 7, 1, 9, -(2**31)))
        # Brokers wait for what they are told to; the proxy does not.
        one = struct.pack(">i", size) + bytes(max(size, 0))
        return one, one

    def cut(self, number):
        """Return a request that ends before its last field does."""
        maker = self.rng.choice((*self.makers[:-1], produce))
        api_key, version, body = maker(self.rng, self.read_topic)
        # From a Produce request, what stands before acks goes with it, now and then.
        whole = request(api_key, version, body, number)
        left = self.rng.choice((0, 1, 2, len(body) // 2, len(body) - 1))
        one = framed(whole[: len(whole) - len(body) + min(left, len(body) - 1)])
        return one, one

    def version(self, number):
        maker = self.rng.choice((*self.makers[:-1], produce))
        api_key, _, body = maker(self.rng, self.read_topic)
        one = framed(request(api_key, self.rng.choice((99, 1_000)), body, number))
        return one, one

    def unknown(self, number):
        one = framed(request(self.rng.choice((999, -5)), 0, bytes(30), number))
        return one, one

    def own_bad(self, number):
        """Return a bad request of telemetry; the broker gets another one."""
        body, version = self.rng.choice(((bytes(9), 0), (b"", 0), (bytes(17), 99)))
        direct = framed(request(METADATA, 99, b"", number))
        return direct, framed(request(GET, version, body, number))

    def newer(self, number):
        """Return a version that brokers know and the proxy does not offer."""
        direct = framed(request(METADATA, 99, b"", number))
        return direct, framed(request(FETCH, self.rng.choice((16, 17)), b"", number))

    def unanswered(self, number):
        """Return Produce without acks to where nothing can be written."""
        one = request(*produce(self.rng, "not/a/topic", acks=0), number)
        return framed(one), framed(one)


def send(address, data):
    """Send all at once; return all answers until the end of the connection."""
    received = bytearray()
    with socket.create_connection(address, END_S) as one:
        one.sendall(data)
        deadline = time.monotonic() + END_S
        try:
            while time.monotonic() < deadline:
                some = one.recv(262_144)
                if not some:
                    break
                received += some
        except ConnectionResetError:
            pass
    return split(bytes(received))


class Comparison:
    """One broker and the proxy before it, as one worker compares them."""

    def __init__(self, rng, direct, proxied, read_topic, topics):
        self.addresses = direct, proxied
        self.pipelines = Pipelines(rng, read_topic, topics)
        self.topics = topics
        self.answers = 0
        self.kinds = Counter()

    def run_one(self):
        """Send one pipeline to both. Raises: AssertionError where they differ."""
        pipeline = self.pipelines.make()
        try:
            direct = send(self.addresses[0], pipeline.direct)
            proxied = send(self.addresses[1], pipeline.proxied)
        except TimeoutError:
            asked = split_requests(pipeline.proxied)
            raise AssertionError(f"{pipeline.kind}: kept open: {asked}") from None
        all_own = {*pipeline.own, *pipeline.own_behind}
        own = [one for one, _ in proxied if one in set(pipeline.own)]
        others = [one for one in proxied if one[0] not in all_own]
        wanted = [self.translate(one, pipeline) for one in direct]
        got = [self.translate(one, pipeline) for one in others]
        assert got == wanted, describe_difference(pipeline, wanted, got)
        assert own == pipeline.own, describe_difference(pipeline, pipeline.own, own)
        assert [one for one, _ in proxied] == sorted(one for one, _ in proxied)
        self.answers += len(proxied)
        self.kinds[pipeline.kind] += 1

    def translate(self, answer, pipeline):
        """Return an answer with the proxy's address; of offers only what they begin with."""
        correlation_id, content = answer
        if correlation_id in pipeline.offers:
            return correlation_id, content[:2]
        host, (port, told) = b"127.0.0.1", (one[1] for one in self.addresses)
        content = content.replace(
            host + struct.pack(">i", port), host + struct.pack(">i", told)
        )
        return correlation_id, content.replace(*(one.encode() for one in self.topics))


def describe_difference(pipeline, wanted, got):
    same = sum(
        1
        for _ in takewhile(lambda two: two[0] == two[1], zip(wanted, got, strict=False))
    )
    return (
        f"{pipeline.kind}: {len(wanted)} answers of the broker, {len(got)} of the proxy, "
        f"the first {same} are the same; then {wanted[same:][:1]} and {got[same:][:1]} "
        f"of {split_requests(pipeline.proxied)}"
    )


def parse_address(servers):
    host, _, port = servers.partition(",")[0].rpartition(":")
    return host, int(port)


def find_broker(server):
    """Return the proxy's address of the broker, which is what answers name."""
    return f"127.0.0.1:{server.proxy.brokers.known[1].port}"


def run(count, seed, java="java"):
    """Compare so many pipelines; return the comparisons and records of topics."""
    with EmbeddedKafka(java=java) as kafka:
        settings = proxy_settings(kafka)
        with running_bridge(settings) as (server, _endpoint):
            return compare(kafka, find_broker(server), count, seed)


def compare(kafka, servers, count, seed):
    """Compare pipelines in some threads, each with topics of its own."""
    clients = ProxiedClients(kafka.bootstrap_servers)
    read = clients.create_topic(1, 1)
    write_all(clients.producer("p"), read, [b"one", b"two", b"three"])
    wait_for_coordinator(kafka)
    addresses = parse_address(kafka.bootstrap_servers), parse_address(servers)

    def make_topic():
        # The records are of 1970.
        return clients.create_topic(1, 1, **{"retention.ms": "-1"})

    comparisons = [
        Comparison(
            random.Random(f"{seed}-{number}"),  # noqa: S311 - repeatable
            *addresses, read, [make_topic() for _ in range(2)],
        )
        for number in range(WORKERS)
    ]  # fmt: skip
    left, lock = iter(range(count)), threading.Lock()

    def work(comparison):
        while True:
            with lock:
                if next(left, None) is None:
                    return
            comparison.run_one()

    with ThreadPoolExecutor(WORKERS) as executor:
        for done in [executor.submit(work, one) for one in comparisons]:
            done.result()
    stored = [
        [
            [record.value() for record in read_topic(kafka, topic)]
            for topic in one.topics
        ]
        for one in comparisons
    ]
    return comparisons, stored


def wait_for_coordinator(kafka):
    """Ask for a coordinator until there is one: the first who asks makes its topic."""
    asked = FIND_COORDINATOR, 2, string("a-group", is_compact=False) + b"\0"
    wait_for(
        lambda: ask_in_bytes(kafka.bootstrap_servers, asked)[0][8:10],
        lambda error_code: error_code == NO_ERROR,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pipelines", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=random.randrange(10**9))  # noqa: S311 - printed
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    comparisons, stored = run(arguments.pipelines, arguments.seed)
    kinds = sum((one.kinds for one in comparisons), Counter())
    records = sum(len(direct) for direct, _ in stored)
    is_same = all(direct == proxied for direct, proxied in stored)
    print(
        f"{sum(kinds.values())} pipelines {dict(kinds)}: "
        f"{sum(one.answers for one in comparisons)} answers as the broker's, "
        f"{records} records {'the same' if is_same else 'DIFFER'}"
    )
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main())
