"""Whom the selectors of a subscription let through."""

import pytest

from udfs.subscriptions.properties import SELECTORS, split_selector
from udfs.subscriptions.selectors import matches_all

CLIENT = {
    "client_instance_id": "tpzDWnpUR5Cqacwr1O5FOA",
    "client_id": "orders-1",
    "client_software_name": "apache-kafka-java",
    "client_software_version": "4.3.1",
    "client_source_address": "10.0.0.7",
    "client_source_port": "51234",
}


def test_a_client_has_something_for_every_selector():
    assert tuple(CLIENT) == SELECTORS


@pytest.mark.parametrize(
    ("patterns", "is_hit"),
    [
        ({}, True),
        ({"client_id": "orders-.*"}, True),
        ({"client_id": "orders"}, False),
        ({"client_id": "ORDERS-1"}, False),
        ({"client_id": "orders-.*", "client_software_version": r"4\..*"}, True),
        ({"client_id": "orders-.*", "client_software_version": "3.*"}, False),
        ({"client_source_port": r"\d+"}, True),
        # Java may take it, the bridge does not, so that nobody is asked.
        ({"client_id": "(?=o).*"}, False),
        ({"client_id": "["}, False),
        ({"principal": ".*"}, False),
    ],
)
def test_every_pattern_must_match_the_whole_of_what_it_looks_at(patterns, is_hit):
    assert matches_all(patterns, CLIENT) is is_hit


def test_what_a_client_does_not_have_matches_nothing():
    nameless = CLIENT | {"client_id": None}
    assert not matches_all({"client_id": ".*"}, nameless)
    assert matches_all({"client_source_address": ".*"}, nameless)
    assert not matches_all({"client_source_port": ".*"}, {})


def test_no_text_of_a_client_takes_long_whatever_the_pattern():
    assert not matches_all({"client_id": "(a+)+b"}, {"client_id": "a" * 10_000})


@pytest.mark.parametrize(
    ("item", "parts"),
    [
        (" client_id = a.* ", ("client_id", "a.*")),
        ("client_id=a=", ("client_id", "a")),
        ("client_id= ", ("client_id", "")),
        ("client_id", None),
        ("client_id=", None),
        ("client_id=a=b", None),
        ("=a", None),
        ("Client_Id=a", None),
        ("principal=x", None),
        ("", None),
    ],
)
def test_an_item_of_match_is_a_name_and_a_pattern(item, parts):
    if parts is not None:
        assert split_selector(item) == parts
        return
    with pytest.raises(ValueError, match="Illegal client matching pattern"):
        split_selector(item)
