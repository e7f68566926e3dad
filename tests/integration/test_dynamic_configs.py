"""Dynamic client configs with a real Kafka: kept, agreed on, and resolved."""

import json
import time
import urllib.error
import urllib.request
import uuid

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, ConfigResource

from pipelines.kafka_client.client_configs import Op
from tests.bench.dynamic_config_load import KEPT, fill
from tests.long.dynamic_config_kills import show
from tests.support.bridge.bridge_support import make_settings, running_bridge
from tests.support.bridge.dynamic_configs import (
    ConfigClient,
    client,
    read_store,
    set_configs,
    user,
    wait_loaded,
)
from tests.support.bridge.proxy_support import find_servers, proxy_settings
from udfs.dynamic_configs import SupportedRecord, record_key, record_value

ADMIN = 'bridge.admin_principals=["User:ANONYMOUS"]'


def address_of(endpoint):
    host, _, port = endpoint.rpartition(":")
    return host, int(port)


@pytest.fixture
def topic():
    return f"client-configs-{uuid.uuid4()}"


def registrations_of(topic):
    """Return the topic of registrations beside a topic of configs."""
    return f"{topic}-registrations"


@pytest.fixture
def own(kafka, topic):
    """Settings of a bridge with a store of its own."""

    def make(*changes):
        return make_settings(
            kafka, ADMIN, f"topics.client_configs={topic}",
            f"topics.client_registrations={registrations_of(topic)}",
            "dynamic_configs.enabled=true", "bridge.http_port=0", *changes,
        )  # fmt: skip

    return make


def write(kafka, topic, key, value):
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce(topic, value, key)
    assert producer.flush(60) == 0


def read_topic_config(kafka, topic):
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    admin_client = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    return admin_client.describe_configs([resource])[resource].result(60)


def test_a_config_is_kept_resolved_and_removed(own, kafka, topic):
    alice = client("ANONYMOUS", "app")
    with running_bridge(own()) as (server, endpoint):
        address = address_of(endpoint)
        wait_loaded(address)
        assert server.dynamic_configs.readiness().fault is None
        with ConfigClient(address) as admin, ConfigClient(address, "app") as app:
            served = app.name_software("apache-kafka-java", "4.3.1")
            assert {10_050, 10_051} <= served.keys()
            assert admin.alter(
                set_configs(user("ANONYMOUS"), acks="all", session_timeout_ms="9000"),
                set_configs(alice, acks="0"),
            ) == [(0, None), (0, None)]
            assert app.resolve(("acks", "password=x")) == {
                "acks": "0",
                "session.timeout.ms": "9000",
            }
            gone = set_configs(alice)._replace(ops=(Op("acks", "", True),))
            assert admin.alter(gone) == [(0, None)]
            assert app.resolve()["acks"] == "all"
            deadline = time.monotonic() + 60
            while alice not in admin.find_all():
                assert time.monotonic() < deadline
            software = "ClientInformation(softwareName=apache-kafka-java, "
            software += "softwareVersion=4.3.1)"
            described = json.loads(admin.find_all()[alice]["supported.configs"])
            assert described == {software: "acks"}
    *kept, (told, _) = read_store(kafka.bootstrap_servers, topic)
    values = [value["config_value"] for _, value in kept]
    assert sorted(values, key=str) == sorted(["all", "9000", "0", None], key=str)
    assert {value["altered_by"] for _, value in kept} == {"User:ANONYMOUS"}
    assert told == b"RegistrationsWritten"
    ((_, registered),) = read_store(kafka.bootstrap_servers, registrations_of(topic))
    assert registered["config_keys"] == ["acks"]
    config = read_topic_config(kafka, topic)
    assert config["cleanup.policy"].value == "compact"
    assert config["min.compaction.lag.ms"].value == "604800000"


FLOOD = 20_000
SHORT_LAG = {
    "cleanup.policy": "compact",
    "min.compaction.lag.ms": "300000",
    "segment.ms": "600000",
}


def test_listener_opens_when_a_flooded_store_is_loaded(own, kafka, topic):
    """Each record above the kept ones of a user has a tombstone after it."""
    alteration = set_configs(user("ANONYMOUS"), acks="1")
    with (
        running_bridge(own()) as (_, endpoint),
        ConfigClient(address_of(endpoint)) as admin,
    ):
        assert admin.alter(alteration) == [(0, None)]
    fill(kafka.bootstrap_servers, registrations_of(topic), FLOOD, users=1)
    with running_bridge(own()) as (server, endpoint):
        counters = server.dynamic_configs.counters
        assert counters.is_loaded
        assert (counters.entities, counters.registrations) == (1, KEPT)
        with ConfigClient(address_of(endpoint)) as app:
            assert app.resolve() == {"acks": "1"}


def test_flood_of_one_connection_writes_few_registrations(own, kafka, topic):
    limit = "dynamic_configs.max_registrations_per_connection=4"
    with running_bridge(own(limit)) as (server, endpoint):
        counters = server.dynamic_configs.counters
        with ConfigClient(address_of(endpoint)) as app:
            for number in range(500):
                app._link._session._client_id = f"id-{number}"
                assert app.resolve(("acks",)) == {}
        deadline = time.monotonic() + 60
        # A client is answered before its registration is counted.
        while counters.registrations + counters.lost_registrations < 500:
            assert time.monotonic() < deadline
        assert (counters.registrations, counters.lost_registrations) == (4, 496)
    stored = read_store(kafka.bootstrap_servers, registrations_of(topic))
    assert len(stored) == 4


