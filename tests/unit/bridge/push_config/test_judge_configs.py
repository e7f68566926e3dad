"""What the rules leave of a push, and what is said about it."""

import pytest

from pipelines.bridge.protocol.push_config import ClientConfig
from pipelines.bridge.push_config.rules import (
    MAX_NAMED_KEYS,
    describe_violations,
    judge_configs,
    type_name,
)
from udfs.sensitive.redacted_keys import DROPPED, REDACTED, Violation, write_redactions
from udfs.sensitive.sensitive_key_rules import SensitiveKeyRule
from udfs.sensitive.sensitive_keys import compile_rules

RULES = compile_rules(
    [
        SensitiveKeyRule(name="gone", action="drop", key_prefixes=("drop.",)),
        SensitiveKeyRule(name="class", action="redact", config_types=("CLASS",)),
        SensitiveKeyRule(name="new", action="redact", is_custom=True),
        SensitiveKeyRule(name="pin", action="redact", value_patterns=("^pin=",)),
        SensitiveKeyRule(name="key", action="drop", value_patterns=("^key=",)),
    ],
    {"app": {key: frozenset() for key in ("a", "b", "drop.it", "c")}},
)


def config(key, value="canary", type_id=1, *, is_default=False):
    return ClientConfig(
        config_key=key, config_value=value, config_type=type_id, is_default=is_default
    )


def judge(*configs, first=0):
    return judge_configs(
        configs, software_name="app", rules=RULES, first_config_type_id=first
    )


def test_ordinary_entries_stay_as_they_are_and_in_order():
    entries = (config("b", "2", 4, is_default=True), config("a", "", 0))
    judged = judge(*entries)
    assert judged.stored == judged.allowed == entries
    assert judged.violations == ()


def test_a_sensitive_value_is_gone_whatever_its_key():
    judged = judge(config("a", "pin=1"), config("b", "key=1"), config("c", "1"))
    assert judged.stored == (config("a", ""), config("c", "1"))
    assert judged.allowed == (config("c", "1"),)
    assert judged.violations == (
        Violation("a", "pin", REDACTED), Violation("b", "key", DROPPED),
    )  # fmt: skip


def test_values_side_by_side_are_not_read_as_one():
    entries = (config("a", "pin"), config("b", "=1"), config("c", "\n"))
    assert judge(*entries).stored == entries


def test_a_redacted_entry_keeps_its_key_and_loses_its_value():
    judged = judge(config("a"), config("x.y", is_default=True), config("b"))
    assert judged.stored == (
        config("a"), config("x.y", "", is_default=True), config("b"),
    )  # fmt: skip
    assert judged.allowed == (config("a"), config("b"))
    assert judged.violations == (Violation("x.y", "new", REDACTED),)


def test_a_dropped_entry_is_only_named():
    judged = judge(config("drop.it"), config("a"))
    assert judged.stored == judged.allowed == (config("a"),)
    assert judged.violations == (Violation("drop.it", "gone", DROPPED),)


@pytest.mark.parametrize("key", ["", "canary value", "password=canary", "canary" * 6])
def test_an_entry_whose_key_does_not_look_like_one_leaves_nothing(key):
    judged = judge(config(key))
    assert judged.stored == judged.allowed == ()
    assert judged.violations == (Violation("(no name)", "new", DROPPED),)
    assert "canary" not in describe_violations(judged.violations, "was not stored")
    assert b"canary" not in write_redactions(judged.violations)


def test_no_entries_are_judged_well():
    judged = judge()
    assert judged.stored == judged.allowed == judged.violations == ()


def test_types_count_from_the_configured_number_and_are_written_as_ordinals():
    sent = [config("a", "v", type_id) for type_id in (0, 1, 8, 9, 10, -128, 127)]
    from_0 = [one.config_type for one in judge(*sent, first=0).stored]
    assert from_0 == [0, 1, 8, -1, -1, -1, -1]
    from_1 = [one.config_type for one in judge(*sent, first=1).stored]
    # 8 is CLASS there: redacted, and still there.
    assert from_1 == [-1, 0, 7, 8, -1, -1, -1]


def test_a_type_is_what_the_configured_numbers_say():
    assert judge(config("a", type_id=7), first=0).violations[0].rule == "class"
    assert judge(config("a", type_id=8), first=1).violations[0].rule == "class"
    assert judge(config("a", type_id=7), first=1).violations == ()


def test_types_have_kafkas_names():
    names = [type_name(number) for number in range(-1, 10)]
    assert names == [
        "", "BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS",
        "PASSWORD", "",
    ]  # fmt: skip


def test_an_answer_names_keys_and_rules():
    violations = judge(config("x"), config("drop.it"), config("x")).violations
    assert describe_violations(violations, "was not stored") == (
        "sensitive configuration was not stored: x (new), drop.it (gone)"
    )


def test_an_answer_is_bounded_and_a_header_counts_what_it_leaves_out():
    keys = [".".join([f"k{number}"] * 20)[:128] for number in range(1_000)]
    violations = judge(*(config(key) for key in keys)).violations
    answer = describe_violations(violations, "was not stored")
    assert len(answer) < 5_000
    assert answer.endswith(f"{keys[MAX_NAMED_KEYS - 1]} (new), and 980 more")
    header = write_redactions(violations).decode()
    named = [key for key in keys if f'"{key}"' in header]
    assert len(header) < 4_600
    assert named == keys[: len(named)]
    assert header.endswith(f'"more":{1_000 - len(named)}}}')
