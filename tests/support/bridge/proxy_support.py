"""A bridge that stands in front of a cluster, and stock clients that go through it."""

import logging
import socket
import struct
import time
import uuid

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.bridge.bridge_support import make_settings
from tests.support.kafka.topics import make_topic

PATIENCE_S = 180
SUBSCRIPTION = 'subscriptions=[{name="s",metrics=["*"],interval_ms=300,match=[]}]'
QUIET = logging.getLogger("test.proxied")
QUIET.setLevel(logging.CRITICAL)


def proxy_settings(kafka, *changes):
    """Return settings of a bridge with free ports in front of a cluster."""
    return make_settings(
        kafka,
        "proxy.enabled=true",
        "proxy.base_port=0",
        "proxy.metadata_poll_ms=200",
        "bridge.http_port=0",
        SUBSCRIPTION,
        *changes,
    )


def find_servers(server):
    """Return bootstrap.servers of the proxy."""
    return server.proxy.bootstrap_servers


class ProxiedClients:
    """Makes clients of one cluster, all with the same security."""

    def __init__(self, servers, **config):
        self.base = {"bootstrap.servers": servers, **config}
        self.admin = AdminClient(self.base, logger=QUIET)

    def create_topic(self, partitions, replicas, **config):
        name = f"data-{uuid.uuid4()}"
        new = NewTopic(name, partitions, replicas, config=config)
        return make_topic(self.admin, new)

    def producer(self, client_id, **config):
        return Producer({**self.base, "client.id": client_id, **config}, logger=QUIET)

    def consumer(self, client_id, **config):
        usual = {"group.id": f"g-{uuid.uuid4()}", "auto.offset.reset": "earliest"}
        return Consumer(
            {**self.base, "client.id": client_id, **usual, **config}, logger=QUIET
        )


def write_all(producer, topic, values):
    """Write and wait until all of them are acknowledged."""
    errors = []
    for value in values:
        producer.produce(
            topic, value, on_delivery=lambda error, _: errors.append(error)
        )
        producer.poll(0)
    assert producer.flush(PATIENCE_S) == 0
    assert set(errors) <= {None}
    return len(errors)


def read_all(consumer, topic, count):
    """Read so many values of a topic; in no order where it has partitions."""
    consumer.subscribe([topic])
    values = []
    deadline = time.monotonic() + PATIENCE_S
    while len(values) < count:
        assert time.monotonic() < deadline, f"{len(values)} of {count} records"
        record = consumer.poll(0.5)
        if record is not None and not record.error():
            values.append(record.value())
    return values


def ask_in_bytes(servers, *requests):
    """Send requests to the first of some servers; return the answers without sizes.

    Args: API key, version and body of each request; where it is flexible, the tagged
        fields of its header stand in front of the body.
    """
    host, _, port = servers.partition(",")[0].rpartition(":")
    with socket.create_connection((host, int(port)), PATIENCE_S) as one:
        for api_key, version, body in requests:
            frame = struct.pack(">hhih", api_key, version, 1, -1) + body
            one.sendall(struct.pack(">i", len(frame)) + frame)
        answers = one.makefile("rb")
        return [answers.read(*struct.unpack(">i", answers.read(4))) for _ in requests]
