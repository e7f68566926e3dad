"""Values that look like secrets, whatever their key; the rules are those of conf/."""

import csv
import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.settings import CONF_PATH, load_config_catalogs, load_settings
from pipelines.settings.rules import make_sensitive_key_rules
from tests.unit.udfs.sensitive.secrets_in_values import (
    SECRETS,
    SHORT_SECRETS,
    write_secret,
)
from udfs.sensitive.config_key_names import NO_NAME
from udfs.sensitive.sensitive_key_columns import find_suspects
from udfs.sensitive.sensitive_key_rules import (
    ALLOW,
    DROP,
    REDACT,
    InvalidRule,
    SensitiveKeyRule,
)
from udfs.sensitive.sensitive_keys import compile_rules

JAVA = "apache-kafka-java"
RULES = make_sensitive_key_rules(
    load_settings("base").sensitive_keys, load_config_catalogs()
)
NO_SECRETS = Path(__file__).with_name("no_secrets_in_values.txt")
"""One a line: ordinary values beside the secrets of secrets_in_values.py."""
ORDINARY_VALUES = [
    *NO_SECRETS.read_text(encoding="utf-8").splitlines(),
    "", "all", "true", "2147483647", "-1", "0.8", "read_committed", "PT5M",
    "broker-1:9092,broker-2:9092", "PLAINTEXT://a:9092,SSL://b.example.org:9093",
    "http://10.0.0.1:8080/path", "http://[::1]:9092/a", "https://host/path/@scope/name",
    "http://host:8080/path@x", "SASL_SSL://h:1,user@example.org", "user@example.org",
    "0f8fad5b-d9cb-469f-a165-70867728950e", "0f8fad5bd9cb469fa16570867728950e",
    "AAAAAAAAAAAAAAAAAAAAAQ", "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "team-a-producer-00000000000000000000000001",
    "org.apache.kafka.common.serialization.StringSerializer",
    "org.apache.kafka.clients.consumer.RangeAssignor,org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
    "org.apache.kafka.common.security.plain.PlainLoginModule", "OAUTHBEARER",
    "SCRAM-SHA-512", "TLSv1.2,TLSv1.3", "required", "optional", "client_credentials",
    "/etc/kafka/secrets/client.keystore.jks", "/var/lib/app/password", "tokenizer=simple",
    "max.tokens=5", "bypass=true", "compass: north", "basic authentication", "by bearer",
    "secret-santa-group", "password-reset-service", "token", "password=", "pass",
    "a_key=1", "sigma=0.1234567890123456789", "keys: a, b", "EU-WEST-1", "--verbose yes",
    'kinit -R -t "%{sasl.kerberos.keytab}" -k %{sasl.kerberos.principal} || kinit -t x',
    "token-service", "my-token:v1", "my-token:v1.2.3-4", "auth-credentials:v2", "api-key:9092",
    "kafka-secret:9092,vault-token:9092", "token:9092", "http://token:9092/x", "token:9092 a",
    "authorization:read", "token-service:8080,secret-store:8080", "consumer.token:8080",
    "/etc/ssl/private/client.key", "/run/secrets/token", "s3://bucket/secret/key.json",
    "file:///etc/kafka/secret.key", "${file:/opt/kafka.properties:password}",
    "USER_INFO", "basic.auth.credentials.source=USER_INFO", "URL", "basic_auth",
    "Basic KafkaProducer", "basic configuration", "Basic Distance", "Basic: authentication",
    "bearer token", "OAUTHBEARER,PLAIN", "bearer,negotiate", "acks=all", "print.key=true",
    "sasl.mechanism=PLAIN", "sasl.oauthbearer.token.endpoint.url=https://h/t",
    "partition.key=id", "message-key: id", "key=a,value=b", "token.max=5", "compass=north",
    "%{client.id}", "50%", "a%20b&c=d", "R&D", "AT&T-producer", "&lt;none&gt;",
    r"C:\kafka\token\new", r"^topic-.*\.v[0-9]+$", r"DOMAIN\user", "Gr\u00f6\u00dfe", "\u5ba2\u6237\u7aef-1",
    "\u0444\u0438\u043d\u0430\u043d\u0441\u044b", "sk-payments-consumer-group-europe-west-1",
    "NORTH_SLOVAKIAPAYMENTSTOPICNAMES", "hf_orders", "global-orders-consumer-group",
    "cflt-connect", "signature: SHA256withRSA", "sig=1", "sha256:" + "0f8fad5b" * 8,
    "rL0Y20zC+Fzt72VPzMSk2A==", "2jmj7l5rSw0yVb/vlWAYkK/YBwk=", "MIGRATION", "MCP-service",
    "1@kafka-0:9093,2@kafka-1:9093", "User:alice@EXAMPLE.COM", "CN=a,OU=b,O=c", "//a/b:c",
    "begin", "-- begin section", "docker run -u 1000:1000", "--user alice", "--token-file x",
    "--password --verbose", "--timeout 5 --key-serializer x", "2026-03-01T06:00:00Z", "P1DT2H",
    '{"acks": "all", "retries": 5, "key.serializer": "a.B"}', '{"name": "acks", "value": "all"}',
    '<property name="acks" value="all"/>', "/opt/Kafka/client/libs/Kafka4/plugins/abc",
    "/var/Kafka1/data/client/plugins/serializ", "rL0Y20zC+Fzt72VPzMSkpw==", "Pw==", "pw==",
    "SG.production-payments-team.consumer-orders-v2", "hvr.replication-connector-oracle",
    "xapp-payments-consumer", "xoxo-valentine-service", "sk_test_consumergroup",
    "pypi-mirror-synchroniser-consumer-group", "name: acks value: all", "password, token",
    "a: 1\n\tb: 2", "{name: group.id, value: a}", "cookie-service", "keystore: a.jks",
    "certificate.chain.location=/etc/a", "key.pem", "http://:8080/a", "PLAINTEXT://:9092",
]  # fmt: skip


