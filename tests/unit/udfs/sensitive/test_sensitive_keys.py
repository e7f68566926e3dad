"""One entry at a time; the rules are those of conf/, unless a test brings its own."""

import csv
import pickle
from pathlib import Path

import pytest

from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.rules import make_sensitive_key_rules
from udfs.sensitive.sensitive_key_rules import (
    ALLOW,
    DROP,
    REDACT,
    InvalidRule,
    SensitiveKeyRule,
)
from udfs.sensitive.sensitive_keys import ANY_SOFTWARE, compile_rules

GOLDEN = Path(__file__).parents[3] / "golden" / "config_catalog"
JAVA = "apache-kafka-java"
SECURITY = ("security-key", REDACT)
CUSTOM = ("custom-key", REDACT)
NONE = ("", ALLOW)
RULES = make_sensitive_key_rules(
    load_settings("base").sensitive_keys, load_config_catalogs()
)


def judge(key, type_name="STRING", software=JAVA, rules=RULES):
    verdict = rules.judge(key, type_name, software)
    return verdict.rule, verdict.action


def own(*rules):
    return compile_rules(rules, {"app": {"known.key": frozenset({"INT"})}})


@pytest.mark.parametrize(
    ("key", "type_name", "expected"),
    [
        ("acks", "STRING", NONE),
        ("linger.ms", "LONG", NONE),
        ("group.id", "STRING", NONE),
        ("security.protocol", "STRING", SECURITY),
        ("sasl.mechanism", "STRING", SECURITY),
        ("ssl.keystore.password", "STRING", ("password-type", REDACT)),
        ("ssl.protocol", "STRING", SECURITY),
        ("ssl.keystore.password", "PASSWORD", ("password-type", REDACT)),
        ("acks", "PASSWORD", ("password-type", REDACT)),
        ("acks", "CLASS", ("class-type", REDACT)),
        ("key.serializer", "STRING", ("class-type", REDACT)),
        ("interceptor.classes", "LIST", ("class-key", REDACT)),
        ("my.partitioner.class", "STRING", ("class-key", REDACT)),
        ("listener.name.x.ssl.keystore.location", "STRING", SECURITY),
        ("producer.security.protocol", "STRING", SECURITY),
        ("enable.sasl.oauthbearer.unsecure.jwt", "STRING", SECURITY),
        ("schema.registry.url", "STRING", CUSTOM),
        ("queue.buffering.max.ms", "DOUBLE", NONE),
        ("passl.key", "STRING", CUSTOM),
        ("enable.idempotency", "BOOLEAN", ("proposed-key", ALLOW)),
        ("", "STRING", CUSTOM),
    ],
)
def test_the_rules_of_conf_decide_a_key_of_a_java_client(key, type_name, expected):
    assert judge(key, type_name) == expected


def test_a_key_the_catalog_calls_a_class_stays_one_whatever_the_client_says():
    assert judge("value.deserializer", "INT") == ("class-type", REDACT)
    assert judge("value.deserializer", "") == ("class-type", REDACT)
    assert judge("sasl.jaas.config", "no type") == ("password-type", REDACT)


@pytest.mark.parametrize(
    ("software", "key", "expected"),
    [
        ("confluent-kafka-python", "queue.buffering.max.ms", NONE),
        ("confluent-kafka-python", "buffer.memory", NONE),
        ("confluent-kafka-python", "ssl_key", SECURITY),
        ("librdkafka", "sasl.password", SECURITY),
        ("librdkafka", "plugin.library.paths", NONE),
        ("franz-go", "acks", NONE),
        ("franz-go", "queue.buffering.max.ms", NONE),
        ("franz-go", "key.serializer", ("class-type", REDACT)),
        ("franz-go", "log.dirs", CUSTOM),
        ("unknown", "acks", NONE),
        ("", "acks", NONE),
        ("", "max.open.requests", CUSTOM),
    ],
)
def test_keys_are_known_per_client_software(software, key, expected):
    assert judge(key, "STRING", software) == expected


@pytest.mark.parametrize(
    ("client_type", "sensitive", "total"),
    [("producer", 54, 94), ("consumer", 53, 97), ("admin", 50, 73), ("streams", 17, 63)],
)  # fmt: skip
def test_so_many_keys_of_kafka_4_0_are_sensitive(client_type, sensitive, total):
    with (GOLDEN / f"{client_type}.csv").open() as file:
        rows = [(row["name"], row["type"]) for row in csv.DictReader(file)]
    hidden = [row for row in rows if not RULES.may_allow(*row, JAVA)]
    assert (len(hidden), len(rows)) == (sensitive, total)
    assert not [row for row in rows if judge(*row) == CUSTOM]


