"""Reads the pushes of a topic, sorted by client, and what metrics they hold."""

import time
from collections import defaultdict
from dataclasses import dataclass, field

import pyarrow as pa
from confluent_kafka import Consumer, TopicPartition

from tests.support.kafka.topics import find_end
from udfs.compression.codecs import COMPRESSION_NAMES
from udfs.otlp.metrics import decode_pushes

CODECS = {name: number for number, name in COMPRESSION_NAMES.items()}
PATIENCE_S = 180
MAX_BYTES = 1 << 20


@dataclass
class Pushes:
    """What one client has pushed, in order."""

    headers: list = field(default_factory=list)
    bodies: list = field(default_factory=list)

    def metrics(self, interval_ms):
        """Return the names of all metrics pushed at this interval, sorted."""
        bodies = [
            (body, CODECS[headers["compression_type"]])
            for headers, body in zip(self.headers, self.bodies, strict=True)
            if headers["push_interval_ms"] == str(interval_ms)
        ]
        decoded = decode_pushes(
            pa.array([body for body, _ in bodies], pa.binary()),
            pa.array([codec for _, codec in bodies], pa.int32()),
            max_decompressed_bytes=MAX_BYTES,
        )
        assert set(decoded.pushes["decode_status"].to_pylist()) <= {"ok"}
        return sorted(set(decoded.points["metric"].to_pylist()))

    def values(self, name):
        """Return the different values of a header."""
        return {headers[name] for headers in self.headers}


class PushReader:
    """Reads a topic of pushes as they come, sorted by client."""

    def __init__(self, kafka, topic):
        self.clients = defaultdict(Pushes)
        self._consumer = Consumer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "group.id": "reader",
                "enable.metrics.push": False,
            }
        )
        self._partition = TopicPartition(topic, 0, 0)
        self._consumer.assign([self._partition])
        self._read = 0

    def close(self):
        self._consumer.close()

    def read_until(self, is_enough, patience_s=PATIENCE_S):
        """Read until it is enough; fails with what is there, past the patience."""
        deadline = time.monotonic() + patience_s
        while not is_enough():
            seen = {name: len(one.headers) for name, one in self.clients.items()}
            assert time.monotonic() < deadline, seen
            self._read_some()

    def have_pushed(self, clients, interval_ms):
        """Say whether all of these clients have pushed at this interval."""
        text = str(interval_ms)
        return all(
            name in self.clients
            and text in self.clients[name].values("push_interval_ms")
            for name in clients
        )

    def read_to_end(self):
        end = find_end(self._consumer, self._partition)
        self.read_until(lambda: self._read >= end)

    def _read_some(self):
        for record in self._consumer.consume(100, 0.1):
            assert record.error() is None
            self._read = record.offset() + 1
            headers = {name: value.decode() for name, value in record.headers()}
            pushes = self.clients[headers["client_id"]]
            pushes.headers.append(headers)
            pushes.bodies.append(record.value())
