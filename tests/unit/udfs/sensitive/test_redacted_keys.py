"""The headers that name what a bridge hid: their form and their bounds."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.sensitive.config_key_names import NO_NAME
from udfs.sensitive.redacted_keys import (
    DROPPED,
    MAX_NAMES_BYTES,
    MAX_REDACTIONS_BYTES,
    REDACTED,
    Violation,
    make_redaction_headers,
    read_redactions,
    write_redactions,
)

KEY = Violation("ssl.key.password", "password-type", REDACTED)
VALUE = Violation("acks", "named-secret-value", REDACTED)
GONE = Violation("a.b", "gone", DROPPED)
NAMELESS = Violation(NO_NAME, "custom-key", DROPPED)


def test_nothing_hidden_is_an_empty_header():
    assert write_redactions([]) == b""


def test_every_hit_has_its_rule_and_its_action():
    header = write_redactions([KEY, GONE, NAMELESS, VALUE, KEY, NAMELESS])
    assert header == (
        b'{"v":1,"redacted":{"password-type":["ssl.key.password"],'
        b'"named-secret-value":["acks"]},'
        b'"dropped":{"gone":["a.b"],"custom-key":["",""]}}'
    )
    read = read_redactions(header.decode())
    assert read.violations == (KEY, VALUE, GONE, NAMELESS, NAMELESS)
    assert read.redacted == {"ssl.key.password", "acks"}
    assert read.more == 0


def test_a_record_names_keys_and_says_more_beside_them():
    assert make_redaction_headers([]) == [("redacted_keys", b"")]
    headers = make_redaction_headers([KEY, GONE, NAMELESS, KEY, NAMELESS])
    assert headers == [
        ("redacted_keys", b"ssl.key.password,a.b,(no name)"),
        ("redactions", write_redactions([KEY, GONE, NAMELESS, NAMELESS])),
    ]


@pytest.mark.parametrize(
    "header",
    [
        "", "acks", "{", "{}", '{"v":2}', '{"redacted":{}}', '{"v":1,"redacted":[]}',
        '{"v":1,"redacted":{"r":"abc"}}', '{"v":1,"redacted":{"r":[1]}}',
        '{"v":1,"dropped":{"r":[null]}}', '{"v":1,"more":3}', "{" * 100_000,
        '{"v":1,"redacted":{"r":["\\ud800"]}}', '{"v":1,"redacted":{"\\ud800":["a"]}}',
        '{"v":1,"redacted":{"r":{"a":1}}}', '{"v":' * 50_000,
    ],
)  # fmt: skip
def test_json_of_another_form_is_not_read(header):
    assert read_redactions(header) is None


@given(st.text())
def test_any_text_is_read_or_not(text):
    for header in (text, "{" + text, json.dumps({"v": 1, "redacted": {"r": [text]}})):
        read = read_redactions(header)
        assert read is None or all(isinstance(one.key, str) for one in read.violations)


violations = st.builds(
    Violation,
    st.one_of(st.just(NO_NAME), st.from_regex(r"\A[a-z.]{1,128}\Z")),
    st.sampled_from(["one", "two", 'a "rule"']),
    st.sampled_from([REDACTED, DROPPED]),
)


@given(st.lists(violations, min_size=1, max_size=60))
def test_a_header_says_all_and_is_shorter_than_the_request(hits):
    header = write_redactions(hits)
    named = {hit for hit in hits if hit.key != NO_NAME}
    read = read_redactions(header.decode()).violations
    assert sorted(read) == sorted([*named, *(h for h in hits if h.key == NO_NAME)])
    request = sum(5 + (0 if hit.key == NO_NAME else len(hit.key)) for hit in hits)
    assert len(header) <= request + 100


def test_a_header_that_has_no_room_for_all_says_how_many_it_leaves_out():
    hits = [Violation(f"key.{number}", "custom-key", REDACTED) for number in range(999)]
    (_, names), (_, header) = make_redaction_headers(hits)
    assert len(names) <= MAX_NAMES_BYTES + 20
    assert len(header) <= MAX_REDACTIONS_BYTES + 20
    *named, more = names.decode().split(",")
    assert named[-1] == f"key.{len(named) - 1}"
    assert more == f"and {len(hits) - len(named)} more"
    read = read_redactions(header.decode())
    assert len(read.violations) + read.more == len(hits)
    assert read.violations[-1].key == f"key.{len(read.violations) - 1}"
    assert json.loads(header)["v"] == 2


def test_keys_without_names_are_bounded_as_well():
    header = write_redactions([NAMELESS] * 100_000)
    assert len(header) <= MAX_REDACTIONS_BYTES + 20
    read = read_redactions(header.decode())
    assert len(read.violations) + read.more == 100_000


@pytest.mark.parametrize("room", [0, 3, 4, 5, 7, 8, 9, 100])
def test_names_that_stand_in_the_other_header_as_well_give_way_first(room):
    hits = [Violation(key, "r", REDACTED) for key in ("aaaa", "bbb", "c")]
    (_, names), (_, header) = make_redaction_headers(hits, room)
    assert header == write_redactions(hits)
    *named, last = names.decode().split(",")
    if last.startswith("and "):
        assert last == f"and {3 - len(named)} more"
    else:
        assert [*named, last] == [hit.key for hit in hits]
    assert len(names) <= room + len(",and 3 more")


@pytest.mark.parametrize("more", ["0", "-1", "true", "1.5", '"3"', "1" * 5_000])
def test_a_count_that_is_none_is_not_read(more):
    said = '{"v":2,"redacted":{"r":["a"]},"more":'
    assert read_redactions(f"{said}{more}}}") is None
    assert read_redactions('{"v":2,"redacted":{"r":["a"]}}') is None
    assert read_redactions('{"v":2,"redacted":{"r":["a"]},"more":3}').more == 3
