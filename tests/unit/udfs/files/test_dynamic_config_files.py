"""Records of dynamic client configs are read, or become rows of quarantine."""

import io
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from tests.support.dynamic_records import DEFAULT, altered, as_pair, place, registered
from tests.unit.udfs.dynamic_configs.read_records import (
    MAX_BYTES,
    TABLES,
    decode,
    read,
)
from udfs.dynamic_configs.topic_records import ALTERATION, REGISTRATION
from udfs.sensitive.client_ids import HIDDEN_CLIENT_ID

GOOD = as_pair(altered("1"))
SECRET = "AKIAIOSFODNN7EXAMPLE"


def rejected(rows, tables=TABLES):
    """Return offset, reason and detail of rows of quarantine."""
    files = [file for part in decode(rows, tables) for file in part.files]
    found = [
        row for f in files for row in pq.read_table(io.BytesIO(f.content)).to_pylist()
    ]
    assert all(row["source_job"] == "job" for row in found)
    return [(row["offset"], row["reason"], row["detail"]) for row in found]


def test_what_was_read_says_all_that_the_record_says():
    alteration, of_default, registration = read(
        [altered(None, 5, client="app"), altered("0", client=DEFAULT), registered("a")]
    )
    assert (alteration.record_type, alteration.client_id) == (ALTERATION, "app")
    assert (alteration.config_key, alteration.config_value) == ("acks", None)
    assert alteration.altered_by == "User:admin"
    assert (of_default.client_id, of_default.is_default_client_id) == ("", True)
    assert of_default.at < alteration.at
    assert (registration.record_type, registration.offset) == (REGISTRATION, 2)
    assert registration.config_keys == ("a",)
    assert registration.client_software_name == "library"


def test_a_record_without_a_value_removes_at_its_own_time():
    (removal,) = read([(GOOD[0], None)])
    assert (removal.config_key, removal.config_value) == ("acks", None)
    assert removal.altered_by is None


@pytest.mark.parametrize(
    ("pair", "reason", "detail"),
    [
        ((GOOD[0], b"[]"), "malformed_client_config", "malformed"),
        ((GOOD[0], GOOD[1][:-3]), "malformed_client_config", "malformed"),
        ((GOOD[0] + b"x", GOOD[1]), "malformed_client_config", "misnamed"),
        ((None, GOOD[1]), "unknown_client_config", "unknown_type"),
        ((b"Other/users/a/b", GOOD[1]), "unknown_client_config", "unknown_type"),
        ((GOOD[0], b'{"v":9}'), "unknown_client_config", "unknown_version"),
        ((GOOD[0], b"x" * (MAX_BYTES + 1)), "too_large", None),
        ((None, None), "null_value", None),
        (altered("x", key="nobodys.key"), "sensitive_client_config", None),
        (altered("x", key="ssl.key.password"), "sensitive_client_config", None),
        (altered(SECRET, key="client.rack"), "sensitive_client_config", None),
    ],
)
def test_what_cannot_be_used_is_told_and_the_others_are_read(pair, reason, detail):
    rows = place([altered("1"), pair, altered("0")])
    assert rejected(rows) == [(1, reason, detail)]
    assert len(read([altered("1"), pair, altered("0")])) == 2


def test_a_key_of_one_kind_of_clients_alone_is_no_custom_one():
    (record,) = read([altered("7", key="queue.buffering.max.ms")])
    assert record.config_value == "7"


def test_what_quarantine_has_is_not_written_again():
    rows = place([(None, None), (None, None)])
    beyond = replace(TABLES, quarantine_floors={0: 0})
    assert rejected(rows, beyond) == [(1, "null_value", None)]


def test_a_client_id_that_looks_like_a_secret_is_hidden_as_elsewhere():
    assert [one.client_id for one in read([altered("1", client=SECRET)])] == [
        HIDDEN_CLIENT_ID
    ]


def test_an_empty_batch_is_nothing():
    first, last = decode([])
    assert (first.records, first.pushes.num_rows, first.files) == (0, 0, [])
    assert (last.records, last.files) == (0, [])
