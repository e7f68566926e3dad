"""From what connections show to records: in rounds, bounded, and never lost quietly."""

import json
import struct
from dataclasses import replace

import pytest

from pipelines.bridge.core.client_identity import KnownCluster
from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.handlers import Connection, make_identity
from pipelines.bridge.core.records import PushIds, RecordOutlet
from pipelines.bridge.proxy.wire import shown_by_clients
from pipelines.bridge.proxy.wire.shown_by_clients import WireConfigs
from pipelines.bridge.publishing.part import list_topics
from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.rules import make_sensitive_key_rules
from tests.unit.bridge.proxy.test_config_watch import make_join, make_produce

SETTINGS = load_settings("base", ["proxy.wire_configs=true"])
RULES = make_sensitive_key_rules(SETTINGS.sensitive_keys, load_config_catalogs())


class Client:
    def __init__(self, port):
        identity = make_identity("PROXY", "10.0.0.7", port)
        self.connection = Connection(connection_id=port, identity=identity)

    def is_named(self):
        return True


class Outlet:
    """A Kafka that takes records or refuses them."""

    def __init__(self):
        self.records, self.takes, self.failures = [], True, []
        self.asked = 0
        self.cluster = KnownCluster()
        self.counters = BridgeCounters()
        outlet = RecordOutlet(
            publish=self.publish,
            push_ids=PushIds(lambda _: 7),
            now_ms=lambda: 5,
            cluster=self.cluster,
        )
        self.configs = WireConfigs(
            SETTINGS, RULES, outlet, self.counters, note_failure=self.failures.append
        )

    def publish(self, record, acknowledge):
        self.asked += 1
        if self.takes:
            self.records.append(record)
        acknowledge(self.takes)

    def connect(self, port=1):
        return self.configs.watch(Client(port))


def show(watch, acks):
    frame = make_produce(acks)
    watch.look(frame, 0, (len(frame) - 4, 0, 3, 1, 3))


def acks_of(records):
    return [json.loads(one.value)["configs"]["acks"] for one in records]


def test_records_say_which_cluster_and_broker_the_client_is_connected_to():
    outlet = Outlet()
    watch = outlet.connect()
    connection = watch._client.connection
    show(watch, 0)
    outlet.configs.publish_new()
    connection.change_identity(replace(connection.identity, broker_id=3))
    outlet.cluster.note("cluster-1")
    show(watch, 1)
    outlet.configs.publish_new()
    before, after = (dict(one.headers) for one in outlet.records)
    assert before.keys() & {"cluster_id", "broker_id"} == set()
    assert (after["cluster_id"], after["broker_id"]) == (b"cluster-1", b"3")


def test_a_connection_has_one_record_for_all_that_came_before_a_round():
    outlet = Outlet()
    watch = outlet.connect()
    show(watch, 0)
    show(watch, 1)
    assert outlet.records == []
    outlet.configs.publish_new()
    outlet.configs.publish_new()
    assert acks_of(outlet.records) == ["1"]
    show(watch, 1)
    outlet.configs.publish_new()
    show(watch, -1)
    outlet.configs.publish_new()
    assert acks_of(outlet.records) == ["1", "all"]
    assert outlet.counters.wire_config_records == 2
    (record, other) = outlet.records
    assert record.topic == SETTINGS.topics.wire_configs
    assert record.key == b"User:ANONYMOUS/app/10.0.0.7"
    headers = dict(record.headers)
    assert headers["client_id"] == b"app"
    assert headers["client_source_port"] == b"1"
    assert headers["push_id"] != dict(other.headers)["push_id"]


def test_what_kafka_does_not_take_is_in_the_next_round():
    outlet = Outlet()
    show(outlet.connect(), 1)
    outlet.takes = False
    outlet.configs.publish_new()
    assert outlet.counters.wire_config_records == 0
    outlet.takes = True
    outlet.configs.publish_new()
    assert acks_of(outlet.records) == ["1"]


