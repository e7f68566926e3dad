"""Whoever feeds the cluster is killed, and another one goes on."""

import os
import signal
import time
import uuid
from functools import partial

import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from tests.integration.test_bridge_workers import list_children
from tests.support.bridge.bridge_process import BridgeProcess
from tests.support.feed.topic_reader import TopicReader
from udfs.cluster.record_bytes import read_record

FAILOVER_S = 15.0
KEY = "Config/brokers/1/log.retention.ms"


def alter(kafka, value):
    """Set a dynamic config of the broker."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    entry = ConfigEntry(
        "log.retention.ms", str(value), incremental_operation=AlterConfigOpType.SET
    )
    resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
    (done,) = admin.incremental_alter_configs([resource]).values()
    done.result(60)


def is_feeding(bridge):
    """Say so of a bridge; one whose first worker begins anew does not feed."""
    try:
        page = bridge.fetch("/metrics")[1]
    except OSError:
        return False
    return "kafka_clientele_bridge_feeding 1.0" in page


def is_change_to(value, record):
    is_change = record.key == KEY and record.text("set_id") is None
    return is_change and read_record(record.value).fields["value"] == str(value)


@pytest.fixture
def bridges(kafka, tmp_path):
    """Two bridges with two workers each, and the topic that one of them feeds."""
    topic = f"kills-{uuid.uuid4()}"
    made = []
    for number in (1, 2):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        bridge = BridgeProcess(
            folder, kafka.bootstrap_servers, f"t-{topic}", f"topics.cluster={topic}",
            "bridge.workers=2", f"bridge.bridge_id=b{number}",
            "cluster.source=metadata_log",
            f"cluster.controller_servers={kafka.controller_bootstrap_servers}",
        )  # fmt: skip
        bridge.start()
        made.append(bridge)
    yield made, topic
    for one in made:
        one.close()


@pytest.mark.long
def test_another_bridge_feeds_when_the_one_is_killed(kafka, bridges, wait_until):
    made, topic = bridges
    reader = TopicReader(kafka, topic)
    end = reader.wait_for_full_set()
    values = iter(range(1_000_000, 2_000_000))
    told = []
    for _ in range(2):
        wait_until(lambda: any(map(is_feeding, made)))
        (feeder,) = [one for one in made if is_feeding(one)]
        told += [next(values), next(values)]
        alter(kafka, told[-2])
        # Their parent starts them again, and they wait for their turn.
        for pid in list_children(feeder.pid):
            os.kill(pid, signal.SIGKILL)
        killed_s = time.monotonic()
        wait_until(lambda feeder=feeder: not is_feeding(feeder))
        alter(kafka, told[-1])
        place = reader.wait_for(partial(is_change_to, told[-1]))
        assert reader.came_s[place] - killed_s <= FAILOVER_S
    reader.wait_for_full_set(start=end)
    alone = [one for one in reader.records if one.text("set_id") is None]
    seen = [read_record(one.value).fields["value"] for one in alone if one.key == KEY]
    assert seen == [str(one) for one in told]
    offsets = [one.number("offset") for one in alone if one.number("offset")]
    assert offsets == sorted(set(offsets))
    reader.close()
