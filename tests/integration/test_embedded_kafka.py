import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient

from pipelines.embedded import EmbeddedKafka
from pipelines.embedded.ports import pick_free_ports
from pipelines.errors import EmbeddedKafkaError
from tests.support.kafka.topics import find_partitions

PATIENCE_S = 180
MAX_RESIDENT_KB = 300 * 1024


def test_records_come_back_through_real_clients(
    kafka, create_topic, produce, consume_one
):
    create_topic(kafka.bootstrap_servers, "round-trip")
    produce(kafka.bootstrap_servers, "round-trip", b"value")
    assert consume_one(kafka.bootstrap_servers, "round-trip") == b"value"


def test_a_broker_takes_less_than_300_mb(kafka):
    command = ["/bin/ps", "-o", "rss=", "-p", str(kafka.pids[1])]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert int(done.stdout) < MAX_RESIDENT_KB


@pytest.mark.parametrize("group_protocol", ["classic", "consumer"])
def test_a_group_consumes_by_either_protocol(
    kafka, create_topic, produce, group_protocol
):
    topic = f"group-{group_protocol}"
    create_topic(kafka.bootstrap_servers, topic)
    produce(kafka.bootstrap_servers, topic, b"value")
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": topic,
            "group.protocol": group_protocol,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    record = consumer.poll(PATIENCE_S)
    consumer.close()
    assert record.error() is None
    assert record.value() == b"value"


@pytest.mark.long
def test_a_record_survives_a_killed_broker(java, produce, consume_one):
    with EmbeddedKafka(java=java) as kafka:
        servers = kafka.bootstrap_servers
        produce(servers, "survivor", b"value")
        kafka.kill(1)
        assert kafka.pids == {}
        kafka.check()
        kafka.restart(1)
        assert kafka.bootstrap_servers == servers
        assert consume_one(servers, "survivor") == b"value"


@pytest.mark.long
def test_three_brokers_go_on_when_one_is_killed(
    java, create_topic, produce, consume_one
):
    with EmbeddedKafka(3, java=java) as kafka:
        servers = kafka.bootstrap_servers
        assert len(servers.split(",")) == 3
        assert len(kafka.controller_bootstrap_servers.split(",")) == 3
        create_topic(servers, "replicated")
        admin = AdminClient({"bootstrap.servers": servers})
        assert set(admin.list_topics(timeout=PATIENCE_S).brokers) == {1, 2, 3}
        partition = find_partitions(admin, "replicated")[0]
        assert set(partition.replicas) == {1, 2, 3}
        kafka.kill(partition.leader)
        produce(servers, "replicated", b"after the kill")
        kafka.restart(partition.leader)
        assert set(kafka.pids) == {1, 2, 3}
        assert consume_one(servers, "replicated") == b"after the kill"


def test_a_broker_that_ended_by_itself_is_reported(java, wait_until):
    with EmbeddedKafka(java=java) as kafka:
        kafka.check()
        os.kill(kafka.pids[1], signal.SIGKILL)
        wait_until(lambda: not kafka.pids)
        with pytest.raises(EmbeddedKafkaError, match="broker 1 ended with 137"):
            kafka.check()


def test_a_taken_port_is_named(kafka, java):
    port = int(kafka.bootstrap_servers.rpartition(":")[2])
    with pytest.raises(EmbeddedKafkaError, match=f"port {port} on 127.0.0.1 is taken"):
        EmbeddedKafka(java=java, port=port).start()


def test_a_given_port_is_used(java):
    port = pick_free_ports(1)[0]
    with EmbeddedKafka(java=java, port=port) as kafka:
        assert kafka.bootstrap_servers == f"127.0.0.1:{port}"


def test_a_broker_that_does_not_start_says_why_and_leaves_nothing(
    java, tmp_path, list_processes
):
    broken = EmbeddedKafka(
        java=java, broker_properties={"log.retention.ms": "a-week"}, folder=tmp_path
    )
    with pytest.raises(EmbeddedKafkaError, match=r"log\.retention\.ms") as caught:
        broken.start()
    assert "broker 1 ended with 1" in str(caught.value)
    assert str(tmp_path) not in list_processes()


def test_a_missing_java_is_named(tmp_path):
    with pytest.raises(EmbeddedKafkaError, match="no program no-such-java"):
        EmbeddedKafka(java="no-such-java", cache_path=tmp_path).start()


def test_a_folder_without_jars_is_named(java, tmp_path):
    with pytest.raises(EmbeddedKafkaError, match="holds no kafka_"):
        EmbeddedKafka(java=java, jars_path=tmp_path, cache_path=tmp_path).start()


def test_a_folder_in_use_is_refused_and_kept(java, tmp_path):
    (tmp_path / "mine").write_text("kept")
    with pytest.raises(EmbeddedKafkaError, match="is not empty"):
        EmbeddedKafka(java=java, folder=tmp_path).start()
    assert (tmp_path / "mine").read_text() == "kept"


@pytest.mark.long
def test_parallel_first_starts_share_one_cache(java, produce, tmp_path):
    """The first start records a class archive; a start beside it does without."""

    def run(_index):
        with EmbeddedKafka(java=java, cache_path=tmp_path) as kafka:
            produce(kafka.bootstrap_servers, "parallel", b"value")
            return kafka.bootstrap_servers

    with ThreadPoolExecutor(2) as pool:
        servers = list(pool.map(run, range(2)))
    assert len(set(servers)) == 2
    names = sorted(path.name for path in next(tmp_path.iterdir()).iterdir())
    assert names == ["bootstrap.checkpoint", "classes.jsa", "recording.lock"]
    assert run(None) not in servers
