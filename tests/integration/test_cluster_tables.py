"""What a cluster is, from Kafka's own tools over both feeds and the job into rows."""

import uuid
from collections import Counter

import pytest
from confluent_kafka.admin import AdminClient
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.embedded import EmbeddedKafka
from pipelines.jobs.cluster.job import JOB_NAME
from pipelines.tables.cluster import (
    BROKER_REGISTRATIONS,
    BROKER_STATIC_CONFIGS,
    CLIENT_METRICS_SUBSCRIPTIONS,
    CLIENT_QUOTAS,
    RESOURCE_CONFIGS,
)
from tests.integration.test_cluster_feed import (
    BROKERS,
    CANARY,
    DEFAULT,
    ENTITIES,
    IP_ENTITIES,
    NAMED,
    QUOTA_KEYS,
    USERS,
)
from tests.support.bridge.bridge_support import running_bridge
from tests.support.bridge.proxy_support import (
    PATIENCE_S,
    ProxiedClients,
    find_servers,
    proxy_settings,
    write_all,
)
from tests.support.bridge.push_reader import PushReader
from tests.support.clients.java_programs import alter_configs
from tests.support.documents import find_block
from tests.support.feed.topic_reader import TopicReader
from tests.support.jobs.given_calls import run_line
from udfs.cluster.record_bytes import read_record

(JOB,) = find_block("docs/guide/brokers.md", "cluster-metadata-to-delta").commands
SOURCES = ADMIN, LOG = "admin_api", "metadata_log"
SEGMENT = "log.segment.bytes"
STATIC, DYNAMIC = "134217728", "268435456"
PASSWORD = "listener.name.elsewhere.ssl.keystore.password"
METRIC = "org.apache.kafka.producer.connection."
CLIENT_ID = "asked"
METRICS, GROUPS = (("--entity-type", kind) for kind in ("client-metrics", "groups"))
OWN = {
    "source", "valid_from", "not_before", "valid_to", "topic", "partition", "offset",
    "incarnation_id",
}  # fmt: skip
"""Columns in which both sources differ, of any table."""
OF_ONE = {
    "broker_epoch", "record_version", "registered_at", "ended_at", "features",
    "log_dirs", "cordoned_log_dirs", "in_controlled_shutdown",
    "is_migrating_zk_broker", "metadata_version", "static_configs",
}  # fmt: skip
"""Columns of registrations that only one of the sources knows."""
SET = (
    *(
        (*words, "--add-config", ",".join(f"{k}={v}" for k, v in QUOTA_KEYS.items()))
        for words in ENTITIES.values()
    ),
    *(
        (*words, "--add-config", "connection_creation_rate=70000")
        for words in IP_ENTITIES.values()
    ),
    # A user who is called so is not the default one.
    (*USERS, NAMED, "<default>", "--add-config", "producer_byte_rate=1000000009"),
    (*METRICS, NAMED, "team-a", "--add-config",
     "interval.ms=1000,metrics=[a.,b.],match=[client_id=x.*]"),
    (*METRICS, NAMED, "team-b", "--add-config", "interval.ms=2000"),
    (*GROUPS, NAMED, "g1", "--add-config", "consumer.session.timeout.ms=50000"),
    (*BROKERS, NAMED, "2", "--add-config", f"{SEGMENT}={DYNAMIC}"),
    (*BROKERS, NAMED, "1", "--add-config", f"{PASSWORD}={CANARY},my.plugin.key=42"),
    (*BROKERS, DEFAULT, "--add-config", "log.retention.ms=5000000"),
)  # fmt: skip
CHANGED = (
    (*ENTITIES["users/alice"], "--add-config", "producer_byte_rate=1000000003"),
    (*ENTITIES["clients/c1"], "--delete-config", ",".join(QUOTA_KEYS)),
    (*METRICS, NAMED, "team-a", "--add-config", "interval.ms=3000"),
    (*METRICS, NAMED, "team-b", "--delete-config", "interval.ms"),
    (*GROUPS, NAMED, "g1", "--delete-config", "consumer.session.timeout.ms"),
    (*BROKERS, DEFAULT, "--add-config", "log.retention.ms=6000000"),
    (*BROKERS, NAMED, "3", "--add-config", "message.max.bytes=2000000"),
    # What a stock client is asked for.
    (*METRICS, NAMED, "asks", "--add-config", f"metrics=[{METRIC}],interval.ms=300"),
)  # fmt: skip
SET_KEYS = (
    *(f"ClientQuota/{path}/{key}" for path in ENTITIES for key in QUOTA_KEYS),
    *(f"ClientQuota/{path}/connection_creation_rate" for path in IP_ENTITIES),
    "ClientQuota/users/%3Cdefault%3E/producer_byte_rate",
    "Config/client-metrics/team-a/match",
    "Config/client-metrics/team-b/interval.ms",
    "Config/groups/g1/consumer.session.timeout.ms",
    f"Config/brokers/2/{SEGMENT}",
    f"Config/brokers/1/{PASSWORD}",
    "Config/brokers//log.retention.ms",
)
CHANGED_KEYS = (
    "ClientQuota/users/alice/producer_byte_rate",
    *(f"ClientQuota/clients/c1/{key}" for key in QUOTA_KEYS),
    "Config/client-metrics/team-a/interval.ms",
    "Config/client-metrics/team-b/interval.ms",
    "Config/groups/g1/consumer.session.timeout.ms",
    "Config/brokers//log.retention.ms",
    "Config/brokers/3/message.max.bytes",
    "Config/client-metrics/asks/metrics",
)