def judge(value, key="client.id", software=JAVA, rules=RULES):
    verdict = rules.judge_entry(key, value, "STRING", software)
    return verdict.rule, verdict.action


@pytest.mark.parametrize(("rule", "form"), SECRETS, ids=lambda one: one[:30])
def test_a_secret_is_found_in_the_value_of_an_allowed_key(rule, form):
    secret = write_secret(form, 17)
    assert judge(secret) == (rule, REDACT)
    assert judge(f"a\n{secret}\nb", "enable.idempotency") == (rule, REDACT)
    assert judge(secret, "ssl.key.location") == ("security-key", REDACT)


@pytest.mark.parametrize(("rule", "secret"), SHORT_SECRETS)
def test_a_short_secret_is_found(rule, secret):
    assert judge(secret) == (rule, REDACT)
    assert judge(f"a\n{secret}\nb", "enable.idempotency") == (rule, REDACT)


@pytest.mark.parametrize("value", ORDINARY_VALUES)
def test_an_ordinary_value_is_left_alone(value):
    assert judge(value) == ("", ALLOW)


def test_no_default_of_the_catalogs_is_taken_for_a_secret():
    seen = 0
    for path in sorted((CONF_PATH / "config_catalog").glob("*.csv")):
        software = "librdkafka" if "librdkafka" in path.name else JAVA
        with path.open() as file:
            for row in csv.DictReader(file):
                seen += 1
                by_key = RULES.judge(row["name"], row["type"], software, row["default"])
                by_all = RULES.judge_entry(
                    row["name"], row["default"], row["type"], software
                )
                assert by_all == by_key, row["name"]
                assert judge(row["default"])[1] == ALLOW, row["name"]
    assert seen > 700


def test_nothing_that_the_catalogs_say_of_keys_is_taken_for_a_secret():
    """Neither what a key may be set to nor `key=default`, as lists of settings have."""
    seen = 0
    for path in sorted((CONF_PATH / "config_catalog").glob("*.csv")):
        with path.open() as file:
            for row in csv.DictReader(file):
                texts = {row["name"], row.get("validator") or row.get("range") or ""}
                texts |= set(re.split(r"[,\[\] ]+", "".join(texts)))
                if row["default"] and not RULES.may_hide((f"{row['name']}=x",)):
                    texts.add(f"{row['name']}={row['default']}")
                seen += len(texts)
                assert [one for one in texts if judge(one)[1] != ALLOW] == []
    assert seen > 2_000


texts = st.one_of(
    st.sampled_from([*ORDINARY_VALUES, *(write_secret(f, 1) for _, f in SECRETS)]),
    st.text(max_size=30),
    st.from_regex(r"(password|token|sig|eyJ|://|AKIA)[=:@. ]{0,2}\w{0,24}"),
    st.from_regex(r"(%70|\\u0070|&#112;|\uff50|p\u0301)assword(%3D|\\=|=|%|\\)?x?"),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(texts, max_size=12))
def test_one_search_in_a_whole_push_misses_no_value(values):
    hidden = [value for value in values if judge(value)[1] != ALLOW]
    assert RULES.may_hide(values) or hidden == []
    alone = [RULES.may_hide([value]) for value in values]
    assert RULES.may_hide(values) or not any(alone)


@settings(max_examples=100, deadline=None)
@given(st.lists(texts, min_size=1, max_size=6), st.data())
def test_anchors_and_word_ends_mean_the_same_in_a_push_as_alone(values, data):
    """One search for all is right only if joining the values changes no match."""
    wanted = data.draw(st.sampled_from(values))
    for pattern in (r"^", r"$", r"\b", r"\B", r"^.?", r".?$", r"^\W", r"\w$", r"^$"):
        rule = SensitiveKeyRule(name="r", action=DROP, value_patterns=(pattern,))
        rules = compile_rules([rule], {})
        if rules.may_hide([wanted]):
            assert rules.may_hide(values)


