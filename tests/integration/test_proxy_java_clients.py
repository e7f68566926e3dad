"""Apache Kafka's own clients of two releases use a cluster through the bridge."""

import subprocess
from pathlib import Path

import pytest

from pipelines.embedded import EmbeddedKafka
from tests.integration.bridge_support import running_bridge
from tests.integration.config_support import read_topic
from tests.integration.java_clients import RELEASES, find_jars
from tests.integration.kafka_commands import SHORT_LIVED
from tests.integration.proxy_support import (
    ProxiedClients,
    find_servers,
    proxy_settings,
    write_all,
)

BROKERS = 3
PUSH_MS = 3_000
PATIENCE_S = 180
VALUES = [b"value-%d" % number for number in range(300)]


@pytest.fixture(scope="module")
def cluster(java):
    with EmbeddedKafka(BROKERS, java=java) as kafka:
        yield kafka


@pytest.fixture(scope="module")
def settings(cluster):
    return proxy_settings(cluster)


@pytest.fixture(scope="module")
def server(settings):
    with running_bridge(settings) as (server, _endpoint):
        yield server


def run_java(java, release, program, *arguments):
    """Run one of the programs beside this file, which says "used" at its end."""
    path = Path(__file__).with_name(f"{program}.java")
    command = [java, *SHORT_LIVED, "-cp", find_jars(release), str(path)]
    done = subprocess.run(
        [*command, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    assert done.stdout.endswith("used\n")


@pytest.mark.parametrize("release", RELEASES)
def test_applications_and_admins_work_and_are_seen(
    java, cluster, settings, server, release
):
    run = f"java-{release}"
    ports = " ".join(str(one.port) for one in server.proxy.brokers.known.values())
    run_java(
        java, release, "UseCluster", find_servers(server), run, f" {ports} ", str(PUSH_MS)
    )  # fmt: skip
    seen = {}
    for record in read_topic(cluster, settings.topics.telemetry):
        headers = {name: value.decode() for name, value in record.headers()}
        seen[headers["client_id"]] = headers
    for name in (f"{run}-seen-p", f"{run}-seen-c"):
        assert seen[name]["client_software_name"] == "apache-kafka-java"
        assert seen[name]["client_software_version"] == release
        assert seen[name]["principal"] == "User:ANONYMOUS"
    assert not server.counters.unsupported_requests
    assert not server.counters.malformed_requests
    assert not server.counters.malformed_responses


def test_share_groups_work(java, server):
    run_java(java, "4.3.1", "UseShareGroup", find_servers(server), "share")


def test_spark_reads_and_writes_through_the_proxy(server, spark):
    servers = find_servers(server)
    clients = ProxiedClients(servers)
    topic, copy = clients.create_topic(3, 1), clients.create_topic(3, 1)
    write_all(clients.producer("before-spark"), topic, VALUES)

    def read(name):
        return (
            spark.read.format("kafka")
            .option("kafka.bootstrap.servers", servers)
            .option("subscribe", name)
            .load()
        )

    (
        read(topic)
        .select("value")
        .write.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("topic", copy)
        .save()
    )
    copied = sorted(bytes(row.value) for row in read(copy).select("value").collect())
    assert copied == sorted(VALUES)
