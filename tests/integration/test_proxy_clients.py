"""Real librdkafka clients use a cluster of three brokers through the bridge."""

import socket
import struct
import threading
import time
import uuid

import pytest
from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    OffsetSpec,
)

from pipelines.embedded import EmbeddedKafka
from tests.support.bridge.base_ports import pick_base_port
from tests.support.bridge.bridge_process import BridgeProcess
from tests.support.bridge.bridge_support import running_bridge
from tests.support.bridge.proxy_support import (
    PATIENCE_S,
    ProxiedClients,
    ask_in_bytes,
    find_servers,
    proxy_settings,
    read_all,
    write_all,
)
from tests.support.bridge.secured_bridge import wait_for_pushes
from tests.support.kafka.topics import NOT_YET, find_partitions, wait_for

BROKERS = 3
VALUES = [b"value-%d" % number for number in range(500)]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


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


@pytest.fixture(scope="module")
def clients(server):
    return ProxiedClients(find_servers(server))


@pytest.fixture(scope="module")
def topic(clients):
    return clients.create_topic(6, BROKERS)


def test_every_broker_has_a_port_and_clients_learn_no_other_address(clients, server):
    known = server.proxy.brokers.known
    assert sorted(known) == [1, 2, 3]
    told = clients.admin.list_topics(timeout=PATIENCE_S).brokers
    assert {node: one.port for node, one in told.items()} == {
        node: one.port for node, one in known.items()
    }
    described = clients.admin.describe_cluster().result(PATIENCE_S)
    assert {node.id: node.port for node in described.nodes} == {
        node: one.port for node, one in known.items()
    }


@pytest.mark.parametrize("codec", CODECS)
def test_records_written_through_the_proxy_are_read_through_it(clients, topic, codec):
    values = [codec.encode() + b"-" + value for value in VALUES]
    producer = clients.producer(f"producer-{codec}", **{"compression.type": codec})
    assert write_all(producer, topic, values) == len(values)
    consumer = clients.consumer(f"consumer-{codec}")
    consumer.subscribe([topic])
    read = set()
    deadline = time.monotonic() + PATIENCE_S
    while not read >= set(values):
        assert time.monotonic() < deadline
        record = consumer.poll(0.5)
        if record is not None and not record.error():
            read.add(record.value())
    consumer.close()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_of_both_protocols_commit_and_go_on(clients, protocol):
    topic = clients.create_topic(3, BROKERS)
    config = {"group.id": f"group-{protocol}-{topic}", "group.protocol": protocol}
    write_all(clients.producer("p"), topic, VALUES)
    for instance in ("first", "second"):
        consumer = clients.consumer(
            instance,
            **config,
            # The same member comes back, as after a restart.
            **{"enable.auto.commit": False, "group.instance.id": "member"},
        )
        if instance == "first":
            assert sorted(read_all(consumer, topic, len(VALUES))) == sorted(VALUES)
            consumer.commit(asynchronous=False)
        else:
            write_all(clients.producer("p"), topic, [b"last"])
            assert read_all(consumer, topic, 1) == [b"last"]
        consumer.close()


def test_transactions_commit_and_abort(clients):
    topic = clients.create_topic(2, BROKERS)
    producer = clients.producer("transactional", **{"transactional.id": f"tx-{topic}"})
    producer.init_transactions(PATIENCE_S)
    for value, end in ((b"kept", True), (b"dropped", False), (b"kept too", True)):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush(PATIENCE_S)
        if end:
            producer.commit_transaction(PATIENCE_S)
        else:
            producer.abort_transaction(PATIENCE_S)
    consumer = clients.consumer("committed", **{"isolation.level": "read_committed"})
    assert sorted(read_all(consumer, topic, 2)) == [b"kept", b"kept too"]
    consumer.close()


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_a_producer_that_wants_no_answer_shifts_no_answer(clients, acks):
    topic = clients.create_topic(1, BROKERS)
    producer = clients.producer(f"acks-{acks}", acks=acks)
    write_all(producer, topic, VALUES)
    # On the same connections as the records.
    assert topic in producer.list_topics(timeout=PATIENCE_S).topics
    write_all(producer, topic, VALUES)
    consumer = clients.consumer("reader")
    assert len(read_all(consumer, topic, 2 * len(VALUES))) == 2 * len(VALUES)
    consumer.close()


def find_newest_offset(admin, partition):
    """Ask for the end of a partition of a topic that is there, or is about to be."""

    def ask():
        asked = admin.list_offsets({partition: OffsetSpec.latest()})
        try:
            return asked[partition].result(PATIENCE_S).offset
        except KafkaException as error:
            # Any broker may answer, and learns of leaders a moment after another.
            if error.args[0].code() not in (KafkaError._NOENT, *NOT_YET):
                raise
            # Once told that there is no leader, librdkafka asks no more by itself.
            find_partitions(admin, partition.topic)
            return None

    return wait_for(ask, lambda offset: offset is not None)


