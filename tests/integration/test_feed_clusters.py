"""Which cluster is fed, what is missing without rights, and when nothing is fed."""

import asyncio
import logging
import uuid

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from pipelines.bridge.server import BridgeServer
from pipelines.embedded import EmbeddedKafka
from pipelines.embedded.ports import pick_free_ports
from pipelines.errors import InvalidSetting
from pipelines.settings.secret_references import SecretReader
from tests.support.bridge.bridge_support import make_settings, running_bridge
from tests.support.clients.java_programs import AUTHORIZER
from tests.support.feed.topic_reader import TopicReader
from tests.support.kafka.topics import make_topic
from udfs.cluster.record_bytes import read_record

PATIENCE_S = 60
ANYBODY = AUTHORIZER | {
    "super.users": "User:nobody", "allow.everyone.if.no.acl.found": "true",
}  # fmt: skip


def settings_of(kafka, topic, *more):
    return make_settings(
        kafka, f"topics.cluster={topic}", "bridge.http_port=-1",
        "cluster.poll_ms=200", *more,
    )  # fmt: skip


def said(caplog, text):
    return [one.getMessage() for one in caplog.records if text in one.getMessage()]


def test_clients_cluster_is_fed_and_another_one_there_only_if_accepted(
    java, kafka, wait_until, caplog
):
    caplog.set_level(logging.INFO)
    (port,) = pick_free_ports(1)
    topic = f"clusters-{uuid.uuid4()}"
    settings = settings_of(kafka, topic, f"upstream.bootstrap_servers=127.0.0.1:{port}")
    reader = TopicReader(kafka, topic)
    with EmbeddedKafka(java=java, port=port), running_bridge(settings):
        end = reader.wait_for_full_set()
    first = {one.text("cluster_id") for one in reader.records}
    endpoints = read_record(
        reader.wait_for_key("RegisterBroker/brokers/1").value
    ).fields["endpoints"]
    assert [one["port"] for one in endpoints] == [port]
    with EmbeddedKafka(java=java, port=port):
        with running_bridge(settings):
            wait_until(lambda: said(caplog, "--accept-cluster-id"))
        while reader.poll() is not None:
            pass
        assert len(reader.records) == end
        (warning,) = said(caplog, "--accept-cluster-id")
        accepted = warning.partition("--accept-cluster-id ")[2].split()[0]
        with running_bridge(settings, accepted_cluster_id=accepted):
            reader.wait_for_full_set(start=end)
    assert {one.text("cluster_id") for one in reader.records[end:]} == {accepted}
    assert first != {accepted}
    reader.close()


def test_missing_right_is_named_and_all_else_goes_on(java, kafka, caplog, wait_until):
    topic = f"rights-{uuid.uuid4()}"
    with EmbeddedKafka(java=java, broker_properties=ANYBODY) as upstream:
        admin = AdminClient({"bootstrap.servers": upstream.bootstrap_servers})
        for operation, permission, principal in (
            (AclOperation.ALL, AclPermissionType.ALLOW, "User:*"),
            (AclOperation.DESCRIBE_CONFIGS, AclPermissionType.DENY, "User:ANONYMOUS"),
        ):
            acl = AclBinding(
                ResourceType.BROKER, "kafka-cluster", ResourcePatternType.LITERAL,
                principal, "*", operation, permission,
            )  # fmt: skip
            admin.create_acls([acl])[acl].result(PATIENCE_S)
        settings = settings_of(
            kafka, topic, f"upstream.bootstrap_servers={upstream.bootstrap_servers}"
        )
        with running_bridge(settings) as (server, _):
            reader = TopicReader(kafka, topic)
            reader.wait_for_full_set()
            faults = server.feed.counters.faults
            wait_until(lambda: faults["quotas", "refused"] > 1)
            assert faults["brokers", "refused"] > 0
    registration, closing = reader.records
    assert registration.text("static_configs") == "refused"
    assert read_record(registration.value).fields["static_configs"] is None
    assert closing.value == b'{"v":1,"records":1,"covers":["brokers"]}'
    (warning,) = said(caplog, "the feed of the cluster lacks quotas")
    assert "needs DESCRIBE_CONFIGS on the cluster" in warning
    reader.close()