class Fed:
    """Tables of one cluster by each source, and who its clients are."""

    def __init__(self, spark, kafka, cluster_id, folder, topics):
        self.spark, self.kafka, self.cluster_id = spark, kafka, cluster_id
        self._folder, self._topics = folder, topics

    def settings_of(self, source):
        return (
            f"kafka.bootstrap_servers={self.kafka.bootstrap_servers}",
            f"topics.cluster={self._topics[source]}",
            f"tables.root_path={self._folder}/{source}",
            f"{JOB_NAME}.checkpoint_location={self._folder}/{source}/checkpoint",
        )

    def run(self, source):
        run_line(self.spark, JOB, *self.settings_of(source))

    def read(self, source, contract):
        path = f"{self._folder}/{source}/{contract.name}"
        return self.spark.read.format("delta").load(path)

    def rows(self, source, contract, *, without=frozenset(), where="true"):
        """Return rows without what both sources differ in, counted."""
        table = self.read(source, contract).where(where)
        assert {row[0] for row in table.select("cluster_id").collect()} <= {
            self.cluster_id
        }
        names = [one for one in contract.column_names if one not in OWN | without]
        return Counter(repr(row) for row in table.select(*names).collect())


@pytest.fixture(scope="module")
def upstream(java):
    with EmbeddedKafka(3, java=java, broker_properties={SEGMENT: STATIC}) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def fed(java, kafka, upstream, spark, tmp_path_factory):
    """Alter everything through the proxy, while two bridges feed; then run the job."""
    topics = {source: f"{source}-{uuid.uuid4()}" for source in SOURCES}
    admin, log = (
        proxy_settings(
            kafka, f"upstream.bootstrap_servers={upstream.bootstrap_servers}",
            f"topics.cluster={topics[source]}", f"cluster.source={source}",
            f"cluster.controller_servers={upstream.controller_bootstrap_servers}",
            "bridge.subscriptions_poll_ms=100", "subscriptions=[]",
        )
        for source in SOURCES
    )  # fmt: skip
    readers = {one: TopicReader(kafka, topic) for one, topic in topics.items()}
    client = AdminClient({"bootstrap.servers": upstream.bootstrap_servers})
    cluster_id = client.describe_cluster().result(PATIENCE_S).cluster_id
    with running_bridge(log), running_bridge(admin) as (server, _):
        proxy = find_servers(server)
        for one in readers.values():
            one.wait_for_full_set()
        for calls, keys in ((SET, SET_KEYS), (CHANGED, CHANGED_KEYS)):
            expect(
                readers, keys, lambda calls=calls: alter_configs(java, proxy, *calls)
            )
        push_through(kafka, proxy, admin.topics.telemetry)
        fence(upstream, readers)
    for one in readers.values():
        one.close()
    made = Fed(spark, kafka, cluster_id, tmp_path_factory.mktemp("fed"), topics)
    for source in SOURCES:
        made.run(source)
    return made