def own(*rules):
    return compile_rules(rules, {"app": {"known": frozenset({"INT"})}})


def test_a_value_rule_with_keys_is_for_these_keys_alone():
    rules = own(
        SensitiveKeyRule(
            name="r", action=DROP, keys=("a.pin",), value_patterns=("^[0-9]{4}$",)
        )
    )
    assert judge("1234", "a.pin", rules=rules) == ("r", DROP)
    assert judge("1234", "A_PIN", rules=rules) == ("r", DROP)
    assert judge("1234", "b.pin", rules=rules) == ("", ALLOW)
    assert judge("12345", "a.pin", rules=rules) == ("", ALLOW)
    assert rules.judge("a.pin", "STRING", "app").action == ALLOW


def test_every_need_must_be_found_as_well():
    rules = own(
        SensitiveKeyRule(
            name="r", action=DROP, value_patterns=("x", "y"), value_needs=("[0-9]", "-")
        )
    )
    found = [
        one for one in ("x", "x1", "y-1", "-1", "1-x") if judge(one, rules=rules)[0]
    ]
    assert found == ["y-1", "1-x"]


def test_what_an_exception_matches_is_no_reason():
    rules = own(
        SensitiveKeyRule(
            name="r",
            action=DROP,
            value_patterns=("pin=[0-9]", "<>[0-9]"),
            value_exceptions=("pin=[0-9]{1,3};", "^pin=0$"),
        )
    )
    found = {
        value: judge(value, rules=rules)[0]
        for value in ("pin=1;", "pin=1234;", "pin=1;pin=1234", "pin=0", "pin=0\npin=00")
    }
    assert found == {
        "pin=1;": "", "pin=1234;": "r", "pin=1;pin=1234": "r", "pin=0": "",
        "pin=0\npin=00": "r",
    }  # fmt: skip
    # Something stands where an exception stood.
    assert judge("pin=1;5", rules=rules) == ("r", DROP)


def test_rules_are_searched_for_by_groups_and_what_they_need_first():
    rules = own(
        SensitiveKeyRule(name="a", action=DROP, value_patterns=("a1", "a2")),
        SensitiveKeyRule(name="b", action=DROP, value_patterns=("b",), value_group="g"),
        SensitiveKeyRule(name="c", action=REDACT, value_patterns=("c",)),
        SensitiveKeyRule(name="d", action=ALLOW, value_patterns=("d",)),
        SensitiveKeyRule(
            name="e", action=DROP, value_patterns=("e",), value_needs=("@", "[0-9]")
        ),
        *(
            SensitiveKeyRule(
                name=name,
                action=DROP,
                value_patterns=(name,),
                value_needs=(need,),
                value_group="g",
            )
            for name, need in (("f", "@"), ("h", "="), ("i", "@"))
        ),
    )
    made = [(one.pattern, one.texts) for one in rules.hiding_searches]
    assert made == [
        ("(?m)(?:(?:a1)|(?:a2)|(?:c))", ()), ("(?m)(?:(?:b))", ()),
        ("(?m)(?:(?:f)|(?:i))", ("@",)), ("(?m)(?:(?:h))", ("=",)),
        ("(?m)(?:(?:e))", ("@",)),
    ]  # fmt: skip
    assert [one for one in ("e", "e@", "e@1", "a1", "b", "d") if rules.may_hide([one])] == [
        "e@", "e@1", "a1", "b",
    ]  # fmt: skip
    values = pa.array(["e", "e@", "e@1", "a1", "b", "d"])
    assert find_suspects(values, rules).tolist() == [
        False,
        True,
        True,
        True,
        True,
        False,
    ]


def test_a_rule_for_keys_never_lets_a_secret_pass_but_a_rule_for_values_may():
    hide = SensitiveKeyRule(name="hide", action=REDACT, value_patterns=("secret",))
    keys = SensitiveKeyRule(name="ours", action=ALLOW, key_prefixes=("a.",))
    values = SensitiveKeyRule(
        name="known", action=ALLOW, keys=("a.b",), value_patterns=(".",)
    )
    assert judge("secret", "a.b", rules=own(keys, hide)) == ("hide", REDACT)
    assert judge("secret", "a.b", rules=own(keys, values, hide)) == ("known", ALLOW)
    assert judge("secret", "a.c", rules=own(keys, values, hide)) == ("hide", REDACT)
    assert judge("secret", "a.b", rules=own(keys, hide, values)) == ("hide", REDACT)


