"""Answers of admin requests as records, and what of them is new."""

from kio.schema.describe_client_quotas.v1.response import (
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from kio.schema.describe_configs.v4.response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from kio.schema.errors import ErrorCode

from pipelines.feed.answers import (
    BrokerConfigs,
    SeenBroker,
    SeenConfig,
    SeenQuota,
    StaticConfig,
    read_broker_configs,
    read_quotas,
    read_resources,
)
from pipelines.feed.observed import Seen, find_changes, make_wanted
from pipelines.feed.state import FeedState
from pipelines.kafka_wire.messages import NO_THROTTLE
from udfs.cluster.record_bytes import read_record

CLUSTER = "a-cluster"
SEGMENT, RETENTION = "log.segment.bytes", "log.retention.ms"
DYNAMIC_BROKER, DYNAMIC_DEFAULT, STATIC, DEFAULT = 2, 3, 4, 5


def entry(name, value, source, *synonyms, **more):
    return DescribeConfigsResourceResult(
        name=name, value=value, config_source=source, documentation=None,
        synonyms=tuple(
            DescribeConfigsSynonym(name=one, value=said, source=where)
            for one, said, where in synonyms
        ),
        **{"read_only": False, "is_sensitive": False, **more},
    )  # fmt: skip


def result(*entries, kind=4, name="2"):
    return DescribeConfigsResult(
        error_code=ErrorCode.none, error_message=None, resource_type=kind,
        resource_name=name, configs=entries,
    )  # fmt: skip


def test_static_value_stands_behind_a_dynamic_one():
    read = read_broker_configs(
        result(
            entry(
                SEGMENT, "3", DYNAMIC_BROKER, (SEGMENT, "3", DYNAMIC_BROKER),
                (SEGMENT, "2", STATIC), (SEGMENT, "1", DEFAULT),
            )
        )
    )  # fmt: skip
    assert read.static == (StaticConfig(SEGMENT, "2", False),)
    assert read.dynamic == (SeenConfig(SEGMENT, "3"),)


def test_static_value_is_of_that_very_name():
    read = read_broker_configs(
        result(
            entry(
                RETENTION, "60000", STATIC, ("log.retention.minutes", "1", STATIC),
                ("log.retention.hours", "168", DEFAULT),
            )
        )
    )  # fmt: skip
    assert read.static == (StaticConfig(RETENTION, None, True),)


def test_default_is_told_as_such_and_null_is_a_value():
    read = read_broker_configs(
        result(
            entry(SEGMENT, "1", DEFAULT, (SEGMENT, "1", DEFAULT)),
            entry(RETENTION, None, DEFAULT),
        )
    )
    assert read.static == (
        StaticConfig(RETENTION, None, True), StaticConfig(SEGMENT, "1", True),
    )  # fmt: skip


def test_default_of_all_brokers_is_no_config_of_one():
    synonym = (SEGMENT, "3", DYNAMIC_DEFAULT)
    read = read_broker_configs(result(entry(SEGMENT, "3", DYNAMIC_DEFAULT, synonym)))
    assert read.dynamic == ()


def test_dynamic_secret_has_no_value():
    name = "ssl.keystore.password"
    synonym = (name, None, DYNAMIC_BROKER)
    read = read_broker_configs(
        result(entry(name, None, DYNAMIC_BROKER, synonym, is_sensitive=True))
    )
    assert read.dynamic == (SeenConfig(name, None, is_hidden=True),)


def test_only_what_is_set_on_a_resource_is_read():
    answers = [
        result(
            entry("interval.ms", "1000", 7), entry("metrics", "", DEFAULT),
            kind=16, name="team-a",
        ),
        result(entry("consumer.session.timeout.ms", "5", 8), kind=32, name="g"),
    ]  # fmt: skip
    assert read_resources(answers) == {
        (16, "team-a"): (SeenConfig("interval.ms", "1000"),),
        (32, "g"): (SeenConfig("consumer.session.timeout.ms", "5"),),
    }


def test_quota_entities_begin_with_the_user():
    parts = [("client-id", None), ("user", "alice")]
    answer = DescribeClientQuotasResponse(
        throttle_time=NO_THROTTLE, error_code=ErrorCode.none, error_message=None,
        entries=(
            EntryData(
                entity=tuple(
                    EntityData(entity_type=kind, entity_name=name)
                    for kind, name in parts
                ),
                values=(ValueData(key="producer_byte_rate", value=1024.0),),
            ),
        ),
    )  # fmt: skip
    assert read_quotas(answer) == (
        SeenQuota((("user", "alice"), ("client-id", None)), "producer_byte_rate", 1024),
    )


BROKER = SeenBroker(2, "k2", 9092, "r1", False)
CONFIGS = BrokerConfigs(
    (
        StaticConfig(SEGMENT, "2", False),
        StaticConfig("num.io.threads", "8", True),
        StaticConfig("ssl.keystore.password", "sesame", False),
        StaticConfig("plugin.key", "x", False),
    ),
    (SeenConfig(SEGMENT, "3"),),
)


def see(**more):
    return Seen(
        security_protocol="PLAINTEXT",
        **{
            "brokers": {2: BROKER}, "configs": {2: CONFIGS},
            "static_configs": {2: "described"}, "cluster_wide": (),
            "subscriptions": {}, "groups": {}, "quotas": (), **more,
        },
    )  # fmt: skip


def look(seen, state, rules, now_ms=5_000, **looked_before_ms):
    changes = find_changes(
        make_wanted(seen, state, rules), seen, state, cluster_id=CLUSTER,
        now_ms=now_ms, looked_before_ms=looked_before_ms,
    )  # fmt: skip
    for one in changes:
        state.take(one)
    return changes


def new_state():
    return FeedState(CLUSTER, "admin_api")


def fields(record):
    return read_record(record.value).fields


def test_broker_is_a_registration_with_what_it_reports(rules):
    registration, dynamic = look(see(), new_state(), rules)
    assert registration.key == "RegisterBroker/brokers/2"
    said = fields(registration)
    assert (said["broker_id"], said["broker_epoch"], said["rack"]) == (2, -1, "r1")
    assert said["incarnation_id"] == "A" * 22
    assert said["endpoints"] == [
        {"name": "PLAINTEXT", "host": "k2", "port": 9092,
         "security_protocol": "PLAINTEXT"}
    ]  # fmt: skip
    assert said["static_configs"] == [
        {"name": SEGMENT, "value": "2"}, {"name": "num.io.threads", "value": "8"},
    ]  # fmt: skip
    assert registration.text("defaults") == "num.io.threads"
    assert registration.text("withheld") == "2"
    assert registration.text("static_configs") == "described"
    assert registration.number("observed_at_ms") == 5_000
    assert registration.text("not_before_ms") is None
    assert (dynamic.key, fields(dynamic)["value"]) == (
        f"Config/brokers/2/{SEGMENT}", "3",
    )  # fmt: skip


def test_what_is_as_before_is_not_said_again(rules):
    state = new_state()
    assert look(see(), state, rules)
    assert look(see(), state, rules) == []


def test_change_says_when_the_old_value_was_still_seen(rules):
    state = new_state()
    look(see(), state, rules)
    quota = SeenQuota((("user", "a"),), "producer_byte_rate", 1.0)
    (change,) = look(see(quotas=(quota,)), state, rules, 9_000, quotas=7_000)
    assert change.key == "ClientQuota/users/a/producer_byte_rate"
    assert change.number("not_before_ms") == 7_000
    # Whoever feeds anew knows what the topic says alone.
    (change,) = look(see(quotas=()), state, rules, 12_000)
    assert change.number("not_before_ms") == 9_000


def test_what_is_gone_is_removed(rules):
    state = new_state()
    seen = see(
        cluster_wide=(SeenConfig(RETENTION, "5"),),
        subscriptions={(16, "team-a"): (SeenConfig("interval.ms", "1000"),)},
        groups={(32, "g"): (SeenConfig("consumer.session.timeout.ms", "5"),)},
        quotas=(SeenQuota((("ip", "10.0.0.7"),), "connection_creation_rate", 1.0),),
    )
    look(seen, state, rules)
    gone = see(configs={2: CONFIGS._replace(dynamic=())})
    removals = look(gone, state, rules)
    assert {one.key for one in removals} == {
        f"Config/brokers//{RETENTION}", f"Config/brokers/2/{SEGMENT}",
        "Config/client-metrics/team-a/interval.ms",
        "Config/groups/g/consumer.session.timeout.ms",
        "ClientQuota/ips/10.0.0.7/connection_creation_rate",
    }  # fmt: skip
    assert all(
        fields(one).get("value") is None or fields(one).get("remove")
        for one in removals
    )
    assert [one.key for one in state.records()] == ["RegisterBroker/brokers/2"]


def test_nothing_is_removed_that_was_not_looked_at(rules):
    state = new_state()
    quota = SeenQuota((("user", "a"),), "producer_byte_rate", 1.0)
    look(see(quotas=(quota,)), state, rules)
    unseen = see(quotas=None, configs={}, static_configs={})
    assert look(unseen, state, rules) == []


def test_broker_that_is_gone_is_unregistered_and_keeps_its_configs(rules):
    state = new_state()
    look(see(), state, rules)
    gone = see(brokers={}, configs={}, static_configs={})
    (unregistered,) = look(gone, state, rules)
    assert unregistered.key == "UnregisterBroker/brokers/2"
    assert fields(unregistered) == {"broker_id": 2, "broker_epoch": -1}
    assert [one.key for one in state.records()] == [f"Config/brokers/2/{SEGMENT}"]
    (back,) = look(see(), state, rules)
    assert back.key == "RegisterBroker/brokers/2"


def test_broker_that_does_not_answer_keeps_what_it_said(rules):
    state = new_state()
    look(see(), state, rules)
    away = see(configs={}, static_configs={2: "unreachable"})
    assert look(away, state, rules) == []
    fenced = see(
        configs={}, static_configs={2: "unreachable"},
        brokers={2: BROKER._replace(is_fenced=True)},
    )  # fmt: skip
    (change,) = look(fenced, state, rules)
    assert fields(change)["fenced"]
    assert len(fields(change)["static_configs"]) == 2
    assert change.text("static_configs") == "described"
    assert (change.text("defaults"), change.text("withheld")) == ("num.io.threads", "2")


def test_broker_whose_configs_nobody_may_see_says_so(rules):
    for status in ("refused", "unreachable"):
        seen = see(configs={}, static_configs={2: status})
        (registration,) = look(seen, new_state(), rules)
        assert registration.text("static_configs") == status
        assert fields(registration)["static_configs"] is None


def test_hidden_config_is_there_without_its_value(rules):
    hidden = SeenConfig("ssl.keystore.password", None, is_hidden=True)
    told = SeenConfig("sasl.jaas.config", "sesame")
    configs = CONFIGS._replace(dynamic=(hidden, told))
    state = new_state()
    _, *changes = look(see(configs={2: configs}), state, rules)
    assert [fields(one)["value"] for one in changes] == [None, None]
    assert [one.text("withheld") for one in changes] == ["1", "1"]
    assert look(see(configs={2: configs}), state, rules) == []
    assert len(look(see(configs={2: CONFIGS}), state, rules)) == 3


def test_set_covers_what_was_looked_at():
    assert see().covers() == ["brokers", "configs", "quotas", "subscriptions"]
    assert see(quotas=None, configs={}).covers() == ["brokers", "subscriptions"]
    assert see(subscriptions=None, groups=None).covers() == ["brokers", "quotas"]


def test_fenced_broker_without_the_listener_has_no_endpoint(rules):
    seen = see(brokers={2: BROKER._replace(host="", port=-1, is_fenced=True)})
    assert fields(look(seen, new_state(), rules)[0])["endpoints"] == []