def expect(readers, keys, do):
    """Do something; wait until each source has told all that comes of it."""
    starts = {source: len(one.records) for source, one in readers.items()}
    do()
    for source, one in readers.items():
        for key in keys:
            one.wait_for_key(key, start=starts[source])


def fence(upstream, readers):
    """Kill the last broker, and wait until both sources have told of it."""
    starts = {source: len(one.records) for source, one in readers.items()}
    upstream.kill(3)
    readers[LOG].wait_for_key("BrokerRegistrationChange/brokers/3", start=starts[LOG])
    registration = readers[ADMIN].wait_for_key(
        "RegisterBroker/brokers/3", start=starts[ADMIN]
    )
    assert read_record(registration.value).fields["fenced"]


def push_through(kafka, proxy, topic):
    """Have a stock client push what it is asked for."""
    clients, reader = ProxiedClients(proxy), PushReader(kafka, topic)
    producer = clients.producer(CLIENT_ID)
    write_all(producer, clients.create_topic(1, 3), [b"value"])

    def has_pushed():
        producer.poll(0)
        return reader.have_pushed((CLIENT_ID,), 300)

    reader.read_until(has_pushed)
    metrics = reader.clients[CLIENT_ID].metrics(300)
    assert metrics
    assert all(one.startswith(METRIC) for one in metrics)
    reader.close()


def test_both_sources_tell_the_same_quotas(fed):
    told = fed.rows(ADMIN, CLIENT_QUOTAS)
    assert told == fed.rows(LOG, CLIENT_QUOTAS)
    rows = fed.read(ADMIN, CLIENT_QUOTAS)
    counted = rows.groupBy("entity_path").count().collect()
    expected = dict.fromkeys(ENTITIES, len(QUOTA_KEYS)) | dict.fromkeys(IP_ENTITIES, 1)
    expected |= {"users/alice": len(QUOTA_KEYS) + 1, "users/%3Cdefault%3E": 1}
    assert dict(map(tuple, counted)) == expected
    ended = rows.where("NOT is_current").select("entity_path").distinct().collect()
    assert {row[0] for row in ended} == {"users/alice", "clients/c1"}


def test_both_sources_tell_the_same_subscriptions(fed):
    told = fed.rows(ADMIN, CLIENT_METRICS_SUBSCRIPTIONS)
    assert told == fed.rows(LOG, CLIENT_METRICS_SUBSCRIPTIONS)
    rows = fed.read(ADMIN, CLIENT_METRICS_SUBSCRIPTIONS).orderBy("valid_from")
    found = rows.select("name", "metrics", "interval_ms", "match", "is_current")
    listed = ["a.", "b."], {"client_id": "x.*"}
    assert sorted(map(tuple, found.collect()), key=repr) == [
        ("asks", [METRIC], 300, None, True),
        ("team-a", listed[0], 1000, listed[1], False),
        ("team-a", listed[0], 3000, listed[1], True),
        ("team-b", None, 2000, None, False),
    ]


def test_both_sources_tell_the_same_dynamic_configs(fed):
    of_looks = "resource_type IN ('broker', 'group')"
    told = fed.rows(ADMIN, RESOURCE_CONFIGS, where=of_looks)
    assert told == fed.rows(LOG, RESOURCE_CONFIGS, where=of_looks)
    rows = fed.read(ADMIN, RESOURCE_CONFIGS).select(
        "resource_type", "resource_name", "config_name", "config_value", "status",
        "is_current",
    )  # fmt: skip
    assert set(map(tuple, rows.collect())) == {
        # Controllers set it themselves.
        ("broker", "", "min.insync.replicas", "2", "set", True),
        ("broker", "", "log.retention.ms", "5000000", "set", False),
        ("broker", "", "log.retention.ms", "6000000", "set", True),
        ("broker", "1", PASSWORD, None, "redacted", True),
        # Of a plugin's own config nobody knows what it holds.
        ("broker", "1", "my.plugin.key", None, "redacted", True),
        ("broker", "2", SEGMENT, DYNAMIC, "set", True),
        ("broker", "3", "message.max.bytes", "2000000", "set", True),
        ("group", "g1", "consumer.session.timeout.ms", "50000", "set", False),
    }
    beside = fed.read(LOG, RESOURCE_CONFIGS).where(f"NOT {of_looks}")
    kinds = {row[0] for row in beside.select("resource_type").collect()}
    assert kinds <= {"feature", "topic"}
    assert "feature" in kinds


