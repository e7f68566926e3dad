"""Broken clients on a real cluster behind the proxy, and the findings of each.

`python -m tests.long.broken_clients [--seconds 150] [--only NAME ...]`: starts three
brokers, the bridge as a proxy, and clients with one fault each, runs every job, and
prints the open findings of each client, and why a rule was not evaluated if no metric
or configuration can show the fault. Exits with 1 if a client lacks its finding or its
message. Most clients are stock librdkafka and Java clients, so only the proxy infers
their configuration.
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
from functools import partial
from pathlib import Path

from confluent_kafka import (
    Consumer,
    KafkaException,
    Producer,
    TopicPartition,
)
from py4j.protocol import Py4JJavaError

from pipelines import clients
from pipelines.demo import site
from pipelines.demo.clients import create_topics, expect_error, make_quiet
from pipelines.demo.java_clients import JavaClients
from pipelines.demo.parts import running_bridge, say
from pipelines.embedded import EmbeddedKafka
from pipelines.embedded.installation import JARS_PATH
from pipelines.reading.rule_coverage import (
    SOFTWARE,
    explain_lack,
    select_rule_coverage,
    sum_up_coverage,
)
from tests.support.clients.java_clients import SPARK_JARS_PATH
from tests.support.kafka.java_home import find_java
from tests.support.spark.local_session import start_session

TOPICS = {"orders": 3, "mirror": 3}
GAP_S, GAP_MS = 8.0, "6000"
"""Seconds between two polls, and the poll interval that they exceed."""
PADDING = "a compressible value, "
OLD_JAR = "kafka-clients-3.9.2.jar"
"""Of a release that Kafka no longer supports; Spark's jars contain it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A client with a fault."""

    name: str
    """Its client.id."""
    run: Callable[["Scene"], None]
    """Runs until Scene.stop is set."""
    rule: str = ""
    """The finding that it must have; of several by `|` one."""
    unable: str = ""
    """The rule that does not exist for its software, for producers of librdkafka."""
    entity: str = ""
    """What a finding names if it is about more than one client."""
    threads: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a broken client works with."""

    name: str
    servers: str
    java: JavaClients
    old_java: JavaClients
    """With clients of a release that is no longer supported."""
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
    # The linger time alone uses up most of the time that a record has.
    kind = clients.Producer if scene.name.endswith("library") else Producer
    producer = scene.make(kind, message_timeout_ms="30", linger_ms="20")
    while not scene.stop.is_set():
        for _ in range(5):
            producer.produce("orders", PADDING * 2_000)
        producer.poll(0)
        scene.stop.wait(0.1)


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
            scene.stop.wait(1)


def make_a_producer_for_each_record(scene):
    while not scene.stop.is_set():
        producer = scene.make(Producer)
        producer.produce("orders", PADDING)
        producer.flush(10)
        scene.stop.wait(0.5)


def send_uncompressed_java(scene):
    producer = scene.java.make_producer(scene.configs(compression_type="none"))
    # Few large records, so that a busy machine also sends more than the rule's limit.
    value = PADDING * 5_000
    while not scene.stop.is_set():
        for _ in range(5):
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


def send_from_old_java(scene):
    producer = scene.old_java.make_producer(scene.configs(acks="all"))
    while not scene.stop.is_set():
        scene.old_java.send(producer, "orders", "k", PADDING)
        time.sleep(0.5)
    producer.close()


def share_three_partitions(scene):
    consumers = [scene.make(Consumer, group_id="crowd") for _ in range(5)]
    for one in consumers:
        one.subscribe(["orders"])
    while not scene.stop.is_set():
        for one in consumers:
            one.consume(1_000, 0.1)
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
        scene.stop.wait(0.05)
    producer.flush(10)
    consumer.close()


FAULTS = (
    Broken(
        name="late-librdkafka",
        run=poll_late,
        rule="consumer-poll-interval-short|consumer-misses-poll-interval",
    ),
    Broken(name="late-java", run=poll_late_java, rule="consumer-poll-interval-at-risk"),
    # A stock client pushes no configuration, and no request contains its timeout.
    Broken(name="expires", run=let_records_expire, unable="producer-records-failing"),
    Broken(
        name="hasty-library", run=let_records_expire, rule="producer-gives-up-early"
    ),
    Broken(
        name="old-java", run=send_from_old_java, rule="client-release-out-of-support"
    ),
    Broken(name="times-out", run=time_out_java, rule="request-timeout-too-short"),
    Broken(
        name="fenced",
        run=fence_each_other,
        rule="instances-share-an-identity|producers-fence-each-other",
        entity="transactional.id/the-only-one",
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
        entity="group/assignors",
    ),
    Broken(
        name="assignor-2",
        run=join_with_another_assignor,
        rule="group-members-without-common-assignor",
        entity="group/assignors",
    ),
    Broken(name="no-topic", run=send_to_no_topic_java, rule="producer-records-failing"),
    Broken(
        name="crowd",
        run=share_three_partitions,
        rule="consumer-without-partitions",
        entity="group/crowd",
    ),
    Broken(name="healthy", run=work_well),
)


def link_old_jars(folder):
    """Return a directory with the jars of Kafka, but with a client of an old release."""
    folder.mkdir()
    for jar in JARS_PATH.glob("*.jar"):
        if not jar.name.startswith("kafka-clients-"):
            (folder / jar.name).symlink_to(jar)
    (folder / OLD_JAR).symlink_to(SPARK_JARS_PATH / OLD_JAR)
    return folder


def run_faults(start, faults, seconds):
    """Run the clients for a while; return the names of those that ended early."""
    stop = threading.Event()
    threads = []
    for one in faults:
        scene = start(name=one.name, stop=stop)
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
    coverage = select_rule_coverage(spark.table("finding_runs")).collect()
    kinds = sum_up_coverage(row.asDict() for row in coverage)
    of_producers = [
        kind.not_evaluated
        for kind in kinds
        if (kind.family, kind.client_type) == ("librdkafka", "producer")
    ]
    unable = dict(*of_producers)
    lacking = []
    for one in faults:
        own = [
            row
            for row in rows
            if one.name in {row["client_id"], row["group_id"]}
            or (one.entity and one.entity in str(row["entity"]))
        ]
        found = {row["rule"] for row in own}
        wanted = {*filter(None, one.rule.split("|"))}
        is_right = not wanted or bool(found & wanted)
        if one.unable:
            is_right = unable.get(one.unable) == explain_lack(SOFTWARE)
        print(f"\n{one.name}: wants {one.rule or one.unable or 'nothing'}: {is_right}")
        if one.unable in unable:
            print(f"  {one.unable}: not evaluated: {unable[one.unable]}")
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
    with ExitStack() as run:
        folder = Path(run.enter_context(tempfile.TemporaryDirectory()))
        services = run.enter_context(ExitStack())
        kafka = services.enter_context(EmbeddedKafka(3, java=java_path))
        settings = site.make_settings(kafka.bootstrap_servers, folder)
        servers = services.enter_context(running_bridge(settings))
        create_topics(servers, TOPICS, 3)
        java = JavaClients(java_path)
        services.callback(java.close)
        old_java = JavaClients(java_path, link_old_jars(folder / "old_jars"))
        services.callback(old_java.close)
        start = partial(Scene, servers=servers, java=java, old_java=old_java)
        say(f"{len(faults)} clients run for {asked.seconds:.0f} s")
        stop, threads, ended = run_faults(start, faults, asked.seconds)
        spark = start_session(folder / "warehouse")
        # While they run: findings are about active instances.
        site.run_jobs(spark, settings)
        stop.set()
        for thread in threads:
            thread.join(20)
        services.close()
        site.evaluate(spark, settings)
        lacking = print_findings(spark, faults)
        print(f"\nended early: {ended}; without their finding: {lacking}")
    sys.stdout.flush()
    os._exit(1 if lacking else 0)


if __name__ == "__main__":
    main()
