"""What Kafka's own commands alter in a cluster stands in the feed's topic."""

import time
import uuid

import pytest

from pipelines.embedded import EmbeddedKafka
from pipelines.settings.loading import load_broker_configs
from tests.support.bridge.bridge_support import make_settings, running_bridge
from tests.support.feed.topic_reader import TopicReader
from tests.support.kafka.kafka_commands import ask_configs
from udfs.cluster.broker_catalog import judge_name
from udfs.cluster.record_bytes import read_record

# The quicker one first: each is read while it is waited for.
LIMIT_S = {"metadata_log": 1.0, "admin_api": 5.0}
CANARY = "canary-7f3a-open-sesame"
# None of them may hold the bridges up, nor whoever reads their topics.
QUOTA_KEYS = {
    "producer_byte_rate": "1000000001", "consumer_byte_rate": "1000000002",
    "request_percentage": "10000.5", "controller_mutation_rate": "10000.25",
}  # fmt: skip
USERS, CLIENTS, IPS = (
    ("--entity-type", kind, *name)
    for kind, name in (
        ("users", ()), ("clients", ()), ("ips", ()),
    )
)  # fmt: skip
NAMED, DEFAULT = "--entity-name", "--entity-default"
ENTITIES = {
    "users/alice": (*USERS, NAMED, "alice"),
    "users/<default>": (*USERS, DEFAULT),
    "users/a%20b%2Fc": (*USERS, NAMED, "a b/c"),
    "clients/c1": (*CLIENTS, NAMED, "c1"),
    "clients/<default>": (*CLIENTS, DEFAULT),
    "users/alice/clients/c1": (*USERS, NAMED, "alice", *CLIENTS, NAMED, "c1"),
    "users/alice/clients/<default>": (*USERS, NAMED, "alice", *CLIENTS, DEFAULT),
    "users/<default>/clients/c1": (*USERS, DEFAULT, *CLIENTS, NAMED, "c1"),
    "users/<default>/clients/<default>": (*USERS, DEFAULT, *CLIENTS, DEFAULT),
}
IP_ENTITIES = {
    "ips/10.0.0.7": (*IPS, NAMED, "10.0.0.7"),
    "ips/<default>": (*IPS, DEFAULT),
}
BROKERS = ("--entity-type", "brokers")


class Feeds:
    """Two bridges that feed one cluster from both sources, each to its own topic."""

    def __init__(self, java, cluster, readers):
        self._java, self._cluster, self.readers = java, cluster, readers
        self._late_s = {source: [] for source in readers}

    def alter(self, *words):
        """Alter something; return the time at which it was done."""
        code, output = ask_configs(
            self._java, self._cluster.bootstrap_servers, "--alter", *words
        )
        assert code == 0, output
        return time.monotonic()

    def expect(self, done_s, *keys):
        """Return the newest fields of each key by source, once all came."""
        found = {}
        for source, reader in self.readers.items():
            for key in keys:
                place = reader.wait_for(
                    lambda one, key=key: one.key == key, start=self.starts[source]
                )
                self._late_s[source].append(reader.came_s[place] - done_s)
                record = reader.records[place]
                assert record.text("source") == source
                found[source, key] = read_record(record.value).fields
        return found

    def judge_times(self):
        """Expect that each alteration arrived in time."""
        for source, late_s in self._late_s.items():
            assert max(late_s) <= LIMIT_S[source], (source, late_s)

    def mark(self):
        """Expect what comes from now on."""
        for one in self.readers.values():
            while one.poll(0.01) is not None:
                pass
        self.starts = {name: len(one.records) for name, one in self.readers.items()}


@pytest.fixture(scope="module")
def cluster(java):
    with EmbeddedKafka(3, java=java) as brokers:
        yield brokers


