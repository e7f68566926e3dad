"""Topics that would fill a job's memory: large values, large headers, many records."""

import gzip
import json
import time
from dataclasses import dataclass

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from pipelines.bridge.protocol.push_config import ClientConfig, write_push_config
from tests.bench.generated_pushes import java_push
from tests.support.jobs.job_support import FLUSH_TIMEOUT_S, make_instance_id
from tests.support.kafka.topics import make_topic
from tests.support.spark.config_records import HEADERS as CONFIG_HEADERS
from tests.support.spark.telemetry_records import HEADERS as PUSH_HEADERS

KB, MIB = 1_000, 1 << 20
TELEMETRY = "client_telemetry_to_delta"
CONFIGS = "client_configs_to_delta"
WIRE_CONFIGS = "client_wire_configs_to_delta"
TOPIC_SETTINGS = {
    TELEMETRY: "topics.telemetry",
    CONFIGS: "topics.configs",
    WIRE_CONFIGS: "topics.wire_configs",
}
MAX_MESSAGE_BYTES = 4 * MIB
PARTITIONS = 6
POINTS = 60
ENTRY_BYTES = 920
START_MS = int(time.time() * 1000) - 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Records of one size."""

    records: int
    value_bytes: int
    """About; a value is whole pushes or entries."""
    header_bytes: int = 0
    """Of the software's name; the bridge would not write that much."""
    codec: str = "none"
    """Of the producer, which is what Kafka keeps."""
    points: int = 0
    """In each push, which the client compresses; values of other jobs stay as large as
    they are."""


LOADS = {
    "large": Load(records=600, value_bytes=MIB),
    "medium": Load(records=50_000, value_bytes=100 * KB),
    "headers": Load(records=600, value_bytes=4 * KB, header_bytes=MIB),
    # Each is within the limits, and together they are what a driver has not.
    "identities": Load(records=20_000, value_bytes=4 * KB, header_bytes=15 * KB),
    "packed-headers": Load(
        records=600, value_bytes=4 * KB, header_bytes=MIB, codec="zstd"
    ),
    "backlog": Load(records=400_000, value_bytes=10 * KB),
    "points": Load(records=12, value_bytes=12 * KB, points=240_000),
}


def produce_load(servers, job, topic, load, *, is_new=True):
    """Create a topic and fill it; each record is of a client instance of its own."""
    if is_new:
        _create_topic(servers, topic)
    make_value = {
        TELEMETRY: _make_push,
        CONFIGS: _make_configs,
        WIRE_CONFIGS: _make_wire_configs,
    }[job]
    value, failed = make_value(load.value_bytes), []
    codec = "none"
    if load.points and job == TELEMETRY:
        value, codec = gzip.compress(_make_points(load.points)), "gzip"
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "message.max.bytes": MAX_MESSAGE_BYTES,
            "compression.type": load.codec,
            "queue.buffering.max.kbytes": 64 * 1024,
            "linger.ms": 20,
        }
    )
    for number in range(load.records):
        headers = _make_headers(job, number, load.header_bytes, codec)
        while True:
            try:
                producer.produce(
                    topic,
                    value,
                    partition=number % PARTITIONS,
                    headers=headers,
                    on_delivery=lambda error, _: (
                        failed.append(error) if error else None
                    ),
                )
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    assert producer.flush(FLUSH_TIMEOUT_S) == 0
    assert not failed, failed[0]


def _create_topic(servers, topic):
    config = {"max.message.bytes": str(MAX_MESSAGE_BYTES)}
    admin = AdminClient({"bootstrap.servers": servers})
    make_topic(admin, NewTopic(topic, PARTITIONS, 1, config=config))


def _make_headers(job, number, header_bytes, codec):
    """Return (name, bytes) pairs, of a good record but for the size."""
    texts = PUSH_HEADERS if job == TELEMETRY else CONFIG_HEADERS
    own = {
        "client_instance_id": make_instance_id(number),
        "client_id": f"client-{number}",
        "received_at_ms": str(START_MS + number),
        "push_id": f"push-{number:08}",
    }
    if job == TELEMETRY:
        own["compression_type"] = codec
    if header_bytes:
        own["client_software_name"] = f"{number:08}" + "x" * header_bytes
    return [(name, text.encode()) for name, text in (texts | own).items()]


def _make_push(value_bytes):
    push = java_push(1, POINTS)
    return push * (value_bytes // len(push)) or java_push(1, value_bytes // 200)


def _make_points(points):
    """Return a push with so many points of one metric, all alike."""
    metrics_data = MetricsData()
    scope_metrics = metrics_data.resource_metrics.add().scope_metrics.add()
    metric = scope_metrics.metrics.add(name="rate")
    for _ in range(points):
        metric.gauge.data_points.add(time_unix_nano=START_MS * 1_000_000, as_int=1)
    return metrics_data.SerializeToString()


def _make_configs(value_bytes):
    entries = [ClientConfig("acks", "all", 1, is_default=False)]
    entries += [
        ClientConfig(f"key.{number}", "v" * 900, 1, is_default=False)
        for number in range(value_bytes // ENTRY_BYTES)
    ]
    return write_push_config(entries)


def _make_wire_configs(value_bytes):
    configs = {
        f"key.{number}": "v" * 900 for number in range(value_bytes // ENTRY_BYTES)
    }
    said = {"client_type": "producer", "configs": {"acks": "all", **configs}}
    return json.dumps(said).encode()
