"""Clients of Apache Kafka's own library push through the bridge into a real Kafka.

Two releases, each codec as the only one that is offered, and a subscription of its own
for each client.
"""

import subprocess
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from pipelines.embedded.installation import JARS_PATH
from tests.integration.bridge_support import make_settings, running_bridge
from udfs.compression import COMPRESSION_NAMES, decompress

PROGRAM = Path(__file__).with_name("PushUntilTold.java")
SPARK_JARS_PATH = JARS_PATH.parent / "spark"
CODECS = {name: number for number, name in COMPRESSION_NAMES.items()}
PREFIXES = {
    "java-producer": "org.apache.kafka.producer.",
    "java-consumer": "org.apache.kafka.consumer.",
}
DEADLINE_S = 60
MAX_BYTES = 1 << 20


@pytest.fixture(scope="module")
def compiling_java(java):
    """A Java that runs a source file."""
    listed = subprocess.run(
        [java, "--list-modules"], check=True, capture_output=True, text=True
    )
    if "jdk.compiler" not in listed.stdout:
        pytest.skip("this Java has no compiler, and the clients come as source")
    return java


def list_jars(release):
    """Return the client library of a release and what it needs for its codecs."""
    (client,) = [
        jar
        for folder in (SPARK_JARS_PATH, JARS_PATH)
        for jar in folder.glob(f"kafka-clients-{release}.jar")
    ]
    needed = ("slf4j-api", "zstd-jni", "lz4-java", "snappy-java")
    return [client, *(jar for name in needed for jar in JARS_PATH.glob(f"{name}-*"))]


@contextmanager
def running_clients(java, release, endpoint):
    """Run the clients until the block ends, then let them close."""
    jars = ":".join(map(str, list_jars(release)))
    process = subprocess.Popen(
        [java, "-cp", jars, str(PROGRAM), endpoint],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
        process.communicate(b"\n", timeout=DEADLINE_S)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()


def make_bridge_settings(kafka, codec):
    offered = "" if codec == "none" else f'"{codec}"'
    subscriptions = ",".join(
        f'{{name="{client}",metrics=["{prefix}"],interval_ms=300,'
        f'match=["client_id={client}"]}}'
        for client, prefix in PREFIXES.items()
    )
    return make_settings(
        kafka,
        f"subscriptions=[{subscriptions}]",
        f"bridge.accepted_compression_types=[{offered}]",
    )


def read_until(reader, seen, is_enough):
    """Keep the pushes of each client, as (headers, body), until they are enough."""
    while not is_enough(seen):
        record = reader.poll(DEADLINE_S)
        assert record is not None, f"only {sorted(seen)} have pushed"
        headers = {name: value.decode() for name, value in record.headers()}
        seen.setdefault(headers["client_id"], []).append((headers, record.value()))


def have_all_pushed(seen):
    return set(seen) == set(PREFIXES)


def has_consumer_ended(seen):
    """A producer that has sent nothing skips its terminating push; a consumer does not."""
    return seen["java-consumer"][-1][0]["terminating"] == "true"


def read_names(body, codec):
    data = decompress(body, CODECS[codec], MAX_BYTES).data
    return {
        metric.name
        for resource_metrics in MetricsData.FromString(data).resource_metrics
        for scope_metrics in resource_metrics.scope_metrics
        for metric in scope_metrics.metrics
    }


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("release", ["3.9.2", "4.3.1"])
def test_java_clients_push_what_each_was_asked_for(
    kafka, compiling_java, release, codec
):
    settings, seen = make_bridge_settings(kafka, codec), {}
    servers = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "reader"}
    with (
        running_bridge(settings) as (server, endpoint),
        closing(Consumer({**servers, "enable.metrics.push": False})) as reader,
    ):
        reader.assign([TopicPartition(settings.topics.telemetry, 0, 0)])
        with running_clients(compiling_java, release, endpoint):
            read_until(reader, seen, have_all_pushed)
        read_until(reader, seen, has_consumer_ended)
    assert server.counters.malformed_requests == 0
    assert server.counters.unsupported_requests == 0
    for client, pushes in seen.items():
        for headers, body in pushes:
            assert headers["client_software_name"] == "apache-kafka-java"
            assert headers["client_software_version"] == release
            assert headers["compression_type"] == codec
            names = read_names(body, codec)
            assert names
            assert all(name.startswith(PREFIXES[client]) for name in names)