def test_admins_work_through_the_proxy(clients, topic):
    admin = clients.admin
    assert find_newest_offset(admin, TopicPartition(topic, 0)) >= 0
    name = clients.create_topic(1, 1)
    admin.delete_topics([name])[name].result(PATIENCE_S)


def test_configs_are_altered_and_described(clients, topic, wait_until):
    admin = clients.admin

    def describe():
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        # Any broker may answer, and learns of it a moment after its controller.
        try:
            configs = admin.describe_configs([resource])[resource].result(PATIENCE_S)
        except KafkaException:
            return None
        return configs["retention.ms"].value

    entry = ConfigEntry(
        "retention.ms", "7654321", incremental_operation=AlterConfigOpType.SET
    )
    resource = ConfigResource(
        ConfigResource.Type.TOPIC, topic, incremental_configs=[entry]
    )
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)
    wait_until(lambda: describe() == "7654321")


def test_groups_are_listed_described_moved_and_deleted(clients):
    admin, topic = clients.admin, clients.create_topic(1, 1)
    write_all(clients.producer("p"), topic, VALUES)
    group, partition = f"group-{topic}", TopicPartition(topic, 0, 5)
    consumer = clients.consumer("c", **{"group.id": group})
    read_all(consumer, topic, len(VALUES))
    consumer.commit(asynchronous=False)
    described = admin.describe_consumer_groups([group])[group].result(PATIENCE_S)
    assert [one.client_id for one in described.members] == ["c"]
    consumer.close()
    listed = admin.list_consumer_groups().result(PATIENCE_S)
    assert not listed.errors
    assert group in {one.group_id for one in listed.valid}
    moved = ConsumerGroupTopicPartitions(group, [partition])
    admin.alter_consumer_group_offsets([moved])[group].result(PATIENCE_S)
    asked = ConsumerGroupTopicPartitions(group)
    offsets = admin.list_consumer_group_offsets([asked])[group].result(PATIENCE_S)
    assert [one.offset for one in offsets.topic_partitions] == [5]
    admin.delete_consumer_groups([group])[group].result(PATIENCE_S)
    listed = admin.list_consumer_groups().result(PATIENCE_S)
    assert group not in {one.group_id for one in listed.valid}


def test_a_cluster_without_an_authorizer_says_so(cluster, clients):
    # librdkafka takes it for an empty list, hence the bytes: any resource, by anyone.
    null = b"\xff\xff"
    every = b"\1" + null + b"\1" + null + null + b"\1\1"
    ask = 29, 1, every
    (answer,) = ask_in_bytes(clients.base["bootstrap.servers"], ask)
    assert [answer] == ask_in_bytes(cluster.bootstrap_servers, ask)
    # Correlation id, throttle time.
    assert struct.unpack_from(">h", answer, 8) == (KafkaError.SECURITY_DISABLED,)


def test_a_client_names_its_instance_in_version_6_of_apiversions(cluster):
    named = uuid.uuid4().bytes
    # No tags; name and version; no cluster, no node; the instance; no tags.
    software = b"\0\x05test\x042.0\0\xff\xff\xff\xff" + named + b"\0"
    get = b"\0" + bytes(16) + b"\0"
    settings = proxy_settings(cluster, "client_config.enabled=true")
    with running_bridge(settings) as (server, _endpoint):
        apis, subscriptions = ask_in_bytes(
            find_servers(server), (18, 6, software), (71, 0, get)
        )
    # The cluster's answer, which has no error, and what the bridge adds to it.
    assert apis[4:6] == b"\0\0"
    assert struct.pack(">hhh", settings.client_config.api_key, 0, 0) in apis
    assert struct.pack(">hhh", 74, 0, 1) in apis
    # Correlation id, no tags, throttle time, error code.
    assert subscriptions[11:27] == named


