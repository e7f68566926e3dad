"""A topic full of pushes as bridges write them, for measurements of the job."""

import time
import uuid

import zstandard
from confluent_kafka import Producer

from tests.bench.generated_pushes import java_push, librdkafka_push
from tests.support.jobs.job_support import create_topic, make_instance_id
from tests.support.spark.telemetry_records import make_headers

POINTS_PER_PUSH = 60
SHAPES = {"java": java_push, "librdkafka": librdkafka_push}
INSTANCES = 2_000
DISTINCT_BODIES = 20_000
FLUSH_TIMEOUT_S = 60


def produce_backlog(servers, topic, partitions, pushes, shape):
    """Create a topic and fill it; bodies repeat after DISTINCT_BODIES pushes."""
    create_topic(servers, topic, partitions)
    compress = zstandard.ZstdCompressor().compress
    make_push = SHAPES[shape]
    bodies = [
        compress(make_push(push, POINTS_PER_PUSH))
        for push in range(min(pushes, DISTINCT_BODIES))
    ]
    producer = Producer(
        {"bootstrap.servers": servers, "linger.ms": 20, "batch.size": 1_000_000}
    )
    start_ms = int(time.time() * 1000)
    for push in range(pushes):
        instance = push % INSTANCES
        headers = make_headers(
            client_instance_id=make_instance_id(instance),
            client_id=f"client-{instance}",
            principal=f"User:service-{instance % 40}",
            client_source_address=f"10.0.{instance // 250}.{instance % 250}",
            received_at_ms=str(start_ms + push),
            push_id=str(uuid.UUID(int=(start_ms + push) << 80 | push * 0x9E3779B97F4A)),
        )
        key, body = headers[0][1], bodies[push % len(bodies)]
        while True:
            try:
                producer.produce(topic, body, key=key, headers=headers)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    if producer.flush(FLUSH_TIMEOUT_S):
        raise RuntimeError("Kafka did not take the backlog in time")