TYPED = ("typed-value", ALLOW)


@pytest.mark.parametrize(
    ("key", "value", "type_name", "expected"),
    [
        ("Net.MaxOpenRequests", "5", "INT", TYPED),
        ("allowAutoTopicCreation", "true", "BOOLEAN", TYPED),
        ("producer.linger", " 1.5e3 ", "DOUBLE", TYPED),
        ("retry.factor", "-3", "SHORT", TYPED),
        ("metadata.age", "9223372036854775807", "LONG", TYPED),
        ("metadata.age", "9223372036854775808", "LONG", CUSTOM),
        ("Net.MaxOpenRequests", "5", "STRING", CUSTOM),
        ("Net.MaxOpenRequests", "5", "LIST", CUSTOM),
        ("Net.MaxOpenRequests", "5", "", CUSTOM),
        ("Net.MaxOpenRequests", "hunter2", "INT", CUSTOM),
        ("Net.MaxOpenRequests", "", "INT", CUSTOM),
        ("allowAutoTopicCreation", "yes", "BOOLEAN", CUSTOM),
        ("factor", "0xC0FFEEp1", "DOUBLE", CUSTOM),
        ("factor", "0." + "123" * 20, "DOUBLE", CUSTOM),
        ("factor", "\uff15", "INT", CUSTOM),
        # The hard rules of KIP-1324 come first.
        ("Net.MaxOpenRequests", "5", "PASSWORD", ("password-type", REDACT)),
        ("Net.MaxOpenRequests", "5", "CLASS", ("class-type", REDACT)),
        ("Net.SASL.Version", "1", "INT", SECURITY),
        ("ssl_verify", "true", "BOOLEAN", SECURITY),
        ("codec.class", "1", "INT", ("class-key", REDACT)),
        # Names of secrets, and texts that are no names.
        ("db.password", "123456", "INT", CUSTOM),
        ("user.pin", "1234", "INT", CUSTOM),
        ("apiKey", "1234", "LONG", CUSTOM),
        ("a key with blanks", "1", "INT", CUSTOM),
        # A catalog that has the key decides, whatever type the client reports.
        ("acks", "all", "STRING", NONE),
        ("acks", "all", "INT", NONE),
        ("queue.buffering.max.ms", "5", "DOUBLE", NONE),
        ("value.serializer", "5", "INT", ("class-type", REDACT)),
        ("acks", "password=x", "STRING", ("named-secret-value", REDACT)),
    ],
)
@pytest.mark.parametrize("software", ["sarama", "kgo", "", JAVA])
def test_rules_decide_keys_without_a_catalog_by_type(
    software, key, value, type_name, expected
):
    verdict = RULES.judge_entry(key, value, type_name, software)
    assert (verdict.rule, verdict.action) == expected