def test_what_kafka_refuses_at_once_is_tried_once_a_round():
    outlet = Outlet()
    for number in range(45):
        show(outlet.connect(number), 1)
    outlet.takes = False
    list(outlet.configs.publish_round())
    assert outlet.asked == 45
    outlet.takes = True
    list(outlet.configs.publish_round())
    list(outlet.configs.publish_round())
    assert len(outlet.records) == 45


def test_a_round_is_bounded_and_so_is_what_waits():
    outlet = Outlet()
    for number in range(shown_by_clients.MOST_WAITING + 3):
        show(outlet.connect(number), 1)
    assert outlet.counters.lost_wire_configs == 3
    outlet.configs.publish_new()
    assert len(outlet.records) == shown_by_clients.MOST_RECORDS


@pytest.mark.parametrize("is_on", [True, False])
def test_the_topic_is_made_where_it_is_written(is_on):
    settings = load_settings(
        "base", ["proxy.enabled=true", f"proxy.wire_configs={str(is_on).lower()}"]
    )
    seen = ["clientele.wire_configs"] if is_on else []
    written = list_topics(settings)
    assert written == ["clientele.telemetry", *seen, "clientele.traffic"]


def test_a_connection_whose_record_cannot_be_made_ends_nothing():
    outlet = Outlet()
    broken, other = outlet.connect(1), outlet.connect(2)
    show(broken, 0)
    show(other, 1)
    broken._client.connection.change_identity(
        replace(broken._client.connection.identity, principal="User:\ud800")
    )
    assert outlet.configs.publish_new() == 2
    assert acks_of(outlet.records) == ["1"]
    assert outlet.counters.lost_wire_configs == 1
    assert [type(one) for one in outlet.failures] == [UnicodeEncodeError]


def name_at_length(client):
    connection = client.connection
    connection.change_identity(
        replace(
            connection.identity,
            client_software_name="n" * 30_000,
            client_software_version="v" * 30_000,
            principal="User:" + "p" * 30_000,
        )
    )


@pytest.mark.parametrize("client_id", [b"app", b"i" * 300, b"\xff" * 200])
def test_records_take_twice_what_a_client_sends_and_1_kb_each(client_id):
    outlet = Outlet()
    client = Client(1)
    name_at_length(client)
    watch = outlet.configs.watch(client)
    received, join = 0, make_join(b"g" * 1_000)
    head = struct.unpack_from(">ihhih", join)
    watch.see(join, 0, head)
    received += len(join)
    for number in range(600):
        frame = make_produce(number % 2, client_id)
        watch.look(frame, 0, (len(frame) - 4, 0, 3, 1, len(client_id)))
        received += len(frame)
        outlet.configs.publish_new()
        kept = sum(
            len(one.key) + len(one.value)
            + sum(len(name) + len(value) + 4 for name, value in one.headers) + 30
            for one in outlet.records
        )  # fmt: skip
        assert kept <= 2 * received + 1_000 * len(outlet.records)
        for one in outlet.records[-1:]:
            assert sum(len(name) + len(value) for name, value in one.headers) < 8_000
    assert len(outlet.records) > 60


def test_what_was_held_back_comes_with_the_bytes_that_pay_for_it():
    outlet = Outlet()
    client = Client(1)
    name_at_length(client)
    watch = outlet.configs.watch(client)
    values = []
    for number in range(40):
        show(watch, number % 2)
        outlet.configs.publish_new()
        values.append(len(outlet.records))
    assert 0 < values[-1] < 40
    show(watch, 7)
    # Nothing new, and yet it is written in the end.
    for _ in range(40):
        show(watch, 7)
        outlet.configs.publish_new()
    assert acks_of(outlet.records)[-1] == "7"
    assert len(set(acks_of(outlet.records))) == 3
    before = len(outlet.records)
    for _ in range(40):
        show(watch, 7)
        outlet.configs.publish_new()
    assert len(outlet.records) == before


def test_what_kafka_refuses_costs_a_client_nothing():
    outlet = Outlet()
    watch = outlet.connect()
    show(watch, 1)
    outlet.takes = False
    for _ in range(50):
        outlet.configs.publish_new()
    outlet.takes = True
    outlet.configs.publish_new()
    assert acks_of(outlet.records) == ["1"]
