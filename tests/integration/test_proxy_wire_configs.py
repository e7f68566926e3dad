"""Real clients show their configurations through the proxy, up to the tables."""

import json
import uuid

import pytest

from pipelines.embedded import EmbeddedKafka
from pipelines.jobs.wire_configs import job as client_wire_configs_to_delta
from pipelines.reading import views
from pipelines.reading.views.client_config_views import ENTRIES
from pipelines.settings import load_config_catalogs
from pipelines.settings.secret_references import SecretReader
from pipelines.streaming.run_stream import RunContext
from pipelines.tables.telemetry import QUARANTINE
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS
from tests.support.bridge.bridge_support import running_bridge
from tests.support.bridge.config_support import read_topic
from tests.support.bridge.proxy_support import (
    PATIENCE_S,
    ProxiedClients,
    find_servers,
    proxy_settings,
    read_all,
    write_all,
)
from tests.support.clients.java_clients import RELEASES, find_jars
from tests.support.clients.java_programs import run_program
from tests.support.documents import find_block
from tests.support.jobs.config_job_support import read_table
from tests.support.jobs.given_calls import run_line

VALUES = [b"v" * 1_000 for _ in range(50)]
COMMON = {
    "fetch.min.bytes": "3",
    "fetch.max.wait.ms": "222",
    "fetch.max.bytes": "5000000",
    "client.rack": "rack-7",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("wire")


@pytest.fixture(scope="module")
def cluster(java):
    with EmbeddedKafka(1, java=java) as kafka:
        yield kafka


@pytest.fixture(scope="module")
def settings(cluster, folder):
    return proxy_settings(
        cluster,
        "proxy.wire_configs=true",
        "proxy.wire_configs_interval_ms=50",
        f"tables.root_path={folder}/tables",
        f"client_wire_configs_to_delta.checkpoint_location={folder}/checkpoint",
    )


@pytest.fixture(scope="module")
def server(settings):
    with running_bridge(settings) as (server, _endpoint):
        yield server


@pytest.fixture(scope="module")
def clients(server):
    return ProxiedClients(find_servers(server))


def read_seen(cluster, settings):
    """Return what is known of each client id: headers, and all values together."""
    seen = {}
    for record in read_topic(cluster, settings.topics.wire_configs):
        headers = {name: value.decode() for name, value in record.headers()}
        said = json.loads(record.value())
        known = seen.setdefault(headers.get("client_id"), ({}, {}))
        known[0].update(headers, client_type=said["client_type"])
        known[1].update(said["configs"])
    return seen


def wait_for(cluster, settings, wait_until, expected):
    """Wait until the topic has these values of these client ids; return all."""

    def is_there():
        seen = read_seen(cluster, settings)
        return all(
            client_id in seen and configs.items() <= seen[client_id][1].items()
            for client_id, configs in expected.items()
        )

    try:
        wait_until(is_there)
    except AssertionError:
        found = read_seen(cluster, settings)
        for client_id, configs in expected.items():
            assert found.get(client_id, ({}, {}))[1] == configs
        raise
    return read_seen(cluster, settings)


def use_librdkafka(clients, run):
    """Use clients whose configs are not the defaults; return what they show."""
    topic = clients.create_topic(2, 1)
    plain = {"acks": "1", "request.timeout.ms": 23_000, "compression.type": "lz4"}
    write_all(clients.producer(f"{run}-plain", **plain), topic, VALUES)
    transactional = {
        "transactional.id": f"tx-{run}",
        "transaction.timeout.ms": 33_000,
        "compression.type": "zstd",
        "linger.ms": 50,
    }
    producer = clients.producer(f"{run}-tx", **transactional)
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    write_all(producer, topic, VALUES)
    producer.commit_transaction(PATIENCE_S)
    for protocol in ("classic", "consumer"):
        more = {"session.timeout.ms": 12_000} if protocol == "classic" else {}
        consumer = clients.consumer(
            f"{run}-{protocol}",
            **{
                "group.id": f"{run}-group-{protocol}",
                "group.protocol": protocol,
                "group.instance.id": f"one-{run}",
                "max.poll.interval.ms": 45_000,
                "isolation.level": "read_committed",
                "max.partition.fetch.bytes": 80_000,
                "fetch.min.bytes": 3,
                "fetch.wait.max.ms": 222,
                "fetch.max.bytes": 5_000_000,
                "client.rack": "rack-7",
                **more,
            },
        )
        read_all(consumer, topic, 2 * len(VALUES))
        consumer.close()
    consumed = COMMON | {
        "group.instance.id": f"one-{run}",
        "isolation.level": "read_committed",
        "max.partition.fetch.bytes": "80000",
        "max.poll.interval.ms": "45000",
    }
    return {
        f"{run}-plain": {
            "acks": "1",
            "request.timeout.ms": "23000",
            "compression.type": "lz4",
            "enable.idempotence": "false",
        },
        f"{run}-tx": {
            "acks": "all",
            "compression.type": "zstd",
            "enable.idempotence": "true",
            "transactional.id": f"tx-{run}",
            "transaction.timeout.ms": "33000",
        },
        f"{run}-classic": {
            **consumed,
            "group.id": f"{run}-group-classic",
            "group.protocol": "classic",
            "partition.assignment.strategy": "range,roundrobin",
            "session.timeout.ms": "12000",
        },
        f"{run}-consumer": {
            **consumed,
            "group.id": f"{run}-group-consumer",
            "group.protocol": "consumer",
        },
    }


def test_librdkafka_shows_what_it_is_configured_with(
    cluster, settings, clients, wait_until
):
    expected = use_librdkafka(clients, "c")
    seen = wait_for(cluster, settings, wait_until, expected)
    headers, _ = seen["c-classic"]
    assert headers["client_type"] == "consumer"
    assert headers["principal"] == "User:ANONYMOUS"
    assert headers["client_source_address"] == "127.0.0.1"
    assert headers["client_software_name"] == "confluent-kafka-python"
    assert headers["redacted_keys"] == ""
    assert seen["c-tx"][0]["client_type"] == "producer"


@pytest.mark.parametrize("release", RELEASES)
def test_java_clients_show_what_they_are_configured_with(
    java, cluster, settings, server, clients, wait_until, release
):
    run, topic = f"java-{release}", clients.create_topic(1, 1)
    run_program(
        java, find_jars(release), "ShowConfigs", find_servers(server), topic, run
    )
    expected = {
        f"{run}-plain": {
            "acks": "1",
            "enable.idempotence": "false",
            "compression.type": "zstd",
            "request.timeout.ms": "21000",
        },
        f"{run}-tx": {
            "acks": "all",
            "enable.idempotence": "true",
            "compression.type": "gzip",
            "request.timeout.ms": "30000",
            "transactional.id": f"tx-{run}",
            "transaction.timeout.ms": "31000",
        },
        f"{run}-classic": COMMON
        | {
            "group.id": f"{run}-group-classic",
            "group.protocol": "classic",
            "group.instance.id": f"one-{run}",
            "session.timeout.ms": "11000",
            "max.poll.interval.ms": "41000",
            "isolation.level": "read_committed",
            "partition.assignment.strategy": "cooperative-sticky",
            "max.partition.fetch.bytes": "1048576",
        },
        f"{run}-consumer": COMMON
        | {
            "group.id": f"{run}-group-consumer",
            "group.protocol": "consumer",
            "group.remote.assignor": "range",
            "max.poll.interval.ms": "42000",
            "isolation.level": "read_uncommitted",
            "max.partition.fetch.bytes": "70000",
        },
    }
    seen = wait_for(cluster, settings, wait_until, expected)
    assert seen[f"{run}-plain"][0]["client_software_version"] == release
    assert not server.counters.unreadable_wire_requests


def run_job(spark, settings):
    query = client_wire_configs_to_delta.run(
        spark,
        settings,
        RunContext(secrets=SecretReader(environ={}), is_once=True),
        catalogs=load_config_catalogs(),
    )
    query.awaitTermination()


@pytest.mark.long
def test_what_was_seen_is_in_table_and_view_once(
    spark, cluster, settings, folder, clients, wait_until, produce
):
    run = f"t-{uuid.uuid4()}"
    expected = use_librdkafka(clients, run)
    wait_for(cluster, settings, wait_until, expected)
    produce(cluster.bootstrap_servers, settings.topics.wire_configs, b"secret")
    run_job(spark, settings)
    table = read_table(spark, settings, CLIENT_WIRE_CONFIGS)
    found = {
        (row["client_id"], row["config_key"]): row["config_value"]
        for row in table.collect()
    }
    for client_id, configs in expected.items():
        for key, value in configs.items():
            assert found[client_id, key] == value
    quarantined = read_table(spark, settings, QUARANTINE).collect()
    assert [(one["reason"], one["body"]) for one in quarantined] == [
        ("missing_header", None)
    ]
    assert ENTRIES in views.register(spark, settings)
    entries = spark.table(ENTRIES).where(f"client_id = '{run}-classic'").collect()
    by_key = {one["config_key"]: one for one in entries}
    assert {one["source"] for one in entries} == {"wire"}
    assert by_key["fetch.max.wait.ms"]["value_long"] == 222
    assert by_key["partition.assignment.strategy"]["value_list"] == [
        "range",
        "roundrobin",
    ]
    assert "batch.size" not in by_key
    count = table.count()
    # A new checkpoint location goes on behind what the table holds.
    (command,) = find_block(
        "docs/guide/proxy.md", "client-wire-configs-to-delta"
    ).commands
    run_line(
        spark,
        command,
        f"kafka.bootstrap_servers={cluster.bootstrap_servers}",
        f"topics.wire_configs={settings.topics.wire_configs}",
        f"tables.root_path={settings.tables.root_path}",
        f"client_wire_configs_to_delta.checkpoint_location={folder}/new",
    )
    assert read_table(spark, settings, CLIENT_WIRE_CONFIGS).count() == count
    assert read_table(spark, settings, QUARANTINE).count() == 1