def test_registrations_are_loaded_and_compacted_early(own, kafka, topic):
    limit = "dynamic_configs.max_registrations_per_user=1"
    who, registrations = "ANONYMOUS", registrations_of(topic)
    old = SupportedRecord(who, "old", "library", "1", ("acks",), 1)
    with running_bridge(own()):
        config = read_topic_config(kafka, registrations)
    found = {name: config[name].value for name in SHORT_LAG}
    assert found == SHORT_LAG
    write(kafka, registrations, record_key(old), record_value(old))
    with running_bridge(own(limit)) as (server, endpoint):
        assert server.dynamic_configs.counters.registrations == 1
        with ConfigClient(address_of(endpoint)) as admin:
            assert admin.find_all().keys() == {client(who, "old")}
            with ConfigClient(address_of(endpoint), "new") as app:
                app.name_software("library", "2")
                assert app.resolve(("acks",)) == {}
            deadline = time.monotonic() + 60
            while client(who, "old") in (found := admin.find_all()):
                assert time.monotonic() < deadline
            assert found.keys() == {client(who, "new")}
    new = old._replace(client_id="new", client_software_version="2")
    stored = [*read_store(kafka.bootstrap_servers, registrations)]
    assert (record_key(old), None) in stored
    assert record_key(new) in [key for key, _ in stored]


def test_what_cannot_be_read_is_passed_over_and_what_is_unknown_is_not_given(
    own, kafka, topic, tmp_path, caplog
):
    with running_bridge(own()) as (_, endpoint):
        wait_loaded(address_of(endpoint))
        with ConfigClient(address_of(endpoint)) as admin:
            alteration = set_configs(user("ANONYMOUS"), acks="1")
            assert admin.alter(alteration) == [(0, None)]
    write(kafka, topic, b"other/thing", b"{}")
    write(kafka, topic, b"ClientConfig/users/bob/acks", b'{"v":1}')
    write(kafka, topic, b"ClientConfig/users/bob/acks", None)
    keys = tmp_path / "keys.toml"
    keys.write_text(
        '[[keys]]\nname="linger.ms"\nclient_types=["producer"]\ntype="LONG"'
    )
    settings = own(f"dynamic_configs.keys_location={keys}")
    with running_bridge(settings) as (server, endpoint):
        wait_loaded(address_of(endpoint))
        with ConfigClient(address_of(endpoint), "app") as admin:
            assert admin.find_all() == {user("ANONYMOUS"): {"acks": "1"}}
            assert admin.resolve() == {}
            ((code, text),) = admin.alter(alteration)
        assert (code, text) == (
            42,
            "Unknown dynamic client config acks: this bridge takes linger.ms",
        )
        counters = server.dynamic_configs.counters
        assert counters.unknown_values == {"acks": 1}
        assert counters.unreadable_records == {"unknown_type": 1, "malformed": 1}
    assert f"of topic {topic} cannot be read (unknown_type)" in caplog.text


def test_a_bridge_that_has_not_read_to_the_end_says_so(own):
    settings = own("topics.client_configs=no/topic", "bridge.http_port=0")
    with running_bridge(settings) as (server, endpoint):
        with ConfigClient(address_of(endpoint), "app") as admin:
            assert admin.describe().error_code == admin.resolve() == 14
            ((code, text),) = admin.alter(set_configs(user("bob"), acks="1"))
            assert (code, text[:31]) == (14, "This bridge has not read all dy")
        url = f"http://127.0.0.1:{server.watch.http_port}/readyz"
        with pytest.raises(urllib.error.HTTPError) as raised:
            urllib.request.urlopen(url, timeout=60)
        with raised.value as page:
            assert page.code == 503
            assert b"have not been read to their end (Kafka at" in page.read()


def test_the_proxy_answers_in_place_of_the_brokers(kafka, topic):
    settings = proxy_settings(
        kafka, ADMIN, "dynamic_configs.enabled=true",
        f"topics.client_configs={topic}",
        f"topics.client_registrations={registrations_of(topic)}",
    )  # fmt: skip
    with running_bridge(settings) as (server, endpoint):
        behind = address_of(find_servers(server))
        wait_loaded(behind)
        with ConfigClient(behind) as admin, ConfigClient(behind, "app") as app:
            served = app.name_software("apache-kafka-java", "4.3.1")
            # Beside what the broker serves.
            assert {0, 10_050, 10_051} <= served.keys()
            altered = admin.alter(set_configs(client("ANONYMOUS", "app"), acks="1"))
            assert altered == [(0, None)]
            assert app.resolve(("acks",)) == {"acks": "1"}
        with ConfigClient(address_of(endpoint), "app") as app:
            assert app.resolve() == {"acks": "1"}


@pytest.mark.long
def test_bridges_agree_while_they_are_killed_and_lose_no_alteration(
    kafka, topic, tmp_path
):
    show(kafka, tmp_path, rounds=1, say=lambda _line: None, topic=topic)
