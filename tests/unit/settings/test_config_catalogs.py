"""Catalogs and the file of rules: what is taken, what is refused, and where."""

import shutil

import pytest

from pipelines.errors import InvalidSetting
from pipelines.settings import CONF_PATH, load_config_catalogs, load_settings
from pipelines.settings.client_config_settings import SoftwareCatalogSettings
from pipelines.settings.config_catalogs import (
    catalogs_by_software,
    keys_by_client_type,
    parse_broker_configs,
    parse_catalogs,
)
from pipelines.settings.rules import make_sensitive_key_rules
from udfs.sensitive.sensitive_keys import ANY_SOFTWARE

HEAD = "name,type\n"
CATALOGS = {
    "a": {"k": frozenset({"INT"})},
    "b": {"k": frozenset({"LONG"}), "l": frozenset({"LIST"})},
}


def software(names, catalogs):
    return SoftwareCatalogSettings(names=names, catalogs=catalogs)


def test_the_files_of_one_catalog_count_together():
    files = {
        "java-1-producer": HEAD + "acks,STRING\nx,INT\n",
        "java-2-producer": HEAD + 'x,LONG\n"y,z",LIST\n',
        "other": HEAD,
    }
    assert parse_catalogs(files) == {
        "java": {
            "acks": frozenset({"STRING"}),
            "x": frozenset({"INT", "LONG"}),
            "y,z": frozenset({"LIST"}),
        },
        "other": {},
    }


@pytest.mark.parametrize("text", ["key,kind\nacks,INT\n", HEAD + "acks\n", HEAD + ",INT\n"])  # fmt: skip
def test_a_row_without_name_or_type_is_refused_with_its_place(text):
    with pytest.raises(InvalidSetting, match=r"config_catalog/java-1\.csv: line 2: "):
        parse_catalogs({"java-1": text})


def test_the_catalogs_of_a_software_are_merged():
    known = catalogs_by_software((software(("s", "t"), ("a", "b")),), (), CATALOGS)
    assert known["s"] == known["t"]
    assert known["s"] == {"k": frozenset({"INT", "LONG"}), "l": frozenset({"LIST"})}


def test_shared_catalogs_are_those_of_any_software():
    known = catalogs_by_software((), ("a", "b"), CATALOGS)
    assert known[ANY_SOFTWARE].keys() == {"k", "l"}
    with pytest.raises(InvalidSetting, match=r"shared_catalogs: no catalog c"):
        catalogs_by_software((), ("c",), CATALOGS)


def test_a_catalog_that_is_not_there_is_named():
    with pytest.raises(InvalidSetting, match=r"software\[0\]: no catalog c"):
        catalogs_by_software((software(("s",), ("a", "c")),), (), CATALOGS)


def test_software_may_be_named_once():
    twice = (software(("s",), ("a",)), software(("s",), ("b",)))
    with pytest.raises(InvalidSetting, match=r"software\[1\]: s is there twice"):
        catalogs_by_software(twice, (), CATALOGS)


def test_the_catalogs_of_conf_hold_both_kinds_of_clients_and_the_cluster():
    catalogs = load_config_catalogs()
    cluster = {"kafka", "topic", "group", "dynamic"}
    assert set(catalogs) == {"java", "librdkafka", *cluster}
    assert catalogs["topic"]["retention.ms"] == frozenset({"LONG"})
    assert catalogs["group"]["share.isolation.level"] == frozenset({"STRING"})
    assert catalogs["dynamic"]["leader.replication.throttled.rate"] == {"LONG"}
    assert catalogs["java"]["acks"] == frozenset({"STRING"})
    assert "auto.include.jmx.reporter" in catalogs["java"]  # only in 3.9.2
    assert "share.acquire.mode" in catalogs["java"]  # only in 4.3.1
    assert "queue.buffering.max.ms" in catalogs["librdkafka"]


def test_an_unknown_key_of_a_rule_is_refused_with_file_and_key(tmp_path):
    conf = shutil.copytree(CONF_PATH, tmp_path / "conf")
    rules = conf / "sensitive_keys.toml"
    rules.write_text(
        rules.read_text("utf-8").replace("key_suffixes", "key_sufixes"), "utf-8"
    )
    with pytest.raises(InvalidSetting) as raised:
        load_settings("local", conf_path=conf)
    assert str(raised.value) == (
        "conf/sensitive_keys.toml: sensitive_keys.rules[5].key_sufixes: unknown key; "
        "did you mean key_suffixes?"
    )


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ('{name="a"}', r"sensitive_keys\.rules\[0\]\.action: the key is missing"),
        ('{name="a",action="hide"}', r"rules\[0\]\.action: must be one of redact, drop, allow"),
        ('{name="a",action="drop",keys="x"}', r"rules\[0\]\.keys: expects a list"),
        ('{name="a",action="drop",is_custom=1}', r"rules\[0\]\.is_custom: expects true or false"),
    ],
)  # fmt: skip
def test_a_bad_rule_is_refused_by_name(rule, reason):
    with pytest.raises(InvalidSetting, match=reason):
        load_settings("local", [f"sensitive_keys.rules=[{rule}]"])


def test_a_rule_that_cannot_be_compiled_is_refused_with_file_and_name():
    override = 'sensitive_keys.rules=[{name="a",action="drop",key_patterns=["("]}]'
    settings = load_settings("local", [override])
    with pytest.raises(InvalidSetting, match=r"sensitive_keys\.toml: rule 'a': key_pa"):
        make_sensitive_key_rules(settings.sensitive_keys, load_config_catalogs())


@pytest.mark.parametrize(
    ("value", "reason"),
    [("3", "expects a table of texts"), ("{a=1}", r"\.a: expects a text")],
)
def test_policy_settings_are_texts(value, reason):
    with pytest.raises(InvalidSetting, match=rf"policy_settings(: |){reason}"):
        load_settings("local", [f"client_config.policy_settings={value}"])
    read = load_settings("local", ['client_config.policy_settings={a="x y"}'])
    assert read.client_config.policy_settings == {"a": "x y"}


def test_a_broker_config_has_the_types_and_the_validator_of_any_release():
    head = HEAD.rstrip() + ",validator\n"
    files = {
        "kafka-1": head + "a,INT,\nb,LIST,\n",
        "kafka-2": head + 'a,LONG,"[0,...]"\n',
        "topic-2": head + "c,INT,\n",
    }
    assert parse_broker_configs(files) == {
        "a": (frozenset({"INT", "LONG"}), True),
        "b": (frozenset({"LIST"}), False),
    }


def test_a_key_is_known_to_the_types_of_its_files():
    files = {
        "java-1-producer": HEAD + "acks,STRING\nretries,INT\n",
        "java-2-admin": HEAD + "retries,INT\n",
        "c-1": "name,applies_to,type\nlinger.ms,P,INT\nclient.id,*,STRING\n",
    }
    assert keys_by_client_type(files) == {
        "producer": {"acks", "retries", "linger.ms", "client.id"},
        "consumer": {"client.id"},
        "admin": {"retries", "client.id"},
    }


def test_clients_that_nobody_knows_are_refused():
    with pytest.raises(InvalidSetting, match=r"c-1\.csv: applies_to 'X'"):
        keys_by_client_type({"c-1": "name,applies_to,type\nk,X,INT\n"})
