"""A site whose tables are on HDFS: three brokers, a bridge before them, its clients."""

import asyncio
import json
import threading
from collections import Counter
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient

from pipelines.demo.clients import (
    GROUPS,
    TOPIC,
    Quota,
    create_topics,
    plan_clients,
    running_clients,
    set_quotas,
)
from pipelines.embedded import EmbeddedKafka
from tests.bench.generated_pushes import java_push
from tests.support.bridge.base_ports import pick_base_port
from tests.support.bridge.bridge_process import BridgeProcess
from tests.support.bridge.dynamic_configs import ConfigClient, set_configs, user
from tests.support.clients.raw_pushers import NONE, PUSH_ID, compare, pushing
from tests.support.kafka.topics import (
    PATIENCE_S,
    find_end,
    find_partitions,
    wait_for,
)

BROKERS, PUSHERS, CLIENTS = 3, 3, 4
POINTS = 8
"""At most, in a push of a raw pusher."""
QUOTA_BYTES_PER_S = 20_000.0
TELEMETRY = "clientele.telemetry"
STREAMS = {
    "client_telemetry_to_delta": TELEMETRY,
    "client_configs_to_delta": "clientele.configs",
    "client_wire_configs_to_delta": "clientele.wire_configs",
    "client_traffic_to_delta": "clientele.traffic",
    "cluster_metadata_to_delta": "clientele.cluster",
    "dynamic_configs_to_delta": "clientele.client_configs",
}
"""Each streaming job and its topic."""
_OVERRIDES = (
    "proxy.enabled=true",
    "proxy.wire_configs=true",
    "proxy.traffic_interval_ms=1000",
    "client_config.enabled=true",
    "dynamic_configs.enabled=true",
    'bridge.admin_principals=["User:ANONYMOUS"]',
    f"topics.replication_factor={BROKERS}",
)


def make_payload(key):
    """Return a push that can be decoded, with its key where no reader looks.

    Field 15 of the message is nobody's; it takes 16 bytes, and readers skip it.
    """
    _, pusher, number = key
    points = java_push(pusher * 10_000 + number, number % (POINTS + 1))
    return points + bytes([15 << 3 | 2, PUSH_ID.size]) + PUSH_ID.pack(*key)


def read_key(value):
    """Return the key that make_payload has put into a push; None for any other."""
    return (
        PUSH_ID.unpack(value[-PUSH_ID.size :])
        if value[-PUSH_ID.size - 2 : -PUSH_ID.size]
        == bytes([15 << 3 | 2, PUSH_ID.size])
        else None
    )


class Site:
    """Kafka and a bridge, while pushers and stock clients use them."""

    def __init__(self, kafka, bridge, proxied):
        self.kafka, self.bridge, self._proxied = kafka, bridge, proxied
        self.outcomes = None
        """Of the raw pushers, as they come."""
        self._altered = 0

    def alter(self):
        """Set a dynamic config and a quota anew, so that both topics have news."""
        self._altered += 1
        values = {"session_timeout_ms": str(45_000 + self._altered)}
        with ConfigClient(self.bridge.address) as admin:
            admin.wait_loaded()
            changes = set_configs(user("ANONYMOUS"), **values)
            assert admin.alter(changes) == [(0, None)]
        entity = {"client-id": f"client-{self._altered}"}
        rate = Quota(entity=entity, key="producer_byte_rate", value=QUOTA_BYTES_PER_S)
        set_quotas(self._proxied, [rate])

    def wait_for_topics(self):
        """Wait until each topic has something to read."""

        def list_empty():
            return [t for t in STREAMS.values() if not read_values(self.kafka, t)]

        wait_for(list_empty, lambda empty: not empty)

    def compare(self):
        """Compare what pushers heard with the topic; return that, and the keys."""
        keys = map(read_key, read_values(self.kafka, TELEMETRY))
        return compare(self.outcomes, Counter(key for key in keys if key is not None))

    def count_records(self):
        """Return how many records each topic holds."""
        return {t: len(read_values(self.kafka, t)) for t in STREAMS.values()}

    @property
    def accepted(self):
        return self.outcomes.count()[NONE]


@contextmanager
def running_site(folder, java="java"):
    """Yields a Site whose clients go on until the block ends, or stop() is called."""
    port = pick_base_port(BROKERS)
    with EmbeddedKafka(BROKERS, java=java) as kafka:
        bridge = BridgeProcess(
            folder,
            kafka.bootstrap_servers,
            TELEMETRY,
            *_OVERRIDES,
            f"proxy.base_port={port}",
        )
        site = Site(kafka, bridge, kafka.bootstrap_servers)
        proxied = f"127.0.0.1:{port}"
        try:
            bridge.start()
            create_topics(proxied, {TOPIC: len(GROUPS)})
            yield site, proxied
        finally:
            bridge.close()


@contextmanager
def used(site, proxied):
    """Let clients use the site while the block runs."""
    stop, started = threading.Event(), threading.Event()

    async def push():
        async with pushing(
            site.bridge.address, PUSHERS, make_payload=make_payload
        ) as outcomes:
            site.outcomes = outcomes
            started.set()
            await asyncio.to_thread(stop.wait)

    pushers = threading.Thread(target=lambda: asyncio.run(push()))
    with running_clients(plan_clients(CLIENTS), proxied):
        pushers.start()
        try:
            started.wait()
            yield
        finally:
            stop.set()
            pushers.join()


def read_values(kafka, topic):
    """Return the value of each record that a topic holds, as its jobs read it."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "unused",
            "enable.auto.commit": False,
            "enable.metrics.push": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    values = []
    try:
        for number in find_partitions(consumer, topic):
            partition = TopicPartition(topic, number, 0)
            # A partition that grows all the time has no end to be told of.
            end = find_end(consumer, partition)
            consumer.assign([partition])
            read = 0
            while read < end:
                record = consumer.poll(PATIENCE_S)
                assert record is not None, f"Kafka says no more of {topic}"
                if record.error() is not None:
                    # What is left are marks of transactions.
                    assert record.error().code() == KafkaError._PARTITION_EOF
                    break
                values.append(record.value())
                read = record.offset() + 1
    finally:
        consumer.close()
    return values


def describe_topics(kafka):
    """Return partitions and replicas of the jobs' topics, to be printed."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    known = admin.list_topics().topics
    return json.dumps(
        {
            name: [len(one.replicas) for one in known[name].partitions.values()]
            for name in STREAMS.values()
            if name in known
        }
    )
