"""A line of a change tells nothing that rules hide, however its values look."""

import pyarrow as pa
import pytest

from udfs.dynamic_configs.purges import show_stored_changes, show_stored_keys
from udfs.sensitive.sensitive_key_rules import SensitiveKeyRule
from udfs.sensitive.sensitive_keys import compile_rules

KEYS = frozenset({"acks", "client.rack", "linger.ms"})
JAVA, OTHER = "apache-kafka-java", "other"
RULES = compile_rules(
    [
        SensitiveKeyRule(name="a", action="redact", keys=("client.rack",)),
        SensitiveKeyRule(name="b", action="redact", is_custom=True),
        SensitiveKeyRule(name="c", action="redact", value_patterns=("^secret$",)),
    ],
    {JAVA: dict.fromkeys(KEYS, frozenset({"STRING"})), OTHER: {}},
)


def show(change, kind="alteration"):
    texts = (pa.array([text], pa.string()) for text in (kind, change))
    return show_stored_changes(*texts, RULES, (JAVA, OTHER)).to_pylist()[0]


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ("acks set to secret", "acks set to (hidden)"),
        ("acks secret removed", "acks (hidden) removed"),
        ("acks secret -> 1", "acks (hidden) -> (hidden)"),
        ("acks a -> b -> secret", "acks (hidden) -> (hidden)"),
        ("client.rack set to r1", "client.rack set to (hidden)"),
        ("odd one set to 1", "odd (hidden) -> (hidden)"),
        (f"{'k' * 129} set to 1", "(no name) set to (hidden)"),
        (f"acks set to {'s' * 199}…", "acks set to (hidden)"),
        (f"acks set to {'s' * 200}", f"acks set to {'s' * 200}"),
        ("acks 1 -> secretive", "acks 1 -> secretive"),
        (None, None),
    ],
)
def test_a_hidden_value_is_out_of_its_line_and_stays_so(change, shown):
    assert show(change) == shown
    assert show(shown) == shown


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ("a b 1 supports acks, client.rack", "a b 1 supports acks"),
        ("a supports 1 supports client.rack", "a supports 1 supports -"),
        ("a 1 supports acks, lin…", "a 1 supports acks"),
    ],
)
def test_a_hidden_key_is_out_of_the_line_of_its_registration(change, shown):
    assert show(change, "registration") == shown
    assert show(shown, "registration") == shown


def test_hidden_keys_are_none_of_those_that_are_stored():
    keys = pa.array([["acks", "client.rack"], ["unknown"], []], pa.list_(pa.string()))
    shown = show_stored_keys(keys, RULES, (JAVA, OTHER)).to_pylist()
    assert shown == [["acks"], [], []]
