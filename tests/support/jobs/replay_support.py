"""Pushes of every kind over a day, and tables that a bad decoder has written."""

import re
import struct
import threading
from datetime import UTC, datetime, timedelta

from confluent_kafka import Producer
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from pipelines.delta_tables.locations import identify_table
from pipelines.tables.telemetry import CLIENT_METRICS, CLIENT_PUSHES, QUARANTINE
from pipelines.time_ranges import midnight
from tests.bench.generated_pushes import java_push, librdkafka_push
from tests.support.jobs.job_support import CODECS, FLUSH_TIMEOUT_S, make_instance_id
from tests.support.spark.telemetry_records import make_headers

DAY_MS = 86_400_000
YESTERDAY = datetime.now(tz=UTC).date() - timedelta(days=1)
"""An older record would be deleted by Kafka's retention, which goes by its time."""
START_MS = 1000 * int(midnight(YESTERDAY).timestamp())
INSTANCES = 40
NAN_WITH_PAYLOAD = struct.unpack("<d", struct.pack("<Q", 0x7FF8_DEAD_BEEF_0001))[0]
ODD_VALUES = (NAN_WITH_PAYLOAD, float("nan"), -0.0, 0.0, float("inf"), 5e-324)


def odd_push(number):
    """Values that comparisons take for each other, and a histogram of them."""
    metrics_data = MetricsData()
    metrics = metrics_data.resource_metrics.add().scope_metrics.add().metrics
    for index, value in enumerate(ODD_VALUES):
        metric = metrics.add(name=f"odd.{index}")
        metric.gauge.data_points.add(as_double=value, time_unix_nano=number + 1)
    metric = metrics.add(name="odd.histogram")
    metric.histogram.aggregation_temporality = 2
    metric.histogram.data_points.add(
        count=number, sum=-0.0, min=NAN_WITH_PAYLOAD, explicit_bounds=[-0.0, 1.5]
    )
    return metrics_data.SerializeToString()


def make_bodies(points):
    """Return (codec, body) of each kind; one in ten cannot be decoded."""
    plain = [java_push(n, points + n % 7) for n in range(12)]
    plain += [librdkafka_push(n, points) for n in range(5)]
    plain += [odd_push(n) for n in range(5)] + [b""]
    whole = [
        (codec, CODECS[codec](body) if body else body)
        for codec in CODECS
        for body in plain
    ]
    return whole + [("none", body[:-1]) for body in plain[:5]]


class DayOfPushes:
    """Produces numbered pushes whose received_at fill a day evenly."""

    def __init__(self, servers, topic, *, pushes_a_day, points=8):
        self._topic = topic
        self._spacing_ms = DAY_MS / pushes_a_day
        self._bodies = make_bodies(points)
        self._producer = Producer(
            {"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 20}
        )
        self.sent = 0
        self.errors = []

    def send(self, count):
        """Send some pushes and wait until Kafka has them."""
        for number in range(self.sent, self.sent + count):
            codec, body = self._bodies[number % len(self._bodies)]
            instance = number % INSTANCES
            # Once the day is full, from its beginning: Kafka refuses future times.
            received_at_ms = START_MS + int(number * self._spacing_ms) % DAY_MS
            headers = make_headers(
                client_instance_id=make_instance_id(instance),
                client_id=f"client-{instance}",
                received_at_ms=str(received_at_ms),
                push_id=f"push-{number:08}",
                compression_type=codec,
            )
            # The record's time, too: what is rejected late is given received_at.
            while True:
                try:
                    self._producer.produce(
                        self._topic,
                        body,
                        headers=headers,
                        timestamp=received_at_ms,
                        on_delivery=self._note,
                    )
                    break
                except BufferError:
                    self._producer.poll(0.1)
            self._producer.poll(0)
        self.sent += count
        assert self._producer.flush(FLUSH_TIMEOUT_S) == 0
        assert not self.errors

    def _note(self, error, _record):
        if error is not None:
            self.errors.append(error)


class Feed:
    """Goes on sending on a thread of its own until it is closed."""

    def __init__(self, pushes, *, count, pause_s):
        self._pushes, self._count, self._pause_s = pushes, count, pause_s
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while not self._is_over.wait(self._pause_s):
            self._pushes.send(self._count)

    def close(self):
        self._is_over.set()
        self._thread.join()


class Commits:
    """An observer of the streaming job that others can wait for."""

    def __init__(self):
        self.count = 0
        self._changed = threading.Condition()

    def __call__(self, point, _rows):
        if point == "before commit":
            with self._changed:
                self.count += 1
                self._changed.notify_all()

    def wait_for_more(self, more, timeout_s):
        """Wait for some more micro-batches that were written whole."""
        with self._changed:
            wanted = self.count + more
            assert self._changed.wait_for(lambda: self.count >= wanted, timeout_s)


DAMAGE = """
UPDATE METRICS SET value_double = -value_double WHERE SOME = 0;
UPDATE METRICS SET value_long = value_long + 1 WHERE SOME = 1;
UPDATE METRICS SET attributes = map('a', 'b') WHERE SOME = 2;
DELETE FROM METRICS WHERE SOME = 3 AND point_index > 1;
DELETE FROM METRICS WHERE SOME = 4;
INSERT INTO METRICS SELECT * FROM METRICS WHERE SOME = 5;
UPDATE METRICS SET distribution.sum = 0.0D WHERE SOME = 6;
UPDATE PUSHES SET decode_status = 'ok', point_count = 99 WHERE SOME = 7;
UPDATE PUSHES SET client_type = 'admin' WHERE SOME = 8;
DELETE FROM QUARANTINE WHERE SOME > 4;
INSERT INTO QUARANTINE SELECT * FROM QUARANTINE WHERE SOME = 1;
UPDATE QUARANTINE SET reason = 'too_large' WHERE SOME = 2;
INSERT INTO QUARANTINE
  (topic, partition, offset, event_date, kafka_timestamp, source_job, reason,
   received_at, push_id)
  SELECT topic, partition, offset, event_date, received_at, 'job', 'too_large',
    received_at, push_id
  FROM PUSHES WHERE SOME = 9 AND decode_status = 'ok'
"""


def damage(spark, settings):
    """Leave behind what a decoder with faults might have written."""
    words = {"SOME": "crc32(push_id) % 10"} | {
        word: identify_table(spark, settings.tables, contract)
        for word, contract in (
            ("METRICS", CLIENT_METRICS),
            ("PUSHES", CLIENT_PUSHES),
            ("QUARANTINE", QUARANTINE),
        )
    }
    for template in DAMAGE.split(";"):
        statement = template
        for word, meaning in words.items():
            statement = re.sub(rf"\b{word}\b", lambda _, m=meaning: m, statement)
        spark.sql(statement)