def settings_of(cluster, source, topic, *more):
    return make_settings(
        cluster, f"topics.cluster={topic}", "bridge.http_port=-1",
        f"cluster.source={source}",
        f"cluster.controller_servers={cluster.controller_bootstrap_servers}", *more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def feeds(java, cluster):
    topics = {source: f"{source}-{uuid.uuid4()}" for source in LIMIT_S}
    log, admin = (
        settings_of(cluster, source, topic) for source, topic in topics.items()
    )
    with running_bridge(admin), running_bridge(log):
        readers = {one: TopicReader(cluster, topic) for one, topic in topics.items()}
        for one in readers.values():
            one.wait_for_full_set()
        yield Feeds(java, cluster, readers)
        for one in readers.values():
            one.close()


@pytest.mark.long
def test_quotas_of_all_forms_and_keys_are_fed(feeds):
    for path, words in ENTITIES.items():
        feeds.mark()
        quotas = ",".join(f"{key}={value}" for key, value in QUOTA_KEYS.items())
        done_s = feeds.alter(*words, "--add-config", quotas)
        keys = {f"ClientQuota/{path}/{key}": key for key in QUOTA_KEYS}
        for (_, key), fields in feeds.expect(done_s, *keys).items():
            assert fields["value"] == float(QUOTA_KEYS[keys[key]])
            assert not fields["remove"]
    for path, words in IP_ENTITIES.items():
        feeds.mark()
        done_s = feeds.alter(*words, "--add-config", "connection_creation_rate=70000")
        found = feeds.expect(done_s, f"ClientQuota/{path}/connection_creation_rate")
        assert {one["value"] for one in found.values()} == {70000.0}
    feeds.mark()
    done_s = feeds.alter(
        *ENTITIES["users/alice"], "--delete-config", "request_percentage"
    )
    found = feeds.expect(done_s, "ClientQuota/users/alice/request_percentage")
    assert all(one["remove"] for one in found.values())
    feeds.judge_times()


def test_subscriptions_and_configs_of_brokers_and_groups_are_fed(feeds):
    cases = [
        ("Config/client-metrics/team-a/interval.ms", "1000",
         ("--entity-type", "client-metrics", NAMED, "team-a"), "interval.ms"),
        ("Config/groups/g1/consumer.session.timeout.ms", "50000",
         ("--entity-type", "groups", NAMED, "g1"), "consumer.session.timeout.ms"),
        ("Config/brokers/2/log.segment.bytes", "268435456",
         (*BROKERS, NAMED, "2"), "log.segment.bytes"),
        ("Config/brokers//log.retention.ms", "5000000",
         (*BROKERS, DEFAULT), "log.retention.ms"),
    ]  # fmt: skip
    for key, value, words, name in cases:
        feeds.mark()
        done_s = feeds.alter(*words, "--add-config", f"{name}={value}")
        found = feeds.expect(done_s, key)
        assert [one["value"] for one in found.values()] == [value, value]
    for key, _, words, name in cases[:3]:
        feeds.mark()
        done_s = feeds.alter(*words, "--delete-config", name)
        found = feeds.expect(done_s, key)
        assert [one["value"] for one in found.values()] == [None, None]
    feeds.judge_times()


def test_static_value_is_told_beside_a_dynamic_one(feeds):
    registration = feeds.readers["admin_api"].wait_for_key("RegisterBroker/brokers/1")
    static = {
        one["name"]: one["value"]
        for one in read_record(registration.value).fields["static_configs"]
    }
    assert static["num.partitions"] == "3"
    defaults = registration.text("defaults").split(",")
    assert "num.partitions" not in defaults
    assert "log.segment.bytes" in defaults
    assert set(defaults) < set(static)
    catalog = load_broker_configs()
    assert {judge_name(one, catalog) for one in static} == {"reported"}
    # Of the 192 that the catalogue has, brokers keep internal ones to themselves.
    assert len(static) > 170


def test_secrets_are_in_no_record(feeds):
    feeds.mark()
    name = "listener.name.elsewhere.ssl.keystore.password"
    feeds.alter(*BROKERS, NAMED, "1", "--add-config", f"{name}={CANARY}")
    words = (*USERS, NAMED, "scram-user", "--add-config")
    feeds.alter(*words, f"SCRAM-SHA-512=[iterations=4096,password={CANARY}]")
    done_s = feeds.alter(
        *ENTITIES["clients/c1"], "--add-config", "producer_byte_rate=1000000005"
    )
    feeds.expect(done_s, "ClientQuota/clients/c1/producer_byte_rate")
    feeds.judge_times()
    for source, reader in feeds.readers.items():
        place = reader.wait_for(
            lambda one: one.key == f"Config/brokers/1/{name}",
            start=feeds.starts[source],
        )
        record = reader.records[place]
        assert read_record(record.value).fields["value"] is None
        assert record.number("withheld") == 1
        for one in reader.records:
            parts = [one.key.encode(), one.value, *(value for _, value in one.headers)]
            assert CANARY.encode() not in b"".join(parts)
            assert "Scram" not in one.key


def test_a_second_feed_begins_where_the_first_one_ended(feeds, cluster):
    topic = f"again-{uuid.uuid4()}"
    settings = settings_of(cluster, "metadata_log", topic)
    with running_bridge(settings):
        reader = TopicReader(cluster, topic)
        end = reader.wait_for_full_set()
    quota = "ClientQuota/clients/c1/consumer_byte_rate"
    feeds.alter(
        *ENTITIES["clients/c1"], "--add-config", "consumer_byte_rate=1000000077"
    )
    with running_bridge(settings):
        place = reader.wait_for(lambda one: one.key == quota, start=end)
        reader.wait_for_full_set(start=end)
    record = reader.records[place]
    assert (record.text("set_id"), read_record(record.value).fields["value"]) == (
        None, 1_000_000_077.0,
    )  # fmt: skip
    offsets = [
        one.number("offset") for one in reader.records if one.text("set_id") is None
    ]
    assert offsets == sorted(set(offsets))
    reader.close()