RANGE = "org.apache.kafka.clients.consumer.RangeAssignor"
KNOWN_CLASSES, CLASSES = ("known-class-list", ALLOW), ("class-list", REDACT)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("partition.assignment.strategy", RANGE, KNOWN_CLASSES),
        ("partition.assignment.strategy", f"{RANGE}, range", KNOWN_CLASSES),
        ("partition.assignment.strategy", f"class {RANGE},class {RANGE}", KNOWN_CLASSES),
        ("partition.assignment.strategy", "range,roundrobin", KNOWN_CLASSES),
        ("partition.assignment.strategy", f"{RANGE},com.acme.Sticky", CLASSES),
        ("partition.assignment.strategy", f"{RANGE}.hunter2", CLASSES),
        ("partition.assignment.strategy", "hunter2", CLASSES),
        ("metric.reporters", "org.apache.kafka.common.metrics.JmxReporter", KNOWN_CLASSES),
        ("metric.reporters", "", KNOWN_CLASSES),
        ("metric.reporters", "com.acme.Reporter", CLASSES),
        ("interceptor.classes", "com.acme.Interceptor", ("class-key", REDACT)),
        ("interceptor.classes", RANGE, ("class-key", REDACT)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("software", [JAVA, "librdkafka", "sarama"])
@pytest.mark.parametrize("type_name", ["LIST", "STRING", ""])
def test_rules_store_class_lists_only_with_known_names(
    software, type_name, key, value, expected
):
    verdict = RULES.judge_entry(key, value, type_name, software)
    assert (verdict.rule, verdict.action) == expected


def test_rules_hide_class_list_of_type_class():
    verdict = RULES.judge_entry("metric.reporters", "range", "CLASS", JAVA)
    assert verdict.rule == "class-type"


@pytest.mark.parametrize(
    "disguise",
    [
        "SSL.Keystore.Password", " ssl.keystore.password", "ssl.keystore.password\n",
        "ssl\t.keystore", "ssl\0.keystore", "ssl_keystore", "x-SSL-y", "s\u00adsl.key",
        "s\u200bsl.key", "\ufeffssl.key", "\u017fsl.key", "\u00dfl.key", "s\u015bl.key",
        "S\u0327SL.key", "ssl\uff0ekey", "\u24e2\u24e2\u24db.key", "ss\u2113.key",
        "\U0001d4fcsl.key", "com\u2024ssl\u2024x",
    ],
)  # fmt: skip
def test_a_key_in_disguise_is_found_by_the_rule_it_hides_from(disguise):
    allow = SensitiveKeyRule(name="ours", action=ALLOW, key_patterns=("(?s).*",))
    hide = SensitiveKeyRule(name="tls", action=DROP, key_prefixes=("ssl.",),
                            key_infixes=(".ssl.",))  # fmt: skip
    assert judge(disguise, rules=own(hide, allow)) == ("tls", DROP)


@pytest.mark.parametrize(
    "key", ["ACKS", "acks ", " acks", "ack\u200bs", "ac\u043as", "acks\0"]
)
def test_an_ordinary_key_in_disguise_is_a_custom_one(key):
    assert judge(key) == CUSTOM


def test_a_rule_that_allows_sees_a_key_only_as_it_was_sent():
    allow = SensitiveKeyRule(name="ours", action=ALLOW, key_prefixes=("com.acme.",))
    custom = SensitiveKeyRule(name="custom", action=REDACT, is_custom=True)
    rules = own(allow, custom)
    assert judge("com.acme.x", rules=rules) == ("ours", ALLOW)
    assert judge("COM.acme.x", rules=rules) == ("custom", REDACT)
    assert judge("com_acme_x", rules=rules) == ("custom", REDACT)
    assert judge(" com.acme.x", rules=rules) == ("custom", REDACT)


def test_a_rule_that_hides_sees_both_forms_of_a_key():
    shouting = SensitiveKeyRule(name="a", action=REDACT, key_patterns=("[A-Z]+_PIN",))
    spelled = SensitiveKeyRule(name="b", action=DROP, keys=("My-Token",))
    rules = own(shouting, spelled)
    assert judge("CARD_PIN", rules=rules) == ("a", REDACT)
    assert judge("card.pin", rules=rules) == NONE
    assert judge("My-Token", rules=rules) == ("b", DROP)
    assert judge("MY_TOKEN", rules=rules) == ("b", DROP)


def test_the_first_rule_that_matches_decides():
    first = SensitiveKeyRule(name="1", action=ALLOW, key_suffixes=(".x",))
    second = SensitiveKeyRule(name="2", action=DROP, key_prefixes=("a.",))
    assert judge("a.x", rules=own(first, second)) == ("1", ALLOW)
    assert judge("a.x", rules=own(second, first)) == ("2", DROP)
    assert judge("b.y", rules=own(first, second)) == NONE


@pytest.mark.parametrize(
    ("conditions", "hit", "miss"),
    [
        ({"keys": ("a.b",)}, "a.b", "a.bc"),
        ({"key_prefixes": ("a.",)}, "a.b", "ba."),
        ({"key_infixes": (".a.",)}, "x.a.y", "a.y"),
        ({"key_suffixes": (".a",)}, "x.a", "x.ab"),
        ({"key_patterns": ("a+",)}, "aa", "aab"),
        ({"is_custom": True}, "new.key", "known.key"),
    ],
)
def test_each_condition_has_its_hit_and_its_miss(conditions, hit, miss):
    rules = own(SensitiveKeyRule(name="r", action=DROP, **conditions))
    assert judge(hit, software="app", rules=rules) == ("r", DROP)
    assert judge(miss, software="app", rules=rules) == NONE
    assert judge("", software="app", rules=rules)[1] == (
        DROP if "is_custom" in conditions else ALLOW
    )


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (SensitiveKeyRule(name="r", action="hide", keys=("a",)), "action must be one of redact, drop, allow"),
        (SensitiveKeyRule(name="r", action=DROP), "has no condition"),
        (SensitiveKeyRule(name="r", action=DROP, config_types=("TEXT",)), "unknown config_types TEXT"),
        (SensitiveKeyRule(name="r", action=DROP, key_prefixes=("",)), "an empty text"),
        (SensitiveKeyRule(name="r", action=DROP, key_patterns=("a(",)), "key_patterns: missing \\)"),
        (SensitiveKeyRule(name="r", action=DROP, key_patterns=(r"(a)\1",)), "key_patterns: invalid escape"),
        (SensitiveKeyRule(name="r", action=DROP, key_patterns=("((a{100}){100}){100}",)), "key_patterns: "),
        (SensitiveKeyRule(name="", action=DROP, keys=("a",)), "a name must be there"),
        (SensitiveKeyRule(name="r", action=ALLOW, value_items=("a",)), "has no condition"),
        (SensitiveKeyRule(name="r", action=DROP, keys=("a",), value_items=("b",)), "action allow"),
        (SensitiveKeyRule(name="r", action=ALLOW, keys=("a",), value_types=("LIST",)), "cannot be"),
        (SensitiveKeyRule(name="r", action=ALLOW, keys=("a",), value_types=("INT",), value_items=("b",)), "exclude each other"),
    ],
)  # fmt: skip
def test_a_rule_that_cannot_be_used_is_named_with_the_reason(rule, reason):
    with pytest.raises(InvalidRule, match=rf"rule '{rule.name}': .*{reason}"):
        own(rule)