def test_topic_of_more_partitions_ends_the_start_by_name(kafka):
    topic = f"wide-{uuid.uuid4()}"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    make_topic(admin, NewTopic(topic, 2))
    settings = settings_of(kafka, topic)
    server = BridgeServer(settings, SecretReader(environ={}))
    with pytest.raises(InvalidSetting, match=f"{topic} has 2 partitions"):
        asyncio.run(server.serve(asyncio.Event(), lambda _host, _port: None))


def test_source_without_controllers_ends_the_start_by_name(kafka):
    settings = settings_of(kafka, "any", "cluster.source=metadata_log")
    with pytest.raises(InvalidSetting, match=r"cluster\.controller_servers"):
        BridgeServer(settings, SecretReader(environ={}))


def test_broker_among_the_controllers_is_named(kafka, caplog, wait_until):
    settings = settings_of(
        kafka, f"named-{uuid.uuid4()}", "cluster.source=metadata_log",
        f"cluster.controller_servers={kafka.bootstrap_servers}",
    )  # fmt: skip
    with running_bridge(settings):
        wait_until(lambda: said(caplog, "is no controller"))
    (warning,) = said(caplog, "is no controller")
    assert kafka.bootstrap_servers in warning


def test_source_that_is_off_makes_no_topic(kafka):
    topic = f"off-{uuid.uuid4()}"
    with running_bridge(settings_of(kafka, topic, "cluster.source=off")):
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        assert topic not in admin.list_topics(timeout=PATIENCE_S).topics


@pytest.mark.long
def test_log_that_begins_with_a_snapshot_is_fed_by_it(java, wait_until, caplog):
    caplog.set_level(logging.INFO)
    often = {"metadata.log.max.record.bytes.between.snapshots": "500"}
    topic = f"snapshots-{uuid.uuid4()}"
    with EmbeddedKafka(java=java, broker_properties=often) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        make_topic(admin, NewTopic("of-the-log", 1, config={"retention.ms": "123456"}))
        log = cluster.folder / "broker-1" / "data" / "__cluster_metadata-0"
        wait_until(
            lambda: [
                one for one in log.glob("*.checkpoint") if one.name[:20].strip("0")
            ]
        )
        settings = settings_of(
            cluster, topic, "cluster.source=metadata_log",
            f"cluster.controller_servers={cluster.controller_bootstrap_servers}",
        )  # fmt: skip
        with running_bridge(settings):
            reader = TopicReader(cluster, topic)
            end = reader.wait_for_full_set()
            make_topic(admin, NewTopic("later", 1, config={"retention.ms": "654321"}))
            later = reader.wait_for_key("Config/topics/later/retention.ms", start=end)
    assert said(caplog, "begins behind offset 0: snapshot")
    members = reader.records[: end - 1]
    assert {one.text("set_id") for one in members} == {members[0].text("set_id")}
    assert "RegisterBroker/brokers/1" in [one.key for one in members]
    assert later.number("offset") > reader.records[end - 1].number("offset")
    assert later.text("set_id") is None
    reader.close()


def test_deleted_topic_removes_its_configs_live_and_while_no_bridge_ran(kafka):
    """A bridge that starts later has not read the name of the deleted topic."""
    feed_topic = f"deleted-{uuid.uuid4()}"
    names = [f"{word}-{uuid.uuid4()}" for word in ("live", "later", "kept")]
    keys = [f"Config/topics/{name}/retention.ms" for name in names]
    settings = settings_of(
        kafka, feed_topic, "cluster.source=metadata_log",
        f"cluster.controller_servers={kafka.controller_bootstrap_servers}",
    )  # fmt: skip
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    for name in names:
        make_topic(admin, NewTopic(name, 1, config={"retention.ms": "123456"}))
    reader = TopicReader(kafka, feed_topic)
    with running_bridge(settings):
        end = reader.wait_for_full_set()
        assert {*keys} <= {one.key for one in reader.records[:end]}
        admin.delete_topics(names[:1])[names[0]].result(timeout=PATIENCE_S)
        removal = reader.wait_for_key(keys[0], start=end)
    assert read_record(removal.value).fields["value"] is None
    assert removal.text("set_id") is None
    admin.delete_topics(names[1:2])[names[1]].result(timeout=PATIENCE_S)
    start = len(reader.records)
    with running_bridge(settings):
        end = reader.wait_for_full_set(start=start)
    members = {one.key for one in reader.records[start:end]}
    assert members & {*keys} == {keys[2]}
    reader.close()