def test_rules_that_hide_see_the_plain_form_and_rules_that_allow_do_not():
    hide = SensitiveKeyRule(
        name="hide", action=REDACT, value_patterns=("secret=",), value_needs=("[0-9]",)
    )
    allow = SensitiveKeyRule(name="known", action=ALLOW, value_patterns=("secret=1",))
    hiding, both = own(hide), own(allow, hide)
    for value in ("secret%3D1", r"secret\=1", "secret&#61;1", "\uff53ecret=1"):
        assert hiding.may_hide(["a", value])
        assert judge(value, rules=hiding) == ("hide", REDACT)
        assert judge(value, rules=both) == ("hide", REDACT)
    assert judge("secret=1", rules=both) == ("known", ALLOW)
    # What is needed must be found in the same form.
    assert judge("secret=%41", rules=own(hide)) == ("hide", REDACT)
    assert judge("secret%3D%41", rules=own(hide)) == ("", ALLOW)


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ({"value_patterns": ("a(",)}, r"value_patterns: missing \)"),
        ({"value_patterns": (r"(a)\1",)}, "value_patterns: invalid escape"),
        ({"value_patterns": (r"\Aa",)}, r"value_patterns: \\A cannot be used here"),
        ({"value_patterns": (r"a\z",)}, r"value_patterns: \\z cannot be used here"),
        ({"value_patterns": (r"\Qa",)}, r"value_patterns: \\Q cannot be used here"),
        ({"value_patterns": ("(?i-m)^a",)}, r"value_patterns: \(\?i-m cannot be used"),
        ({"keys": ("a",), "value_needs": ("a",)}, "value_needs stand beside"),
        ({"value_patterns": ("a",), "value_needs": ("(",)}, "value_needs: missing"),
        ({"keys": ("a",), "value_exceptions": ("a",)}, "value_exceptions stand beside"),
        ({"keys": ("a",), "value_group": "a"}, "value_group stand beside"),
        ({"value_patterns": ("a",), "value_exceptions": ("(",)}, "value_exceptions: miss"),
    ],
)  # fmt: skip
def test_a_value_rule_that_cannot_be_used_is_named_with_the_reason(rule, reason):
    with pytest.raises(InvalidRule, match=rf"rule 'r': {reason}"):
        own(SensitiveKeyRule(name="r", action=DROP, **rule))


def test_a_backslash_before_a_letter_is_no_anchor():
    rule = SensitiveKeyRule(name="r", action=DROP, value_patterns=(r"\\A",))
    assert judge(r"x\A", rules=own(rule)) == ("r", DROP)


def test_a_key_that_looks_like_a_secret_is_not_shown():
    assert RULES.show_key("AKIA" + "QWERTYUIOPASDFGH") == NO_NAME
    assert RULES.show_key("my_AKIA" + "QWERTYUIOPASDFGH_x") == NO_NAME
    assert RULES.show_key("a b") == NO_NAME
    assert RULES.show_key("com.acme.token") == "com.acme.token"
    keys = [key for one in load_config_catalogs().values() for key in one]
    assert [key for key in keys if RULES.show_key(key) != key] == []
    for number in range(100):
        RULES.show_key(f"com.acme.x{number}")
    assert set(RULES._shown) == set(keys)


def test_rules_without_value_patterns_search_nothing():
    rules = own(SensitiveKeyRule(name="r", action=DROP, keys=("a",)))
    assert not rules.may_hide(["password=x"])
    assert judge("password=x", rules=rules) == ("", ALLOW)


def test_value_patterns_take_linear_time():
    for text in (
        "eyJ" * 50_000, "a://" * 50_000, "password " * 30_000, "MIC" * 50_000,
        "//a:" * 50_000, 'token"' * 30_000, "<password " * 30_000, " --" * 50_000,
        "%25" * 50_000, "secret:1." * 30_000, "a:b@" * 50_000, "AAAA==" * 30_000,
        "mysql " * 30_000, "mysql a" * 30_000, "user:x" * 30_000, "a/b" * 50_000 + "@",
        "a:b@" * 30_000 + "@", "a/b@" * 30_000, "a:secret" * 30_000 + "@", "a/b@c@" * 20_000,
        "a:1:" * 50_000, "a:1000:" * 30_000, "&amp;" * 30_000, "%u00" * 50_000, "auth " * 30_000,
    ):  # fmt: skip
        RULES.judge_entry("client.id", text, "STRING", JAVA)


def test_what_is_explained_is_what_is_decided():
    for _, form in SECRETS:
        for key in ("client.id", "ssl.x", " SSL_x", "com.acme", "acks", "ACKS"):
            entry = (key, write_secret(form, 3), "STRING", JAVA)
            explained = RULES.explain(*entry)
            assert explained.verdict == RULES.judge_entry(*entry)
            assert explained.reason
    assert RULES.explain("acks", "all", "STRING", JAVA).reason == ""
