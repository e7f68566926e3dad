"""Stored entries judged again: as the job decides them before they are stored."""

import pyarrow as pa

from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.rules import make_sensitive_key_rules
from udfs.configs.content_hashes import hash_entries
from udfs.configs.purges import STORED_ENTRY_TYPE, judge_stored_entries
from udfs.text_codes import code_texts

RULES = make_sensitive_key_rules(
    load_settings("base").sensitive_keys, load_config_catalogs()
)
JAVA = "apache-kafka-java"


def judge(*lists, software=JAVA):
    entries = pa.array(list(lists), pa.list_(STORED_ENTRY_TYPE))
    names = pa.array([software] * len(lists), pa.string())
    return judge_stored_entries(names, entries, RULES).to_pylist()


def actions(row):
    return [one["action"] for one in row["verdicts"]]


def test_each_entry_has_a_verdict_in_its_order():
    first, nothing, empty, last = judge(
        [
            ("acks", "1", "STRING", False),
            ("acks", "bearer abcdefgh12", "STRING", False),
            ("ssl.key.password", "x", "PASSWORD", False),
        ],
        None,
        [],
        [("retries", None, None, True)],
    )
    assert actions(first) == ["allow", "redact", "redact"]
    assert [one["rule"] for one in first["verdicts"]] == [
        "",
        "token-value",
        "password-type",
    ]
    assert actions(nothing) == actions(empty) == []
    assert actions(last) == ["allow"]
    assert nothing["content_hash"] == empty["content_hash"]


def test_a_hidden_entry_whose_key_may_not_be_shown_is_dropped():
    (row,) = judge([("a key, with = words", "x", "STRING", False)])
    assert row["verdicts"] == [
        {"rule": "custom-key", "action": "drop", "shown_key": "(no name)"}
    ]


def test_the_software_decides_which_keys_are_known():
    entries = [("log.retention.hours", "week", "STRING", False)]
    assert actions(judge(entries)[0]) == ["redact"]
    assert actions(judge(entries, software="apache-kafka-broker")[0]) == ["allow"]
    assert actions(judge(entries, software=None)[0]) == ["redact"]


def test_the_hash_is_that_of_what_is_left():
    entries = [
        ("ssl.key.password", "x", "PASSWORD", False),
        ("acks", "1", "STRING", True),
        ("no name", "x", None, False),
    ]
    (row,) = judge(entries)
    (expected,) = hash_entries(
        [2],
        code_texts(pa.array(["acks", "ssl.key.password"])),
        pa.array(["1", None]),
        code_texts(pa.array(["STRING", "PASSWORD"])),
        pa.array([True, False]).to_numpy(zero_copy_only=False),
    )
    assert row["content_hash"] == expected
    assert judge(entries[:2][::-1])[0]["content_hash"] == expected