def test_two_rules_of_one_name_are_refused():
    rule = SensitiveKeyRule(name="r", action=DROP, keys=("a",))
    with pytest.raises(InvalidRule, match="rule 'r': a name must be there, and only"):
        own(rule, rule)


def test_a_text_of_separators_alone_does_not_match_everything():
    rules = own(SensitiveKeyRule(name="r", action=DROP, key_prefixes=(" ",)))
    assert judge("acks", rules=rules) == NONE
    assert judge(" acks", rules=rules) == ("r", DROP)


def test_patterns_take_linear_time():
    rules = own(SensitiveKeyRule(name="r", action=DROP, key_patterns=("(a+)+b",)))
    assert judge("a" * 100_000, rules=rules) == NONE
    assert judge("a" * 100_000 + "b", rules=rules) == ("r", DROP)


def test_rules_can_be_sent_to_workers():
    copied = pickle.loads(pickle.dumps(RULES))  # noqa: S301 - our own bytes
    for key in ("acks", "ssl.x", "custom"):
        assert judge(key, rules=copied) == judge(key)


def test_a_worker_compiles_rules_once_for_all_of_its_tasks():
    sent = pickle.dumps(RULES)
    first, second = pickle.loads(sent), pickle.loads(sent)  # noqa: S301 - our own bytes
    assert first.hiding_searches is second.hiding_searches


def test_what_is_remembered_does_not_grow_with_what_clients_send():
    rules = make_sensitive_key_rules(
        load_settings("base").sensitive_keys, load_config_catalogs()
    )
    for number in range(1_000):
        rules.judge(f"key.{number}", "STRING", JAVA)
        rules.judge("acks", f"type {number}", JAVA)
        rules.judge("acks", "STRING", f"software {number}")
        rules.judge("metric.reporters", "LIST", JAVA, f"com.acme.Reporter{number}")
    assert list(rules._known) == [(ANY_SOFTWARE, "acks", "STRING")]
    rules.judge("acks", "STRING", JAVA)
    assert len(rules._known) == 2


@pytest.mark.parametrize(
    "key", ["com.acme.x password=hunter2", "com.acme.AKIA" + "QWERTYUIOPASDFGH"]
)
def test_a_key_that_looks_like_a_secret_is_not_let_through_by_a_rule(key):
    ours = SensitiveKeyRule(name="ours", action=ALLOW, key_prefixes=("com.acme.",))
    base = load_settings("base").sensitive_keys.rules
    rules = compile_rules([ours, *base], {})
    assert judge("com.acme.x y", rules=rules) == ("ours", ALLOW)
    hidden = judge(key, rules=rules)
    assert hidden in {("named-secret-value", REDACT), ("cloud-key-value", REDACT)}
    let = SensitiveKeyRule(name="let", action=ALLOW, value_patterns=("com.acme",))
    rules = compile_rules([ours, let, *base], {})
    assert judge(key, rules=rules) == ("ours", ALLOW)
