"""Broken clients on a real cluster behind the proxy, and the findings of each.

`python -m tests.long.broken_clients [--seconds 150] [--only NAME ...]`: starts three
brokers, the bridge as a proxy, and clients with one fault each, runs every job, and
prints the open findings of each client. Exits with 1 if a client lacks the finding that
it must have. The clients are stock librdkafka and Java clients, so only the proxy
infers their configuration.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import (
    Consumer,
    KafkaException,
    Producer,
    TopicPartition,
)
from py4j.protocol import Py4JJavaError

from pipelines.demo import site
from pipelines.demo.clients import create_topics, expect_error, make_quiet
from pipelines.demo.java_clients import JavaClients
from pipelines.demo.parts import running_bridge, say
from pipelines.embedded import EmbeddedKafka
from tests.support.kafka.java_home import find_java
from tests.support.spark.local_session import start_session

TOPICS = {"orders": 3, "mirror": 3}
GAP_S, GAP_MS = 8.0, "6000"
"""Seconds between two polls, and the poll interval that they exceed."""
PADDING = "a compressible value, "


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A client with a fault."""

    name: str
    """Its client.id."""
    run: Callable[["Scene"], None]
    """Runs until Scene.stop is set."""
    rule: str
    """The finding that it must have; of several by `|` one."""
    threads: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a broken client works with."""

    name: str
    servers: str
    java: JavaClients
    stop: threading.Event

    def configs(self, **configs):
        """Return the configuration of the client."""
        own = {"bootstrap.servers": self.servers, "client.id": self.name}
        return own | {key.replace("_", "."): value for key, value in configs.items()}

    def make(self, kind, **configs):
        """Return a librdkafka client."""
        quiet = {"logger": make_quiet(), "error_cb": expect_error}
        return kind({**self.configs(**configs), **quiet})


def poll_late(scene):
    group = {"group_id": scene.name, "max_poll_interval_ms": GAP_MS}
    consumer = scene.make(Consumer, **group, session_timeout_ms="6000")
    consumer.subscribe(["orders"])
    while not scene.stop.is_set():
        for _ in range(20):
            consumer.poll(0.2)
        scene.stop.wait(GAP_S)
    consumer.close()


def poll_late_java(scene):
    configs = scene.configs(group_id=scene.name, max_poll_interval_ms=GAP_MS)
    consumer = scene.java.make_consumer(configs, "orders")
    while not scene.stop.is_set():
        scene.java.poll(consumer, 200)
        scene.stop.wait(GAP_S)
    consumer.close()


def let_records_expire(scene):
    # A leader that accepts no connection of this client in time.
    producer = scene.make(Producer, message_timeout_ms="30", linger_ms="20")
    while not scene.stop.is_set():
        for _ in range(50):
            producer.produce("orders", PADDING * 20_00)
        producer.poll(0.1)


def time_out_java(scene):
    configs = scene.configs(
        request_timeout_ms="3", delivery_timeout_ms="10", linger_ms="0"
    )
    producer = scene.java.make_producer(configs)
    while not scene.stop.is_set():
        scene.java.send(producer, "orders", "k", PADDING)
        time.sleep(0.05)
    producer.close()


def fence_each_other(scene):
    while not scene.stop.is_set():
        producer = scene.make(Producer, transactional_id="the-only-one")
        try:
            producer.init_transactions(20)
            for _ in range(4):
                producer.begin_transaction()
                producer.produce("orders", PADDING)
                producer.commit_transaction(20)
                scene.stop.wait(0.5)
        except KafkaException:
            scene.stop.wait(0.2)


def make_a_producer_for_each_record(scene):
    while not scene.stop.is_set():
        producer = scene.make(Producer)
        producer.produce("orders", PADDING)
        producer.flush(10)
        scene.stop.wait(0.5)


def send_uncompressed_java(scene):
    producer = scene.java.make_producer(scene.configs(compression_type="none"))
    value = PADDING * 500
    while not scene.stop.is_set():
        for _ in range(25):
            scene.java.send(producer, "mirror", "k", value)
        time.sleep(0.2)
    producer.close()


def join_with_another_assignor(scene):
    strategy = "range" if scene.name.endswith("1") else "cooperative-sticky"
    consumer = scene.make(
        Consumer, group_id="assignors", partition_assignment_strategy=strategy
    )
    consumer.subscribe(["mirror"])
    while not scene.stop.is_set():
        consumer.poll(0.2)
    consumer.close()


def send_to_no_topic_java(scene):
    producer = scene.java.make_producer(scene.configs(max_block_ms="2000"))
    while not scene.stop.is_set():
        try:
            scene.java.send(producer, "no topic", "k", PADDING)
        except Py4JJavaError:
            time.sleep(0.2)
    producer.close()


def share_three_partitions(scene):
    consumers = [scene.make(Consumer, group_id="crowd") for _ in range(5)]
    for one in consumers:
        one.subscribe(["orders"])
    while not scene.stop.is_set():
        for one in consumers:
            one.poll(0.1)
    for one in consumers:
        one.close()


def work_well(scene):
    producer = scene.make(Producer, acks="all", enable_idempotence="true")
    consumer = scene.make(Consumer, group_id="healthy", auto_offset_reset="earliest")
    consumer.assign([TopicPartition("orders", 0)])
    while not scene.stop.is_set():
        producer.produce("orders", PADDING, partition=0)
        producer.poll(0)
        consumer.poll(0.05)
    producer.flush(10)
    consumer.close()


FAULTS = (
    Broken(
        name="late-librdkafka",
        run=poll_late,
        rule="consumer-poll-interval-short|consumer-misses-poll-interval",
    ),
    Broken(name="late-java", run=poll_late_java, rule="consumer-poll-interval-at-risk"),
    Broken(name="expires", run=let_records_expire, rule="producer-gives-up-early"),
    Broken(name="times-out", run=time_out_java, rule="request-timeout-too-short"),
    Broken(
        name="fenced",
        run=fence_each_other,
        rule="instances-share-an-identity|producers-fence-each-other",
        threads=2,
    ),
    Broken(
        name="one-record",
        run=make_a_producer_for_each_record,
        rule="client-recreated-often",
    ),
    Broken(
        name="uncompressed",
        run=send_uncompressed_java,
        rule="producer-compression-mismatch|producer-sends-uncompressed",
    ),
    Broken(
        name="assignor-1",
        run=join_with_another_assignor,
        rule="group-members-without-common-assignor",
    ),
    Broken(
        name="assignor-2",
        run=join_with_another_assignor,
        rule="group-members-without-common-assignor",
    ),
    Broken(name="no-topic", run=send_to_no_topic_java, rule="producer-records-failing"),
    Broken(
        name="crowd", run=share_three_partitions, rule="consumer-without-partitions"
    ),
    Broken(name="healthy", run=work_well, rule=""),
)


def run_faults(servers, java, faults, seconds):
    """Run the clients for a while; return the names of those that ended early."""
    stop = threading.Event()
    threads = []
    for one in faults:
        scene = Scene(name=one.name, servers=servers, java=java, stop=stop)
        threads += [
            threading.Thread(target=one.run, args=[scene], name=one.name, daemon=True)
            for _ in range(one.threads)
        ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(1)
    ended = sorted({one.name for one in threads if not one.is_alive()})
    return stop, threads, ended


def print_findings(spark, faults):
    """Print the open findings of each client; return the clients that lack theirs."""
    rows = spark.sql(
        "SELECT rule, severity, sentence, client_id, group_id, entity FROM ("
        "SELECT *, logical_client AS entity FROM client_findings WHERE until IS NULL)"
    ).collect()
    lacking = []
    for one in faults:
        own = [
            row
            for row in rows
            if one.name in {row["client_id"], row["group_id"]}
            or one.name.split("-")[0] in str(row["entity"])
            or one.name.split("-")[0] in row["sentence"]
        ]
        found = {row["rule"] for row in own}
        wanted = {*filter(None, one.rule.split("|"))}
        is_right = not wanted or bool(found & wanted)
        print(f"\n{one.name}: wants {one.rule or 'nothing'}: {is_right}")
        for row in own:
            print(f"  {row['severity']:8} {row['rule']}: {row['sentence']}")
        if not is_right:
            lacking.append(one.name)
    return lacking


def main():
    """Run everything; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--only", nargs="*", default=[])
    asked = parser.parse_args()
    faults = [one for one in FAULTS if not asked.only or one.name in asked.only]
    java_path = find_java()
    with ExitStack() as services:
        folder = Path(services.enter_context(tempfile.TemporaryDirectory()))
        kafka = services.enter_context(EmbeddedKafka(3, java=java_path))
        settings = site.make_settings(kafka.bootstrap_servers, folder)
        servers = services.enter_context(running_bridge(settings))
        create_topics(servers, TOPICS, 3)
        java = JavaClients(java_path)
        services.callback(java.close)
        say(f"{len(faults)} clients run for {asked.seconds:.0f} s")
        stop, threads, ended = run_faults(servers, java, faults, asked.seconds)
        spark = start_session(folder / "warehouse")
        # While they run: findings are about active instances.
        site.make_tables(spark, settings)
        lacking = print_findings(spark, faults)
        stop.set()
        for thread in threads:
            thread.join(20)
        print(f"\nended early: {ended}; without their finding: {lacking}")
    sys.stdout.flush()
    os._exit(1 if lacking else 0)


if __name__ == "__main__":
    main()
