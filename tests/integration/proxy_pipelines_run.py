"""Random pipelines with a bad request somewhere: does the proxy answer as the broker?

Usage: python tests/integration/proxy_pipelines_run.py [--pipelines 10000] [--seed N]

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

import crc32c  # noqa: E402 - path

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from tests.integration.bridge_support import running_bridge  # noqa: E402 - path
from tests.integration.config_support import read_topic  # noqa: E402 - path
from tests.integration.proxy_support import (  # noqa: E402 - path
    ProxiedClients,
    ask_in_bytes,
    find_servers,
    proxy_settings,
    write_all,
)

PRODUCE, FETCH, LIST_OFFSETS, METADATA, FIND_COORDINATOR = 0, 1, 2, 3, 10
API_VERSIONS, DESCRIBE_CLUSTER, GET = 18, 60, 71
FIRST_FLEXIBLE = {
    PRODUCE: 9, FETCH: 12, LIST_OFFSETS: 6, METADATA: 9, FIND_COORDINATOR: 3,
    API_VERSIONS: 3, DESCRIBE_CLUSTER: 0, GET: 0,
}  # fmt: skip
END_S = 20.0
"""A connection that has not ended by then is kept open."""
WORKERS = 4
FEWEST_CLOSED = ("sizes", "cut", "version", "unknown", "own", "newer", "unanswered")
NO_ERROR_NO_OFFSETS = b"\0\0"


def string(text, *, is_compact):
    data = text.encode()
    head = bytes([len(data) + 1]) if is_compact else struct.pack(">h", len(data))
    return head + data


def request(api_key, version, body, correlation_id, client_id="pipelines"):
    head = struct.pack(">hhi", api_key, version, correlation_id)
    head += string(client_id, is_compact=False)
    is_flexible = version >= FIRST_FLEXIBLE.get(api_key, 99)
    return head + (b"\0" if is_flexible else b"") + body


def make_batch(value):
    """Return a record batch of one record, not compressed."""
    content = struct.pack(">bbbb", 0, 0, 0, 1) + bytes([2 * len(value)]) + value + b"\0"
    record = bytes([2 * len(content)]) + content
    sealed = struct.pack(">hiqqqhii", 0, 0, 0, 0, -1, -1, -1, 1) + record
    checked = struct.pack(">ibI", 0, 2, crc32c.crc32c(sealed)) + sealed
    return struct.pack(">qi", 0, len(checked)) + checked


def produce(rng, topic, *, acks=None):
    version = rng.choice((3, 7, 8, 9, 11, 12))
    is_compact = version >= 9
    acks = rng.choice((0, 1, -1, 1, -1)) if acks is None else acks
    batch = make_batch(b"%08x" % rng.getrandbits(32))
    one = struct.pack(">h", acks) + struct.pack(">i", 5_000)
    name = string(topic, is_compact=is_compact)
    if not is_compact:
        body = (
            b"\xff\xff" + one + struct.pack(">i", 1) + name + struct.pack(">ii", 1, 0)
        )
        return PRODUCE, version, body + struct.pack(">i", len(batch)) + batch
    # A length takes two bytes here.
    length = len(batch) + 1
    records = bytes([length & 0x7F | 0x80, length >> 7]) + batch
    return (
        PRODUCE,
        version,
        b"\0" + one + b"\2" + name + b"\2" + bytes(4) + records + bytes(3),
    )


def fetch(rng, topic):
    version = rng.choice((4, 7, 11, 12))
    is_compact = version >= 12
    body = struct.pack(">iiiib", -1, 0, 0, 1_000, 0)
    body += struct.pack(">ii", 0, -1) if version >= 7 else b""
    name = string(topic, is_compact=is_compact)
    place = struct.pack(">q", rng.randrange(3))
    one = bytes(4) + (struct.pack(">i", -1) if version >= 9 else b"") + place
    one += struct.pack(">i", -1) if version >= 12 else b""
    one += struct.pack(">q", -1) if version >= 5 else b""
    one += struct.pack(">i", 500)
    if is_compact:
        return FETCH, version, body + b"\2" + name + b"\2" + one + bytes(2) + b"\1\1\0"
    body += struct.pack(">i", 1) + name + struct.pack(">i", 1) + one
    body += bytes(4) if version >= 7 else b""
    return FETCH, version, body + (b"\0\0" if version >= 11 else b"")


def metadata(rng, topic):
    version = rng.choice((1, 4, 8, 9, 12))
    flags = 0 if version < 4 else 3 if 8 <= version <= 10 else 2 if version > 10 else 1
    if version < 9:
        name = string(topic, is_compact=False)
        return METADATA, version, struct.pack(">i", 1) + name + bytes(flags)
    one = (bytes(16) if version >= 10 else b"") + string(topic, is_compact=True) + b"\0"
    return METADATA, version, b"\2" + one + bytes(flags) + b"\0"


def find_coordinator(rng, _topic):
    version = rng.choice((2, 3, 4))
    key = string("a-group", is_compact=version >= 3)
    if version == 4:
        return FIND_COORDINATOR, 4, b"\0\2" + key + b"\0"
    return FIND_COORDINATOR, version, key + b"\0" + (b"\0" if version == 3 else b"")


def describe_cluster(rng, _topic):
    version = rng.randrange(2)
    return DESCRIBE_CLUSTER, version, b"\0" + (b"\1" if version else b"") + b"\0"


def list_offsets(_rng, topic):
    body = struct.pack(">ibi", -1, 0, 1) + string(topic, is_compact=False)
    return LIST_OFFSETS, 2, body + struct.pack(">iiq", 1, 0, -2)


def api_versions(rng, _topic):
    version = rng.choice((0, 2, 3, 99))
    named = string("me", is_compact=True) + string("1.0", is_compact=True) + b"\0"
    return API_VERSIONS, version, named if version == 3 else b""


def get_telemetry(_rng, _topic):
    return GET, 0, bytes(17)


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
        kinds = (self.sizes, self.cut, self.version, self.unknown, self.own_bad,
                 self.newer, self.unanswered)  # fmt: skip
        bad = rng.choice(kinds)
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


def framed(content):
    return struct.pack(">i", len(content)) + content


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


def split(data):
    """Return the answers of a connection, by their correlation ids, in order."""
    answers, at = [], 0
    while at < len(data):
        size, correlation_id = struct.unpack_from(">ii", data, at)
        content = data[at + 8 : at + 4 + size]
        assert len(content) == size - 4, "an answer was cut off"
        answers.append((correlation_id, content))
        at += 4 + size
    return answers


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


def split_requests(data):
    """Return API key, version and correlation id of each whole request."""
    heads, at = [], 0
    while at + 12 <= len(data):
        size, *head = struct.unpack_from(">ihhi", data, at)
        heads.append(tuple(head))
        at += 4 + max(size, 0)
    return heads


def parse_address(servers):
    host, _, port = servers.partition(",")[0].rpartition(":")
    return host, int(port)


def run(count, seed, java="java"):
    """Compare so many pipelines; return the comparisons and records of topics."""
    with EmbeddedKafka(java=java) as kafka:
        settings = proxy_settings(kafka)
        with running_bridge(settings) as (server, _endpoint):
            return compare(kafka, find_servers(server), count, seed)


def compare(kafka, servers, count, seed):
    """Compare pipelines in some threads, each with topics of its own."""
    clients = ProxiedClients(kafka.bootstrap_servers)
    read = clients.create_topic(1, 1)
    write_all(clients.producer("p"), read, [b"one", b"two", b"three"])
    wait_for_coordinator(kafka)
    addresses = parse_address(kafka.bootstrap_servers), parse_address(servers)
    comparisons = [
        Comparison(
            random.Random(f"{seed}-{number}"),  # noqa: S311 - repeatable
            *addresses, read, [clients.create_topic(1, 1) for _ in range(2)],
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
    deadline = time.monotonic() + 180
    body = string("a-group", is_compact=False) + b"\0"
    while True:
        (answer,) = ask_in_bytes(kafka.bootstrap_servers, (FIND_COORDINATOR, 2, body))
        if answer[8:10] == NO_ERROR_NO_OFFSETS:
            return
        assert time.monotonic() < deadline
        time.sleep(0.1)


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
