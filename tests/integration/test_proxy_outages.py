"""The Kafka that takes telemetry hangs; data must not notice."""

import threading

import pytest

from pipelines.embedded import EmbeddedKafka
from pipelines.embedded.ports import pick_free_ports
from tests.support.bridge.bridge_support import running_bridge
from tests.support.bridge.proxy_support import (
    SUBSCRIPTION,
    ProxiedClients,
    find_servers,
    proxy_settings,
    read_all,
    write_all,
)
from tests.support.clients.paced_producers import PacedProducer, frozen

PHASE_S = 3


@pytest.fixture(scope="module")
def telemetry_kafka(java):
    """A cluster of its own, which may be stopped."""
    with EmbeddedKafka(java=java) as cluster:
        yield cluster


@pytest.fixture
def server(kafka, telemetry_kafka):
    settings = proxy_settings(
        telemetry_kafka,
        f"upstream.bootstrap_servers={kafka.bootstrap_servers}",
        SUBSCRIPTION.replace("interval_ms=300", "interval_ms=100"),
    )
    with running_bridge(settings) as (server, _endpoint):
        yield server


def test_records_are_written_while_the_telemetry_kafka_hangs(
    server, telemetry_kafka, wait_until
):
    servers = find_servers(server)
    topic = ProxiedClients(servers).create_topic(1, 1)
    producer = PacedProducer(servers, topic, "steady")
    producer.write_for(PHASE_S)
    wait_until(lambda: server.counters.accepted_pushes > 0)
    connections = server.counters.connections
    with frozen(telemetry_kafka):
        during = producer.write_for(PHASE_S)
    assert not during.errors
    assert len(during.latencies_s) == during.sent
    assert not producer.faults
    assert server.counters.connections == connections
    assert server.counters.late_telemetry_answers > 0
    accepted = server.counters.accepted_pushes
    after = producer.write_for(PHASE_S)
    assert not after.errors
    wait_until(lambda: server.counters.accepted_pushes > accepted)
    assert not server.counters.unexpected_errors


@pytest.mark.long
def test_data_passes_and_ports_come_back_without_the_telemetry_kafka(
    kafka, java, wait_until
):
    (port,) = pick_free_ports(1)
    settings = proxy_settings(
        kafka,
        f"kafka.bootstrap_servers=127.0.0.1:{port}",
        f"upstream.bootstrap_servers={kafka.bootstrap_servers}",
    )
    with running_bridge(settings) as (server, _endpoint):
        clients = ProxiedClients(find_servers(server))
        topic = clients.create_topic(1, 1)
        write_all(clients.producer("first"), topic, [b"1", b"2"])
        assert read_all(clients.consumer("second"), topic, 2) == [b"1", b"2"]
        assert not server.counters.accepted_pushes
        threads = {one.name for one in threading.enumerate()}
        assert "security-files" not in threads
        with EmbeddedKafka(java=java, port=port):
            producer = clients.producer("third")
            write_all(producer, topic, [b"3"])
            wait_until(lambda: server.counters.accepted_pushes > 0)
            assert server.counters.unexpected_errors == 0
