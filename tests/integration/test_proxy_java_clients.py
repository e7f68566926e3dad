"""Apache Kafka's own clients of two releases use a cluster through the bridge.

tests/long/proxy_java.py runs all of the programs with both releases.
"""

import re

import pytest

from pipelines.embedded import EmbeddedKafka
from tests.support.bridge.bridge_support import running_bridge
from tests.support.bridge.config_support import read_topic
from tests.support.bridge.proxy_support import (
    ProxiedClients,
    find_servers,
    proxy_settings,
    write_all,
)
from tests.support.clients.java_clients import RELEASES, find_jars
from tests.support.clients.java_programs import (
    AUTHORIZER,
    find_streams_jars,
    run_program,
    run_tool,
)
from tests.support.jobs.flowing_records import FlowingRecords

BROKERS = 3
PUSH_MS = 3_000
VALUES = [b"value-%d" % number for number in range(300)]


@pytest.fixture(scope="module")
def cluster(java):
    with EmbeddedKafka(BROKERS, java=java, broker_properties=AUTHORIZER) as kafka:
        yield kafka


@pytest.fixture(scope="module")
def settings(cluster):
    return proxy_settings(cluster)


@pytest.fixture(scope="module")
def server(settings):
    with running_bridge(settings) as (server, _endpoint):
        yield server


@pytest.mark.parametrize(
    "release", [pytest.param(RELEASES[0], marks=pytest.mark.long), *RELEASES[1:]]
)
def test_applications_and_admins_work_and_are_seen(
    java, cluster, settings, server, release
):
    run = f"java-{release}"
    ports = " ".join(str(one.port) for one in server.proxy.brokers.known.values())
    run_program(
        java, find_jars(release), "UseCluster",
        find_servers(server), run, f" {ports} ", str(PUSH_MS),
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


@pytest.mark.long
def test_leaders_move_under_load_and_admins_administer(java, server):
    servers = find_servers(server)
    clients = ProxiedClients(servers)
    topic = clients.create_topic(3, 2, **{"min.insync.replicas": "1"})
    with FlowingRecords(clients, topic) as flowing:
        run_program(
            java, find_jars("4.3.1"), "AdministerCluster", servers, "admin", topic
        )
    assert len(flowing.written) > len(VALUES)


@pytest.mark.long
def test_kafka_streams_counts_words_exactly_once(java, server, tmp_path):
    run_program(
        java, find_streams_jars("4.3.1"), "CountWords", find_servers(server), "words",
        options=[f"-Dstate.dir={tmp_path}"],
    )  # fmt: skip


def test_kafkas_own_tool_describes_the_quorum(java, server):
    tool = "org.apache.kafka.tools.MetadataQuorumCommand"
    words = ("--bootstrap-server", find_servers(server), "describe")
    status = run_tool(java, tool, *words, "--status")
    assert re.search(r"^LeaderId: +[123]$", status, re.MULTILINE)
    replication = run_tool(java, tool, *words, "--replication").splitlines()
    nodes = {line.split()[0]: line.split()[-1] for line in replication[1:]}
    assert sorted(nodes) == ["1", "2", "3"]
    assert sorted(nodes.values()) == ["Follower", "Follower", "Leader"]


@pytest.mark.long
def test_share_groups_work(java, server):
    run_program(
        java, find_jars("4.3.1"), "UseShareGroup", find_servers(server), "share"
    )


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