def test_telemetry_arrives_and_says_who_sent_it(cluster, clients, settings, topic):
    names = ("seen-1", "seen-2")
    producer, consumer = (clients.producer(names[0]), clients.consumer(names[1]))
    consumer.subscribe([topic])

    def poll_clients():
        producer.produce(topic, b"x")
        producer.poll(0.05)
        consumer.poll(0.05)

    by_client = wait_for_pushes(cluster, settings.topics.telemetry, names, poll_clients)
    consumer.close()
    producer.flush(PATIENCE_S)
    for client_id in names:
        one = by_client[client_id]
        assert one["principal"] == "User:ANONYMOUS"
        assert one["listener"] == "PROXY"
        assert one["client_source_address"] == "127.0.0.1"
        assert one["client_software_name"] == "confluent-kafka-python"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_bridge_says_first_what_clients_set_and_what_its_own_listener_is_for(
    cluster, tmp_path, wait_until, workers
):
    base = pick_base_port(BROKERS)
    bridge = BridgeProcess(
        tmp_path, cluster.bootstrap_servers, f"telemetry-{uuid.uuid4()}",
        "proxy.enabled=true", f"proxy.base_port={base}",
        f"bridge.workers={workers}", "bridge.http_port=0",
    )  # fmt: skip
    bridge.start()
    try:
        first, second = bridge.said
        assert first == f"bootstrap.servers=127.0.0.1:{base}"
        assert second.startswith(f"bridge: 127.0.0.1:{bridge.port} (only for pushes: ")
        if workers == 1:
            pages = bridge.read_line()
            assert pages.startswith("metrics and health: http://127.0.0.1:")
        clients = ProxiedClients(first.partition("=")[2])
        topic = clients.create_topic(3, BROKERS)
        write_all(clients.producer("p"), topic, VALUES)
        assert len(read_all(clients.consumer("c"), topic, len(VALUES))) == len(VALUES)
        lost = ProxiedClients(f"127.0.0.1:{bridge.port}").producer("lost")
        lost.list_topics(topic, timeout=PATIENCE_S)
        told = f"bootstrap.servers=127.0.0.1:{base}"
        wait_until(
            lambda: any(
                "asks for topics" in line and told in line
                for line in bridge.log_path.read_text().splitlines()
            )
        )
    finally:
        bridge.close()


def test_new_clients_find_the_cluster_while_a_broker_is_down(cluster, wait_until):
    # The proxy does not know that it is down.
    settings = proxy_settings(cluster, "proxy.metadata_poll_ms=60000")
    with running_bridge(settings) as (server, _endpoint):
        port = server.proxy.brokers.known[2].port
        cluster.kill(2)
        try:
            for _ in range(BROKERS):
                # Its first connection alone must do.
                versions = ask_in_bytes(find_servers(server), (18, 0, b""))
                assert versions[0][4:6] == b"\0\0"
            # Nobody accepts at the port of a broker that is down, as without a proxy.
            wait_until(lambda: is_refused(port))
        finally:
            cluster.restart(2)
        wait_until(lambda: is_answering(f"127.0.0.1:{port}"))


def is_refused(port):
    try:
        socket.create_connection(("127.0.0.1", port), PATIENCE_S).close()
    except ConnectionError as error:
        return isinstance(error, ConnectionRefusedError)
    return False


def is_answering(servers):
    """Say whether a proxy's port passes a question on to its broker."""
    try:
        return bool(ask_in_bytes(servers, (18, 0, b"")))
    except (OSError, struct.error):
        return False


@pytest.mark.long
def test_a_broker_that_leaves_and_comes_back_is_followed(
    cluster, clients, server, wait_until
):
    port = server.proxy.brokers.known[3].port
    topic = clients.create_topic(6, BROKERS)
    producer = clients.producer("restless")
    write_all(producer, topic, VALUES)
    cluster.kill(3)
    wait_until(lambda: 3 not in server.proxy.brokers.known)
    write_all(producer, topic, VALUES)
    # Somebody else has its port when it comes back, and leaves it soon.
    with socket.create_server(("127.0.0.1", port)):
        cluster.restart(3)
        wait_until(lambda: 3 in server.proxy.brokers.known)
        assert server.proxy.brokers.known[3].port == port
    wait_until(lambda: is_answering(f"127.0.0.1:{port}"))
    write_all(producer, topic, VALUES)
    consumer = clients.consumer("all-of-it")
    assert len(read_all(consumer, topic, 3 * len(VALUES))) == 3 * len(VALUES)
    consumer.close()


@pytest.mark.long
def test_a_rolling_restart_loses_nothing_that_was_acknowledged(cluster, clients):
    topic = clients.create_topic(6, BROKERS)
    stop, written = threading.Event(), []

    def write():
        producer = clients.producer("rolling", **{"enable.idempotence": True})
        number = 0
        while not stop.is_set():
            producer.produce(
                topic,
                b"%d" % number,
                on_delivery=lambda error, record: (
                    None if error else written.append(record.value())
                ),
            )
            number += 1
            producer.poll(0.002)
        assert producer.flush(PATIENCE_S) == 0

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for broker in (1, 2, 3):
            cluster.restart(broker)
    finally:
        stop.set()
        writer.join(PATIENCE_S)
    consumer = clients.consumer("after-all")
    read = read_all(consumer, topic, len(written))
    consumer.close()
    assert len(written) > 0
    assert sorted(read) == sorted(written)