def test_both_sources_tell_the_same_brokers(fed):
    known = {}
    for source in SOURCES:
        rows = fed.read(source, BROKER_REGISTRATIONS).where("is_current")
        asked = "filter(endpoints, one -> one.name = 'PLAINTEXT')"
        # A look sees the listener that it asks; the log has all of them.
        rows = rows.withColumn("endpoints", F.expr(asked))
        names = [one for one in rows.columns if one not in OWN | OF_ONE]
        known[source] = sorted(map(repr, rows.select(*names).collect()))
        told = rows.selectExpr(
            "static_configs", "broker_epoch IS NULL", "features IS NULL"
        )
        assert set(map(tuple, told.collect())) == {
            ("described", True, True) if source == ADMIN
            else ("not_reported", False, False)
        }  # fmt: skip
    assert known[ADMIN] == known[LOG]
    assert len(known[ADMIN]) == 3
    fenced = fed.read(ADMIN, BROKER_REGISTRATIONS).where("is_current AND is_fenced")
    assert [row["broker_id"] for row in fenced.collect()] == [3]


def test_a_static_value_stands_beside_what_is_in_force(fed):
    # No released broker tells its static configs at its registration.
    assert fed.read(LOG, BROKER_STATIC_CONFIGS).count() == 0
    rows = fed.read(ADMIN, BROKER_STATIC_CONFIGS).where(
        f"config_name = '{SEGMENT}' AND is_current"
    )
    found = rows.select(
        "broker_id", "config_value", "is_default", "report", "config_type",
        "effective_value", "effective_source",
    )  # fmt: skip
    told = STATIC, False, "describe_configs", "INT"
    assert sorted(map(tuple, found.collect())) == [
        (1, *told, STATIC, "static"),
        (2, *told, DYNAMIC, "dynamic_broker"),
        (3, *told, STATIC, "static"),
    ]


def test_commands_answer_of_what_was_fed(fed, capsys):
    def ask(words, code=0):
        capsys.readouterr()
        run_line(
            fed.spark, f"./spark-submit.sh {words}", *fed.settings_of(ADMIN), code=code
        )
        return [line.split() for line in capsys.readouterr().out.splitlines()]

    states = [line[:2] for line in ask("brokers list")[1:]]
    assert states == [
        ["1", "live"], ["2", "live"], ["3", "fenced"], ["last", "observation"],
    ]  # fmt: skip
    *drift, summary = ask("brokers drift", code=1)[1:]
    assert drift == [
        [SEGMENT, STATIC, "1", "static"],
        [STATIC, "2", "static", DYNAMIC, "(dynamic_broker)"],
    ]
    assert " ".join(summary).endswith(
        "differs between 2 live brokers (1 that names a broker is left out, --all shows it)"
    )
    history = [line[1:] for line in ask("brokers history --broker 3")]
    # One look may see the later of two changes first: it asks for one resource at a time.
    assert sorted(history[-3:-1]) == [
        ["log.retention.ms", "5000000", "->", "6000000", "(dynamic", "default)"],
        ["message.max.bytes", "set", "to", "2000000", "(dynamic)"],
    ]
    assert history[-1] == ["fenced"]
    told = ask("quotas explain --user alice --client-id c2 --key producer_byte_rate")
    assert [line for line in told if line[-1] == "applies"] == [
        ["2", "users/alice/clients/<default>", "1000000001.0", "applies"]
    ]
    assert ["3", "users/alice", "1000000003.0"] in told
