"""Client ids that look like secrets, of one client and of a whole column."""

from dataclasses import replace

import pyarrow as pa
import pytest

from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.rules import make_sensitive_key_rules
from tests.unit.udfs.sensitive.secrets_in_values import SECRETS, write_secret
from udfs.configs.entries import VIOLATION_TYPE
from udfs.sensitive.bounded_texts import bound_text
from udfs.sensitive.client_id_columns import (
    add_client_id_hits,
    find_client_id_rules,
    find_stored_client_id_rules,
    hide_client_ids,
)
from udfs.sensitive.client_ids import (
    HIDDEN_CLIENT_ID,
    MAX_CHARACTERS,
    TOO_LONG,
    find_client_id_rule,
    shorten_unseen,
)
from udfs.sensitive.sensitive_key_rules import SensitiveKeyRule
from udfs.sensitive.sensitive_keys import compile_rules

RULES = make_sensitive_key_rules(
    load_settings("base").sensitive_keys, load_config_catalogs()
)
BY_KEY = SensitiveKeyRule(name="key", action="redact", keys=("client.id",))
LET = SensitiveKeyRule(
    name="let", action="allow", keys=("client.id",), value_patterns=("^pin=ours$",)
)
HIDE = SensitiveKeyRule(name="hide", action="drop", value_patterns=("pin=",))


@pytest.mark.parametrize(("rule", "form"), SECRETS)
def test_what_the_rules_hide_as_a_value_is_hidden_as_a_client_id(rule, form):
    assert find_client_id_rule(write_secret(form, 7), RULES) == rule


@pytest.mark.parametrize("name", ["", "app-1", "orders@host", "é", HIDDEN_CLIENT_ID])
def test_an_ordinary_client_id_is_written(name):
    assert find_client_id_rule(name, RULES) is None


def test_rules_for_keys_alone_hide_no_client_id_and_rules_for_values_may_allow_one():
    rules = compile_rules([BY_KEY, LET, HIDE], {})
    found = [find_client_id_rule(name, rules) for name in ("a", "pin=1", "pin=ours")]
    assert found == [None, "hide", None]


def test_neither_the_stand_in_nor_a_null_is_hidden_by_a_rule_for_everything():
    rules = compile_rules([replace(HIDE, value_patterns=(".*",))], {})
    names = pa.array(["a", HIDDEN_CLIENT_ID, None])
    assert find_client_id_rules(names, rules).to_pylist() == ["hide", None, None]
    assert find_client_id_rule(HIDDEN_CLIENT_ID, rules) is None


def test_a_long_client_id_beyond_ascii_is_judged_as_it_was_said_alone():
    long, bounded = "\ufdfa" * (MAX_CHARACTERS + 1), "\ufdfa" * MAX_CHARACTERS
    names = pa.array([long, bounded, "a" * 30_000, long + " password=x", None])
    found = [None, None, None, TOO_LONG, None]
    assert find_client_id_rules(names, RULES).to_pylist() == found
    assert [find_client_id_rule(one or "", RULES) for one in names.to_pylist()] == found


def test_of_a_client_id_that_was_not_looked_through_there_is_its_hash_alone():
    alike = ["\u00fc" * 1100 + end for end in ("a", "b")]
    ordinary = ["\u00fc" * MAX_CHARACTERS, "a" * 30_000, "app", None]
    names = pa.array([*alike, *ordinary, "\u00fc" * 1100 + " password=x"])
    shown = hide_client_ids(names, find_client_id_rules(names, RULES)).to_pylist()
    assert shown[:2] == [bound_text(one, 0) for one in alike]
    assert shown[:2] == [shorten_unseen(one) for one in alike]
    assert shown[0] != shown[1]
    assert shown[2:] == [*ordinary, HIDDEN_CLIENT_ID]
    assert find_client_id_rules(pa.array(shown), RULES).null_count == len(shown)
    stored = find_stored_client_id_rules(names, RULES).to_pylist()
    assert stored == [TOO_LONG, TOO_LONG, None, None, None, None, TOO_LONG]
    assert find_stored_client_id_rules(pa.array(shown), RULES).null_count == len(shown)


def test_a_column_is_hidden_where_each_one_is():
    names = pa.array(["app", "pin=1", None, "", "pin=1", "pin=ours"])
    found = find_client_id_rules(names, compile_rules([LET, HIDE], {}))
    assert found.to_pylist() == [None, "hide", None, None, "hide", None]
    shown = hide_client_ids(names, found).to_pylist()
    assert shown == ["app", "(redacted)", None, "", "(redacted)", "pin=ours"]
    nothing = pa.array([], pa.string())
    assert hide_client_ids(nothing, find_client_id_rules(nothing, RULES)) == nothing


def test_a_hidden_client_id_is_one_hit_of_its_push():
    hits = [
        {"config_key": key, "rule": "r", "action": "redact"}
        for key in ("a", "client.id")
    ]
    found = pa.array([hits[:1], hits, [], []], pa.list_(VIOLATION_TYPE))
    rules = pa.array(["hide", "hide", "hide", None])
    named = {"config_key": "client.id", "rule": "hide", "action": "redact"}
    made = add_client_id_hits(found, rules).to_pylist()
    assert made == [[hits[0], named], hits, [named], []]
    no_rules = pa.nulls(4, pa.string())
    assert add_client_id_hits(found, no_rules) is found
