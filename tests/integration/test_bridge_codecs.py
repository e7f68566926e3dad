"""Real librdkafka clients compress as they are told, and say when they end."""

import logging
import time
from contextlib import closing

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from tests.support.bridge.bridge_support import make_settings, running_bridge
from udfs.compression.codecs import COMPRESSION_NAMES, decompress

CODECS = {name: number for number, name in COMPRESSION_NAMES.items()}
CLIENTS = {"codec-producer", "codec-consumer", "codec-admin"}
SUBSCRIPTION = '{name="s",metrics=["*"],interval_ms=300,match=[]}'
DEADLINE_S = 180
LAST_PUSH_S = 3
"""librdkafka gives its last push a second. A handle that ends while a request of it is
unanswered sends none, and then others take its place."""
MAX_BYTES = 1 << 20


def use_clients(endpoint, has_seen_all):
    """Poll a client of each kind until all have pushed, then end them."""
    quiet = logging.getLogger("test.codecs")
    quiet.setLevel(logging.CRITICAL)
    base = {"bootstrap.servers": endpoint, "error_cb": lambda _error: None}
    producer = Producer({**base, "client.id": "codec-producer"}, logger=quiet)
    consumer = Consumer(
        {**base, "client.id": "codec-consumer", "group.id": "g"}, logger=quiet
    )
    admin = AdminClient({**base, "client.id": "codec-admin"}, logger=quiet)
    with closing(consumer):
        consumer.assign([TopicPartition("nothing", 0, 0)])
        deadline = time.monotonic() + DEADLINE_S
        while not has_seen_all():
            assert time.monotonic() < deadline
            producer.poll(0.05)
            consumer.poll(0.05)
            admin.poll(0)
    # The last push is sent when a handle is destroyed.
    del producer, admin


class Reader:
    """Reads the records of a topic as they come."""

    def __init__(self, consumer):
        self._consumer = consumer
        self.pushes = []

    def has_seen(self, is_wanted, first=0):
        """Say whether the pushes from the first one on are what is wanted."""
        record = self._consumer.poll(0.05)
        if record is not None:
            headers = {name: value.decode() for name, value in record.headers()}
            self.pushes.append((headers, record.value()))
        return is_wanted([headers for headers, _ in self.pushes[first:]])


def have_all_pushed(pushes):
    return {headers["client_id"] for headers in pushes} == CLIENTS


def have_all_ended(pushes):
    ended = {one["client_id"] for one in pushes if one["terminating"] == "true"}
    return ended == CLIENTS


def end_clients(endpoint, reader):
    """Let clients push and end; wait for their last pushes as long as they do."""
    known = len(reader.pushes)
    use_clients(endpoint, lambda: reader.has_seen(have_all_pushed, known))
    patience = time.monotonic() + LAST_PUSH_S
    while time.monotonic() < patience and not reader.has_seen(have_all_ended):
        pass


@pytest.mark.parametrize("codec", CODECS)
def test_clients_push_with_the_only_codec_offered_and_end_with_a_last_push(
    kafka, codec
):
    offered = "" if codec == "none" else f'"{codec}"'
    settings = make_settings(
        kafka,
        f"subscriptions=[{SUBSCRIPTION}]",
        f"bridge.accepted_compression_types=[{offered}]",
    )
    servers = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "reader"}
    with (
        running_bridge(settings) as (server, endpoint),
        closing(Consumer({**servers, "enable.metrics.push": False})) as consumer,
    ):
        consumer.assign([TopicPartition(settings.topics.telemetry, 0, 0)])
        reader = Reader(consumer)
        deadline = time.monotonic() + DEADLINE_S
        while not reader.has_seen(have_all_ended):
            assert time.monotonic() < deadline
            end_clients(endpoint, reader)
    assert server.counters.malformed_requests == 0
    for headers, body in reader.pushes:
        assert headers["compression_type"] == codec
        data = decompress(body, CODECS[codec], MAX_BYTES).data
        assert MetricsData.FromString(data).resource_metrics
