"""Records of dynamic client configs become rows of histories, in their order."""

import copy

import pyarrow as pa
import pytest

from tests.support.dynamic_records import (
    DEFAULT,
    START_MS,
    altered,
    random_records,
    registered,
)
from tests.unit.udfs.dynamic_configs.read_records import read
from udfs.dynamic_configs import RegistrationsWritten
from udfs.dynamic_configs.histories import CONFIG_KEY, REGISTRATION_KEY, fold_records
from udfs.dynamic_configs.topic_records import TOPIC_RECORD_SCHEMA, iter_records


def fold(*batches):
    """Return rows of both tables and lines of the ledger, of batches one by one."""
    configs, supported, lines, first = {}, {}, [], 0
    for batch in batches:
        made = fold_records(
            copy.deepcopy(list(configs.values())),
            copy.deepcopy(list(supported.values())),
            read(batch, first),
        )
        first += len(batch)
        for row in made.configs:
            configs[*(row[name] for name in CONFIG_KEY), row["valid_from"]] = row
        for row in made.supported:
            supported[tuple(row[name] for name in REGISTRATION_KEY)] = row
        lines += made.ledger
    return configs, supported, lines


def ms(row_time):
    return None if row_time is None else (row_time - START_MS * 1000) / 1000


def histories(*records):
    configs, _, lines = fold(records)
    rows = [
        (row["config_value"], ms(row["valid_from"]), ms(row["valid_to"]), row["offset"])
        for _, row in sorted(configs.items(), key=repr)
    ]
    return rows, [line["change"] for line in lines]


def test_each_value_has_a_row_and_a_removal_ends_one():
    rows, lines = histories(
        altered("1", 1), altered("0", 3), altered(None, 7), altered("0", 9)
    )
    assert rows == [("1", 1, 3, 0), ("0", 3, 7, 1), ("0", 9, None, 3)]
    assert lines == ["acks set to 1", "acks 1 -> 0", "acks 0 removed", "acks set to 0"]


def fold_registered(supported, *registered):
    """Return changed rows and lines of what the registrations' topic holds."""
    told = read([RegistrationsWritten(START_MS)])
    made = fold_records([], supported, told, read(registered))
    keys = [(row["client_id"], row["config_keys"]) for row in made.supported]
    lines = [(one["record_type"], one["offset"], one["change"]) for one in made.ledger]
    return made.supported, keys, lines


def test_registrations_of_their_own_topic_are_taken_once():
    first, later = registered("acks"), registered("retries", ms=1)
    other = registered("acks", client="b", version="2")
    marker = ("registrations", 0, None)
    rows, keys, lines = fold_registered([], first, other, registered(None))
    assert keys == [("app", ["acks"]), ("b", ["acks"])]
    assert lines == [
        marker,
        ("registration", 0, "library 1 supports acks"),
        ("registration", 1, "library 2 supports acks"),
    ]
    assert fold_registered(rows, first, other)[1:] == ([], [marker])
    # Compaction has removed the first one, and an older one stands elsewhere.
    _, keys, lines = fold_registered(rows, other, later, registered("x", ms=-1))
    assert keys == [("app", ["retries"])]
    assert lines == [marker, ("registration", 1, "library 1 supports retries")]


def test_a_value_that_is_set_already_and_a_removal_of_nothing_change_nothing():
    rows, lines = histories(altered(None, 0), altered("1", 1), altered("1", 2))
    assert rows == [("1", 1, None, 1)]
    assert lines == [None, "acks set to 1", None]


def test_order_decides_where_a_bridges_clock_stood_back():
    rows, _ = histories(altered("1", 5), altered("0", 2), altered(None, 1))
    assert rows == [("1", 5, 5.001, 0), ("0", 5.001, 5.002, 1)]


def test_entities_of_a_user_are_apart_and_are_named():
    records = [
        altered("0"),
        altered("1", client=DEFAULT),
        altered("2", client="<default>"),
        altered("3", user="a/b", by=None),
    ]
    configs, _, lines = fold(records)
    columns = ("user_name", "client_id", "is_default_client_id", "config_value")
    assert {tuple(row[name] for name in columns) for row in configs.values()} == {
        ("alice", "", False, "0"),
        ("alice", "", True, "1"),
        ("alice", "<default>", False, "2"),
        ("a/b", "", False, "3"),
    }
    assert [line["entity"] for line in lines] == [
        "users/alice",
        "users/alice/clients/<default>",
        "users/alice/clients/%3Cdefault%3E",
        "users/a%2Fb",
    ]
    assert [line["altered_by"] for line in lines][-2:] == ["User:admin", None]


def test_the_newest_registration_of_a_software_counts_and_stays():
    _, supported, lines = fold(
        [
            registered("b", "a", ms=1),
            registered("a", "b", ms=2),
            registered("a", version="2", client=None),
            registered(None, ms=3),
        ]
    )
    found = {
        (row["client_id"], row["client_software_version"]): (
            row["config_keys"],
            ms(row["registered_at"]),
            row["offset"],
        )
        for row in supported.values()
    }
    assert found == {("app", "1"): (["a", "b"], 2, 1), ("", "2"): (["a"], 0, 2)}
    assert [line["change"] for line in lines] == [
        "library 1 supports a, b",
        None,
        "library 2 supports a",
        None,
    ]


@pytest.mark.parametrize("seed", range(20))
def test_records_come_at_once_or_one_by_one(seed):
    records = random_records(seed)
    whole = fold(records)
    assert fold(*([one] for one in records)) == whole
    assert fold(records[:7], records[7:40], records[40:]) == whole


def test_no_record_makes_no_row():
    nothing = pa.Table.from_pylist([], schema=TOPIC_RECORD_SCHEMA)
    assert list(iter_records(nothing)) == []
    assert fold([]) == ({}, {}, [])
