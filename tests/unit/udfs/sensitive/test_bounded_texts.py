"""What is too long keeps its beginning, and nobody's stand-in is another's."""

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.rules import make_sensitive_key_rules
from udfs.sensitive.bounded_texts import SHORT_CHARACTERS, bound_text
from udfs.sensitive.client_ids import find_client_id_rule

LOOK = re.compile(r"(?s)(.*)\.\.\.\(sha256:([0-9a-f]{32}), ([0-9]+) bytes\)")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)


def test_a_longer_text_is_its_beginning_and_a_hash_of_the_whole():
    text = "a" * 2**20
    beginning, digits, size = LOOK.fullmatch(bound_text(text, 100)).groups()
    assert len(bound_text(text, 100)) == 100
    assert text.startswith(beginning)
    assert digits == hashlib.sha256(text.encode()).hexdigest()[:32]
    assert int(size) == 2**20
    assert LOOK.fullmatch(bound_text(text, 0))[1] == ""


@given(TEXTS, st.integers(70, 200))
def test_a_text_is_itself_or_short_enough_and_cuts_no_character(text, max_bytes):
    bounded = bound_text(text, max_bytes)
    assert len(bounded.encode()) <= max_bytes
    if len(text.encode()) <= max_bytes:
        assert bounded is text
    else:
        assert text.startswith(LOOK.fullmatch(bounded)[1])


def test_texts_that_differ_behind_the_cut_stay_different():
    texts = ["a" * 300 + end for end in ("", "a", "b", "ä")]
    assert len({bound_text(one, 100) for one in texts}) == len(texts)


def test_nobody_can_say_the_stand_in_of_another():
    stand_in = bound_text("a" * 300, 100)
    said = bound_text(stand_in, 100)
    assert said != stand_in
    assert LOOK.fullmatch(said)
    assert bound_text(stand_in[:-1], 100) == stand_in[:-1]


def test_the_shortest_stand_in_is_longer_than_short_texts():
    assert len(bound_text("a", 0)) == SHORT_CHARACTERS + 1


@pytest.mark.parametrize("text", ["", "app-1", "é" * 50, "of 10 bytes)"])
def test_a_short_text_is_the_same_object(text):
    assert bound_text(text, 100) is text


def test_no_rule_takes_a_stand_in_for_a_secret():
    rules = make_sensitive_key_rules(
        load_settings("base").sensitive_keys, load_config_catalogs()
    )
    for number in range(200):
        stand_in = bound_text(f"app-{number}" * 100, 256)
        assert find_client_id_rule(stand_in, rules) is None
        assert find_client_id_rule(bound_text(f"{number}" * 200, 0), rules) is None
