"""Records for the job to read, and what it is expected to make of them."""

import base64
import random
import uuid
from dataclasses import dataclass, field

import zstandard
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from pipelines.delta_tables.locations import identify_table
from pipelines.jobs.telemetry import job as client_telemetry_to_delta
from pipelines.settings import load_settings
from pipelines.settings.secret_references import SecretReader
from pipelines.streaming.run_stream import RunContext
from tests.bench.generated_pushes import java_push
from tests.support.kafka.topics import make_topic
from tests.support.spark.telemetry_records import make_headers
from tests.support.spark.writer_option import writer_override

FLUSH_TIMEOUT_S = 180
START_MS = 1_767_225_600_000
CODECS = {"none": bytes, "zstd": zstandard.ZstdCompressor().compress}


def create_topic(bootstrap_servers, topic, partitions=3):
    """Create a topic and wait until it is there."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    make_topic(admin, NewTopic(topic, partitions, 1))


def make_settings(bootstrap_servers, topic, folder, *overrides):
    """Return settings that keep everything of a job under one folder."""
    return load_settings(
        "local",
        [
            f"kafka.bootstrap_servers={bootstrap_servers}",
            f"topics.telemetry={topic}",
            f"tables.root_path={folder}/tables",
            f"client_telemetry_to_delta.checkpoint_location={folder}/checkpoint",
            "client_telemetry_to_delta.trigger_interval_ms=200",
            writer_override(),
            *overrides,
        ],
    )


def run_once(spark, settings, observer=lambda *_: None):
    """Run the job over what its topic holds; return the query, ended."""
    query = client_telemetry_to_delta.run(
        spark,
        settings,
        RunContext(secrets=SecretReader(environ={}), is_once=True, observer=observer),
    )
    query.awaitTermination()
    return query


def read_rows(spark, settings, contract, *columns):
    """Return the rows of a table as sorted tuples."""
    table = spark.table(identify_table(spark, settings.tables, contract))
    return sorted(map(tuple, table.select(*columns).collect()))


def make_instance_id(number):
    """Return a client instance id, as Kafka prints a Uuid."""
    text = base64.urlsafe_b64encode(uuid.UUID(int=number + 2).bytes).decode()
    return text.rstrip("=")


@dataclass
class Expectation:
    """What the tables must hold in the end: keys, each exactly once."""

    pushes: list = field(default_factory=list)
    """(topic, partition, offset, push_id)"""
    points: list = field(default_factory=list)
    """(push_id, point_index)"""
    quarantined: list = field(default_factory=list)
    """(topic, partition, offset, reason)"""
    instances: dict = field(default_factory=dict)
    """client_instance_id to (received_at_ms, push_id, principal, terminating) pushes"""


class PushProducer:
    """Produces pushes with known ids and keeps account of what Kafka took.

    One in eight has no points, one in sixteen cannot be decoded, one in sixteen has no
    push_id; principals change and instances end, so that every table is written.
    """

    def __init__(self, bootstrap_servers, topic, seed=0):
        self.expected = Expectation()
        self._topic = topic
        self._random = random.Random(seed)  # noqa: S311 - to be repeatable
        self._producer = Producer(
            {"bootstrap.servers": bootstrap_servers, "enable.idempotence": True}
        )
        self._sent = 0

    def send(self, count):
        """Send some pushes and wait until Kafka has them."""
        for _ in range(count):
            self._send_one(self._sent)
            self._sent += 1
        assert self._producer.flush(FLUSH_TIMEOUT_S) == 0

    def _send_one(self, number):
        points = self._random.choice([0, 1, 1, 2, 3, 5, 8, 13])
        codec = self._random.choice(list(CODECS))
        instance = self._random.randrange(12)
        fault = self._random.choice(["cut", "no push id", *[""] * 14])
        push = {
            "client_instance_id": make_instance_id(instance),
            "client_id": f"client-{instance}",
            "principal": f"User:{number // 40 % 3}",
            "received_at_ms": str(START_MS + number * 1000),
            "push_id": f"push-{number:08}",
            "compression_type": codec,
            "terminating": "true" if self._random.random() < 0.05 else "false",
        }
        body = CODECS[codec](java_push(number, points)) if points else b""
        if fault == "cut":
            push["compression_type"], body = "none", java_push(number, 2)[:-1]
        without = ["push_id"] if fault == "no push id" else []
        self._producer.produce(
            self._topic,
            body,
            key=push["client_instance_id"],
            headers=make_headers(without=without, **push),
            on_delivery=lambda error, record: self._note(
                error, record, fault, push, points
            ),
        )
        self._producer.poll(0)

    def _note(self, error, record, fault, push, points):
        assert error is None
        coordinates = (record.topic(), record.partition(), record.offset())
        if fault == "no push id":
            self.expected.quarantined.append((*coordinates, "missing_header"))
            return
        self.expected.pushes.append((*coordinates, push["push_id"]))
        seen = self.expected.instances.setdefault(push["client_instance_id"], [])
        is_terminating = push["terminating"] == "true"
        received_at_ms = int(push["received_at_ms"])
        seen.append(
            (received_at_ms, push["push_id"], push["principal"], is_terminating)
        )
        if fault == "cut":
            self.expected.quarantined.append((*coordinates, "truncated_otlp"))
            return
        self.expected.points += [(push["push_id"], n) for n in range(points)]


def expected_instances(expected):
    """Return (client_instance_id, principal, first_seen ms, terminated ms or None)."""
    rows = []
    for instance, pushes in expected.instances.items():
        newest = max(pushes)
        terminated_ms = newest[0] if newest[3] else None
        rows.append((instance, newest[2], min(pushes)[0], terminated_ms))
    return sorted(rows)


def find_differences(spark, settings, expected):
    """Compare every key in the tables with what was produced; return what differs."""
    from pipelines.tables import telemetry as tables

    coordinates = ("topic", "partition", "offset")
    compared = {
        "client_pushes": (
            read_rows(spark, settings, tables.CLIENT_PUSHES, *coordinates, "push_id"),
            sorted(expected.pushes),
        ),
        "client_metrics": (
            read_rows(spark, settings, tables.CLIENT_METRICS, "push_id", "point_index"),
            sorted(expected.points),
        ),
        "quarantine": (
            read_rows(spark, settings, tables.QUARANTINE, *coordinates, "reason"),
            sorted(expected.quarantined),
        ),
        "client_instances": (
            read_rows(
                spark,
                settings,
                tables.CLIENT_INSTANCES,
                "client_instance_id",
                "principal",
                *_milliseconds("first_seen", "terminated_at"),
            ),
            expected_instances(expected),
        ),
    }
    return {
        name: _describe(found, wanted)
        for name, (found, wanted) in compared.items()
        if found != wanted
    }


def _milliseconds(*names):
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

    return [F.unix_millis(name) for name in names]


def _describe(found, wanted):
    missing = sorted(set(wanted) - set(found), key=str)
    extra = sorted(set(found) - set(wanted), key=str)
    repeated = len(found) - len(set(found))
    return (
        f"{len(found)} rows for {len(wanted)}: {len(missing)} missing {missing[:3]}, "
        f"{len(extra)} not expected {extra[:3]}, {repeated} repeated"
    )
