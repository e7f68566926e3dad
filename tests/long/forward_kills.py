"""Forwarders and receivers are killed in turn: no point is lost, none is another one.

Usage: python tests/long/forward_kills.py [--seconds 600] [--clients 12]
       [--kill-every 3] [--site]

Client instances of two families push deltas and gauges; some of them end and come back
as others. With --site it is the clients of `demo --site` that push, through its proxy,
and one of them after the other is started anew. Two forwarders send them on, one as they are, one summed up, each to a
receiver of its own, and one of the four processes is killed every few seconds. Then the
job makes tables of the topic, and each row of client_metrics must have reached the
first receiver with the same instance, name, labels, time and value, and the second one
with the running sum of its series; nothing else may have.
"""

import argparse
import itertools
import os
import random
import subprocess
import sys
import tempfile
import time
import uuid
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from confluent_kafka import (  # noqa: E402 - path
    Consumer,
    ConsumerGroupTopicPartitions,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient  # noqa: E402 - path
from deltalake import DeltaTable  # noqa: E402 - path
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData  # noqa: E402 - path

from pipelines.demo.site import running_site  # noqa: E402 - path
from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from pipelines.forwarder.points import plain_label  # noqa: E402 - path
from tests.bench.generated_pushes import java_push, librdkafka_push  # noqa: E402 - path
from tests.support.jobs.job_support import create_topic  # noqa: E402 - path
from tests.support.kafka.java_home import find_java  # noqa: E402 - path
from tests.support.kafka.topics import wait_for  # noqa: E402 - path
from tests.support.metrics_receiver import read_kept  # noqa: E402 - path
from tests.support.spark.telemetry_records import make_headers  # noqa: E402 - path

TOPIC, PARTITIONS = "forward-kills", 3
SITE_TOPIC = "clientele.telemetry"
COLUMNS = [
    *("client_instance_id", "metric", "attributes", "time_unix_nano"),
    *("value_long", "value_double", "temporality", "push_id"),
    *("node_id", "node_role"),
]
MEMBER = "group_member_id"
PUSH_EVERY_S, PATIENCE_S = 0.5, 120
SHAPES = ((java_push, 36), (librdkafka_push, 13))
"""As many points as their generators give different series."""
KINDS = ("as_sent", "cumulative")
DICE = random.Random()  # noqa: S311 - kills at any moment
LAST_S = 20.0
"""What an instance lives, on average."""


def make_body(shape, push, points):
    """Return a push of a client that stays the member of its group."""
    data = MetricsData.FromString(shape(push, points))
    for one in data.resource_metrics:
        for attribute in one.resource.attributes:
            attribute.value.string_value = "constant"
    return data.SerializeToString()


def publish(servers, clients, until_s):
    """Push until it is time, as instances that end and come back as others.

    Returns how many points there are.
    """
    producer = Producer({"bootstrap.servers": servers, "acks": "all"})
    numbers = itertools.count()
    instances, pushed = {}, 0
    while time.monotonic() < until_s:
        is_last = DICE.random() < PUSH_EVERY_S / LAST_S
        for client in range(clients):
            push, (shape, points) = next(numbers), SHAPES[client % len(SHAPES)]
            instance = instances.setdefault(client, uuid.uuid4().hex[:22])
            headers = make_headers(
                client_instance_id=instance,
                client_id=f"app-{client}",
                push_id=str(uuid.uuid4()),
                terminating="true" if is_last else "false",
                compression_type="none",
            )
            body = make_body(shape, push, points)
            producer.produce(TOPIC, body, key=instance, headers=headers)
            pushed += points
            if is_last:
                del instances[client]
        producer.flush(PATIENCE_S)
        time.sleep(PUSH_EVERY_S)
    return pushed


def run_fleet(fleet, until_s):
    """Let the site's clients run until it is time, one after the other made anew."""
    names = itertools.cycle(tuple(fleet.running))
    while time.monotonic() < until_s:
        time.sleep(LAST_S)
        fleet.change(next(names))
    fleet.stop()


class Pair:
    """A forwarder and its receiver, each a process that may be killed."""

    def __init__(self, kind, source, folder, port):
        self.kind, self.kept = kind, folder / f"{kind}.taken"
        self.log = folder / f"{kind}.log"
        program = ROOT / "tests" / "support" / "metrics_receiver.py"
        sets = [
            f"kafka.bootstrap_servers={source.servers}",
            f"topics.telemetry={source.topic}",
            f"forward.group_id={kind}", f"forward.temporality={kind}",
            f"forward.endpoint=http://127.0.0.1:{port}/v1/metrics",
            f"forward.state_location={folder / kind}.sqlite", "forward.http_port=-1",
        ]  # fmt: skip
        self.commands = {
            "receiver": [sys.executable, str(program), str(port), str(self.kept)],
            "forwarder": [
                sys.executable, "-P", "-m", "pipelines", "forward",
                *itertools.chain.from_iterable(("--set", one) for one in sets),
            ],
        }  # fmt: skip
        self.running = {}

    def start(self, name):
        """Start the receiver or the forwarder."""
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        with self.log.open("ab") as log:
            self.running[name] = subprocess.Popen(
                self.commands[name], env=environ, stderr=log
            )

    def kill(self, name):
        """Kill it as the kernel would."""
        self.running[name].kill()
        self.running[name].wait()


def find_lag(source, group):
    """Return how many records a group has not committed."""
    admin = AdminClient({"bootstrap.servers": source.servers})
    partitions = admin.list_topics(source.topic).topics[source.topic].partitions
    places = [TopicPartition(source.topic, one) for one in partitions]
    asked = admin.list_consumer_group_offsets(
        [ConsumerGroupTopicPartitions(group, places)]
    )
    committed = asked[group].result(PATIENCE_S).topic_partitions
    consumer = Consumer({"bootstrap.servers": source.servers, "group.id": "lag"})
    try:
        ends = [consumer.get_watermark_offsets(one, PATIENCE_S)[1] for one in committed]
    finally:
        consumer.close()
    return sum(
        end - max(one.offset, 0) for end, one in zip(ends, committed, strict=True)
    )


def comparable(value):
    """Return a value as one that is equal to itself: a NaN is not."""
    return "NaN" if value != value else value  # noqa: PLR0124 - what a NaN is


def forwarded_attributes(row):
    """Return the labels that a receiver gets of a point, by its row in the table."""
    nodes = {name: row[name] for name in ("node_id", "node_role") if row[name]}
    return dict(row["attributes"]) | nodes


def read_table(source, folder):
    """Let the job make tables; return rows as (series, time, value, temporality).

    A client that becomes another member of its group begins its series anew.
    """
    sets = [
        f"kafka.bootstrap_servers={source.servers}",
        f"topics.telemetry={source.topic}",
        f"tables.root_path={folder}/tables",
        f"client_telemetry_to_delta.checkpoint_location={folder}/checkpoint",
    ]  # fmt: skip
    words = itertools.chain.from_iterable(("--set", one) for one in sets)
    subprocess.run(
        [str(ROOT / "spark-submit.sh"), "client_telemetry_to_delta", "--once", *words],
        check=True,
    )
    pushes = DeltaTable(f"{folder}/tables/client_pushes")
    told = pushes.to_pyarrow_table(columns=["push_id", MEMBER]).to_pylist()
    members = {one["push_id"]: one[MEMBER] or "" for one in told}
    table = DeltaTable(f"{folder}/tables/client_metrics")
    rows = table.to_pyarrow_table(columns=COLUMNS).to_pylist()
    return [
        (
            (
                (one["client_instance_id"], members[one["push_id"]]),
                one["metric"],
                tuple(sorted(forwarded_attributes(one).items())),
            ),
            one["time_unix_nano"],
            comparable(
                one["value_double"] if one["value_long"] is None else one["value_long"]
            ),
            one["temporality"],
        )
        for one in rows
    ]


def read_taken(path):
    """Return each point that a receiver took, and how many came again."""
    taken, again = set(), 0
    for request in read_kept(path):
        for one in request.resource_metrics:
            labels = {a.key: a.value.string_value for a in one.resource.attributes}
            # The second is librdkafka's name.
            member = labels.get(MEMBER) or labels.get("member_id") or ""
            client = (labels["client_instance_id"], member)
            for scope in one.scope_metrics:
                for metric in scope.metrics:
                    kind = metric.WhichOneof("data")
                    for point in getattr(metric, kind).data_points:
                        attributes = tuple(
                            sorted(
                                (
                                    plain_label(a.key),
                                    a.value.string_value or str(a.value.int_value),
                                )
                                for a in point.attributes
                            )
                        )
                        is_int = point.WhichOneof("value") == "as_int"
                        found = (
                            (client, metric.name, attributes),
                            point.time_unix_nano,
                            point.as_int if is_int else comparable(point.as_double),
                        )
                        again += found in taken
                        taken.add(found)
    return taken, again


def sum_up(rows):
    """Return what is to come of rows whose deltas are summed up."""
    series = defaultdict(list)
    for place, moment, value, temporality in rows:
        series[place].append((moment, value, temporality))
    expected = set()
    for place, points in series.items():
        whole, rest = 0, 0.0
        for moment, value, temporality in sorted(points):
            if temporality != "delta":
                expected.add((place, moment, value))
            elif isinstance(value, int):
                whole += value
                expected.add((place, moment, whole))
            else:
                rest += value
                expected.add((place, moment, rest))
    return expected


def kill_in_turn(pairs, until_s, every_s):
    """Kill one process after the other; return how many."""
    kills = 0
    for pair, name in itertools.cycle(
        itertools.product(pairs, ("forwarder", "receiver"))
    ):
        if time.monotonic() > until_s:
            return kills
        time.sleep(DICE.uniform(0.5, 1.5) * every_s)
        pair.kill(name)
        if name == "receiver":
            # Long enough for the forwarder to find nobody there.
            time.sleep(DICE.uniform(0, every_s))
        pair.start(name)
        kills += 1
    return kills


@dataclass(frozen=True)
class Source:
    """What is forwarded."""

    servers: str
    topic: str
    publish: Callable[[float], int | None]
    """Let clients push until a moment; how many points, where that is known."""


@contextmanager
def running_source(options, folder):
    """Run a broker for generated pushes, or the site."""
    if options.site:
        with running_site(find_java(), folder) as (kafka, _, fleet):
            yield Source(kafka.bootstrap_servers, SITE_TOPIC, partial(run_fleet, fleet))
        return
    with EmbeddedKafka(java=find_java()) as kafka:
        create_topic(kafka.bootstrap_servers, TOPIC, PARTITIONS)
        push = partial(publish, kafka.bootstrap_servers, options.clients)
        yield Source(kafka.bootstrap_servers, TOPIC, push)


def run_pairs(source, folder, options):
    """Forward while processes are killed; return the pairs, kills and pushed points."""
    base = DICE.randrange(20_000, 30_000)
    pairs = [Pair(kind, source, folder, base + n) for n, kind in enumerate(KINDS)]
    until_s = time.monotonic() + options.seconds
    with ThreadPoolExecutor(1) as beside:
        pushing = beside.submit(source.publish, until_s)
        try:
            for pair in pairs:
                for name in pair.commands:
                    pair.start(name)
            kills = kill_in_turn(pairs, until_s, options.kill_every)
            pushed = pushing.result()
            for kind in KINDS:
                wait_for(lambda kind=kind: find_lag(source, kind), lambda lag: lag == 0)
            for pair in pairs:
                pair.running["forwarder"].terminate()
                assert pair.running["forwarder"].wait(PATIENCE_S) == 0
        finally:
            for pair in pairs:
                for process in pair.running.values():
                    process.kill()
                    process.wait()
    return pairs, kills, pushed


def prove(source, folder, options):
    """Run everything; return what is wrong."""
    pairs, kills, pushed = run_pairs(source, folder, options)
    rows = read_table(source, folder)
    wrong = [] if pushed in {None, len(rows)} else [f"{len(rows)} rows in the table"]
    expected = {"as_sent": {one[:3] for one in rows}, "cumulative": sum_up(rows)}
    for pair in pairs:
        taken, again = read_taken(pair.kept)
        missing, other = expected[pair.kind] - taken, taken - expected[pair.kind]
        print(
            f"{pair.kind}: {len(taken):,} points of {len(expected[pair.kind]):,}, "
            f"{again:,} came again, {len(missing)} are missing, {len(other)} are others"
        )
        wrong += [str(one) for one in itertools.islice(missing | other, 3)]
    instances = {place[0][0] for place, *_ in rows}
    print(
        f"{kills} kills in {options.seconds:.0f} s; {len(rows):,} rows of "
        f"client_metrics of {len(instances)} client instances"
    )
    return wrong


def main():
    """Prove it; 1 where something is missing or other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--clients", type=int, default=12)
    parser.add_argument("--kill-every", type=float, default=3)
    parser.add_argument("--site", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with running_source(options, folder) as source:
            wrong = prove(source, folder, options)
    print("\n".join(wrong) or "as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
