"""Rows of config_violations: one for each hit, with its rule and its action."""

import pyarrow as pa
import pytest

from pipelines.bridge.protocol.push_config import ClientConfig, write_push_config
from pipelines.bridge.push_config.rules import judge_configs
from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.rules import make_sensitive_key_rules
from tests.support.config_chain import judge_pushes, resolve_pushes
from udfs.configs.entries import VIOLATION_TYPE
from udfs.configs.violations import list_violations
from udfs.sensitive.config_key_names import NO_NAME
from udfs.sensitive.redacted_keys import Violation, write_redactions
from udfs.sensitive.sensitive_key_rules import CONFIG_TYPE_NAMES, SensitiveKeyRule
from udfs.sensitive.sensitive_keys import compile_rules

JAVA = "apache-kafka-java"
SETTINGS, CATALOGS = load_settings("base"), load_config_catalogs()
RULES = make_sensitive_key_rules(SETTINGS.sensitive_keys, CATALOGS)


def config(key, value="x", type_name="STRING", *, is_default=False):
    return ClientConfig(key, value, CONFIG_TYPE_NAMES.index(type_name), is_default)


def through_bridge_and_job(*entries):
    """Return the rows of one push, and the status of each entry that is stored."""
    judged = judge_configs(
        entries, software_name=JAVA, rules=RULES, first_config_type_id=0
    )
    header = write_redactions(judged.violations).decode()
    context = JAVA, "4.3.1", "producer", header
    stored = judge_pushes([write_push_config(judged.stored)], context, RULES)
    headers = pa.array([header])
    rows = list_violations(stored["violations"], headers, RULES).to_pylist()
    configs = resolve_pushes(stored, context, RULES)[0].as_py()
    return rows, {one["config_key"]: one["status"] for one in configs}


def listed(header, *found, rules=RULES):
    """Return key, rule, action and finder of the rows of one push."""
    hits = pa.array([found], pa.list_(VIOLATION_TYPE))
    rows = list_violations(hits, pa.array([header], pa.string()), rules).to_pylist()
    assert [row["entry_index"] for row in rows] == list(range(len(rows)))
    return [tuple(row.values())[2:] for row in rows]


def test_every_sensitive_key_of_the_catalog_is_a_row_with_its_rule():
    types = {key: min(types) for key, types in CATALOGS["java"].items()}
    pushed = [config(key, "", type_name) for key, type_name in types.items()]
    hits = {
        (key, RULES.judge(key, type_name, JAVA).rule)
        for key, type_name in types.items()
        if not RULES.may_allow(key, type_name, JAVA)
    }
    assert len(hits) > 50
    rows, statuses = through_bridge_and_job(*pushed)
    assert sorted((row["config_key"], row["rule"]) for row in rows) == sorted(hits)
    assert {row["action"] for row in rows} == {"redacted"}
    # The honest empty values among them stay what they are.
    assert statuses["group.id"] == "overridden"


def test_a_secret_value_keeps_the_rule_that_only_the_bridge_could_find():
    rows, _ = through_bridge_and_job(config("acks", "password=x"))
    assert [tuple(row.values())[2:] for row in rows] == [
        ("acks", "named-secret-value", "redacted", "bridge")
    ]


def test_entries_whose_keys_may_not_be_shown_are_a_row_each():
    rows, _ = through_bridge_and_job(config("a b"), config("c d"), config("e f"))
    assert [tuple(row.values())[2:] for row in rows] == (
        [(NO_NAME, "custom-key", "dropped", "bridge")] * 3
    )
    found = {"config_key": NO_NAME, "rule": "custom-key", "action": "redact"}
    assert listed('{"v":1,"dropped":{"r":[""]}}', found, found) == [
        (NO_NAME, "r", "dropped", "bridge"),
        (NO_NAME, "custom-key", "dropped", "job"),
        (NO_NAME, "custom-key", "dropped", "job"),
    ]


def test_many_hits_leave_honest_empty_values_what_they_are():
    many = [config(f"com.acme.k{number}") for number in range(21)]
    honest = [config("group.id", "", is_default=True), config("client.rack", "")]
    rows, statuses = through_bridge_and_job(*many, *honest)
    assert len(rows) == 21
    assert (statuses["group.id"], statuses["client.rack"]) == ("default", "overridden")
    assert statuses["com.acme.k20"] == "redacted"


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ('{"v":1,"redacted":{"old":["k"]}}', ("k", "old", "redacted", "bridge")),
        ('{"v":1,"dropped":{"old":["k"]}}', ("k", "old", "dropped", "bridge")),
        ("", ("k", "new", "dropped", "job")),
        (None, ("k", "new", "dropped", "job")),
    ],
)
def test_what_both_have_found_is_one_row_by_the_rule_of_the_bridge(header, row):
    assert listed(header, {"config_key": "k", "rule": "new", "action": "drop"}) == [row]


def test_rules_in_force_are_told_by_any_name():
    rules = compile_rules(
        [SensitiveKeyRule(name="Acme's räcks", action="redact", keys=("acks",))], {}
    )
    header = write_redactions([Violation("acks", "Acme's räcks", "redacted")]).decode()
    assert listed(header, rules=rules) == [
        ("acks", "Acme's räcks", "redacted", "bridge")
    ]
    assert listed(header) == [("acks", NO_NAME, "redacted", "bridge")]


def test_what_a_header_says_is_shown_only_where_it_looks_like_a_name():
    header = '{"v":1,"redacted":{"password=x":["a"],"r":["password=x","y z"]}}'
    assert listed(header) == [
        ("a", NO_NAME, "redacted", "bridge"),
        (NO_NAME, "r", "redacted", "bridge"),
        (NO_NAME, "r", "redacted", "bridge"),
    ]
    assert all(
        RULES.show_key(one.name) == one.name for one in SETTINGS.sensitive_keys.rules
    )
    assert listed('{"v":2}') == []


def test_what_a_header_only_counts_is_a_row_that_says_how_many():
    hits = [
        Violation(f"key.{number}", "custom-key", "redacted") for number in range(999)
    ]
    rows = listed(write_redactions(hits).decode())
    assert rows[0] == ("key.0", "custom-key", "redacted", "bridge")
    assert rows[-1] == (f"(and {1_000 - len(rows)} more)", None, "redacted", "bridge")
    assert len(rows) > 200
