"""Paths of quota entities, names and levels."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.quotas.quota_rows import entity_batch
from udfs.cluster.record_keys import sanitize
from udfs.quotas import QUOTA_KEYS, list_levels, parse_entity_path, write_entity_paths
from udfs.quotas.entities import (
    cut_principal_types,
    normalize_addresses,
    sanitize_names,
)

PATHS = (
    "users/alice",
    "users/<default>",
    "users/%3Cdefault%3E",
    "users/a%20b/clients/<default>",
    "users/<default>/clients/c",
    "clients/c1",
    "clients/<default>",
    "ips/10.0.0.7",
    "ips/<default>",
)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_read_and_written(path):
    assert parse_entity_path(path).path == path
    assert write_entity_paths(entity_batch([(path, 1)])).to_pylist() == [path]


def test_the_user_of_a_path_comes_first():
    assert parse_entity_path("clients/c/users/u").path == "users/u/clients/c"


@pytest.mark.parametrize(
    "path", ["", "users", "users/a/clients", "topics/t", "users/a/users/b", "a/b/c"]
)
def test_what_is_no_path_is_refused(path):
    with pytest.raises(ValueError, match="is no quota entity"):
        parse_entity_path(path)


TEXTS = st.text(alphabet=st.characters(codec="utf-8"))


@given(st.lists(TEXTS), st.integers(0, 3))
def test_a_column_of_names_is_encoded_as_each_of_them(names, start):
    column = pa.array(names, pa.string()).slice(start)
    assert sanitize_names(column).to_pylist() == [*map(sanitize, names[start:])]


def test_principals_lose_their_type_and_nothing_else():
    users = pa.array(["User:a", "a", "User:", None, "User:User:b", "x:y"])
    assert cut_principal_types(users).to_pylist() == ["a", "a", "", "", "User:b", "x:y"]
    assert cut_principal_types(users[:1]).to_pylist() == ["a"]
    assert cut_principal_types(users[1:2]).to_pylist() == ["a"]


def test_addresses_have_one_spelling():
    given_ones = ["::1", "0::1", "::ffff:1.2.3.4", "1.2.3.4", "host", "a:b", None]
    assert normalize_addresses(pa.array(given_ones)).to_pylist() == [
        *("::1", "::1", "1.2.3.4", "1.2.3.4", "host", "a:b", ""),
    ]


def test_levels_are_listed_as_a_broker_looks_at_them():
    levels = list_levels("a", "c", "10.0.0.1", QUOTA_KEYS[0])
    assert [one.path for one in levels] == [
        "users/a/clients/c",
        "users/a/clients/<default>",
        "users/a",
        "users/<default>/clients/c",
        "users/<default>/clients/<default>",
        "users/<default>",
        "clients/c",
        "clients/<default>",
    ]
    levels = list_levels("a", "c", "10.0.0.1", QUOTA_KEYS[-1])
    assert [one.path for one in levels] == ["ips/10.0.0.1", "ips/<default>"]
