"""Bytes of metadata records to fields and back."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.udfs.cluster.golden_records import EXPECTED, golden_records
from udfs.cluster import record_fields as f
from udfs.cluster.record_bytes import format_uuid, read_record, write_record

GOLDEN = golden_records()
NO_OP = bytes.fromhex("01140000")
TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
NUMBERS = {
    f.BOOL: st.booleans(),
    f.INT8: st.integers(-(2**7), 2**7 - 1),
    f.INT16: st.integers(-(2**15), 2**15 - 1),
    f.UINT16: st.integers(0, 2**16 - 1),
    f.INT32: st.integers(-(2**31), 2**31 - 1),
    f.INT64: st.integers(-(2**63), 2**63 - 1),
    f.FLOAT64: st.floats(allow_nan=False),
    f.STRING: TEXTS,
    f.UUID: st.binary(min_size=16, max_size=16).map(format_uuid),
    f.PROTOCOL: st.sampled_from([*f.SECURITY_PROTOCOLS, "9", "-1"]),
}


def _values(field):
    plain = (
        st.fixed_dictionaries({one.name: _values(one) for one in field.items})
        if field.items
        else NUMBERS[field.kind]
    )
    value = st.lists(plain, max_size=4) if field.is_array else plain
    is_optional = field.is_nullable or field.tag is not None
    return st.none() | value if is_optional else value


@st.composite
def records(draw):
    """Draw a type, a version and fields that it can have."""
    name = draw(st.sampled_from(list(f.RECORD_FIELDS)))
    version = draw(st.integers(0, f.RECORD_FIELDS[name].latest))
    fields = {
        one.name: draw(_values(one)) if one.since <= version else None
        for one in f.RECORD_FIELDS[name].fields
    }
    return name, version, fields


@pytest.mark.parametrize("name", list(EXPECTED))
def test_a_golden_record_is_read_field_by_field_and_written_again(name):
    record = read_record(GOLDEN[name])
    assert (record.record_type, record.version, record.fields) == EXPECTED[name]
    assert record.frame_error is None
    assert write_record(*EXPECTED[name]) == GOLDEN[name]


def test_every_record_of_the_golden_file_is_looked_at():
    assert GOLDEN.keys() == EXPECTED.keys() | {"metadata NoOpRecord v0"}


def test_a_record_of_another_type_is_named():
    assert read_record(NO_OP)[:3] == ("NoOp", 0, "unknown_record")
    assert read_record(b"\x01\x63\x00")[:3] == ("record-99", 0, "unknown_record")


@pytest.mark.parametrize("value", [*GOLDEN.values()])
def test_a_record_that_is_cut_at_any_byte_is_truncated(value):
    if value == NO_OP:
        return
    cuts = [read_record(value[:size]) for size in range(len(value))]
    assert {(one.frame_error, one.fields) for one in cuts} == {("truncated", None)}


@pytest.mark.parametrize("name", list(EXPECTED))
def test_bytes_behind_a_record_are_told(name):
    record = read_record(GOLDEN[name] + b"\x00")
    assert (record.frame_error, record.fields) == ("trailing_bytes", None)
    assert (record.record_type, record.version) == EXPECTED[name][:2]


@pytest.mark.parametrize("name", list(EXPECTED))
def test_unknown_tags_are_passed_over_and_told(name):
    known, value = read_record(GOLDEN[name]), GOLDEN[name]
    end = len(value) - len(_tagged(*EXPECTED[name]))
    count = value[end]
    tagged = bytes([count + 1]) + value[end + 1 :] + b"\x07\x03abc"
    record = read_record(value[:end] + tagged)
    assert record == known._replace(has_unknown_tags=True)


def _tagged(record_type, version, fields):
    """Return the tagged fields at the end of a record."""
    tags = {
        one.name for one in f.RECORD_FIELDS[record_type].fields if one.tag is not None
    }
    bare = write_record(record_type, version, fields | dict.fromkeys(tags))
    return write_record(record_type, version, fields)[len(bare) - 1 :]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (b"", "truncated"),
        (None, "truncated"),
        (b"\x01", "truncated"),
        (b"\x00\x00\x00", "unknown_frame_version"),
        (b"\x02", "unknown_frame_version"),
        (b"\xff\xff\xff\xff\x7f", "malformed"),
        (b"\x80\x80\x80\x80\x80\x01", "malformed"),
        (b"\x01\x00\x06", "unknown_version"),
        (b"\x01\x11\x04", "unknown_version"),
        (b"\x01\x04\x80\x80\x02", "unknown_version"),
        (b"\x01\x01\x01", "unknown_version"),
        # A null name, a name of 32,768 bytes, one of 2 GB, an array of 2 GB.
        (b"\x01\x0c\x00\x00\x00\x19\x00", "malformed"),
        (b"\x01\x0c\x00\x81\x80\x02" + b"a" * 2**15 + b"\x00\x19\x00", "malformed"),
        (b"\x01\x0c\x00\xff\xff\xff\xff\x07", "malformed"),
        (b"\x01\x0e\x00\xff\xff\xff\xff\x07", "truncated"),
        (b"\x01\x0e\x00\x00", "malformed"),
        # As many tagged fields as fit into 31 bits; one of 2 GB.
        (b"\x01\x0c\x00\x02a\x00\x19\xff\xff\xff\xff\x07", "truncated"),
        (b"\x01\x0c\x00\x02a\x00\x19\x01\x00\xff\xff\xff\xff\x07", "truncated"),
        # A tag twice, and two that do not ascend.
        (b"\x01\x0c\x00\x02a\x00\x19\x02\x00\x00\x00\x00", "malformed"),
        (b"\x01\x0c\x00\x02a\x00\x19\x02\x01\x00\x00\x00", "malformed"),
    ],
)
def test_bad_bytes_have_a_reason(value, error):
    record = read_record(value)
    assert (record.frame_error, record.fields) == (error, None)


CHANGE = b"\x01\x11\x03" + bytes(3) + b"\x07" + bytes(8)
"""BrokerRegistrationChange 3 of broker 7, without its tagged fields."""


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (b"\x00", (None, None, None, None)),
        (b"\x02\x00\x01\xff\x01\x01\x01", (-1, 1, None, None)),
        (b"\x02\x02\x01\x01\x03\x01\x00", (None, None, [], None)),
        (b"\x01\x03\x01\x01", (None, None, None, [])),
    ],
)
def test_an_absent_tag_is_null_and_an_empty_one_is_empty(tags, expected):
    fields = read_record(CHANGE + tags).fields
    names = ("fenced", "in_controlled_shutdown", "log_dirs", "cordoned_log_dirs")
    assert tuple(fields[name] for name in names) == expected


@pytest.mark.parametrize(
    "tags",
    [
        b"\x01\x00\x00",  # no byte for an int8
        b"\x01\x00\x02\x00\x00",  # two of them
        b"\x01\x02\x01\x00",  # null where only an array may be
        b"\x01\x02\x02\x02\x00",  # an array of one that is cut within its size
    ],
)
def test_a_tagged_field_fills_its_size(tags):
    assert read_record(CHANGE + tags).frame_error == "malformed"


def test_a_tag_of_a_later_version_is_refused_as_kafka_does():
    assert read_record(CHANGE + b"\x01\x03\x01\x01").frame_error is None
    earlier = CHANGE.replace(b"\x01\x11\x03", b"\x01\x11\x02")
    assert read_record(earlier + b"\x01\x03\x01\x01").frame_error == "malformed"


def test_bytes_that_are_no_utf_8_become_replacement_characters():
    record = read_record(b"\x01\x0c\x00\x03a\xff\x00\x19\x00")
    assert record.fields == {"name": "a\ufffd", "feature_level": 25}


def test_a_quota_may_be_infinite():
    fields = {"entity": [], "key": "k", "value": math.inf, "remove": False}
    assert read_record(write_record("ClientQuota", 0, fields)).fields == fields


@given(records())
def test_what_is_written_is_read(record):
    name, version, fields = record
    value = write_record(name, version, fields)
    assert read_record(value)[:4] == (name, version, None, fields)


@given(records(), st.data())
def test_a_cut_is_truncated_and_more_is_trailing(record, data):
    value = write_record(*record)
    size = data.draw(st.integers(0, len(value) - 1))
    assert read_record(value[:size]).frame_error == "truncated"
    more = data.draw(st.binary(min_size=1, max_size=8))
    assert read_record(value + more).frame_error == "trailing_bytes"


@given(records(), st.data())
def test_changed_bytes_never_raise(record, data):
    value = bytearray(write_record(*record))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(value) - 1))
        value[place] = data.draw(st.integers(0, 255))
    read = read_record(bytes(value))
    assert (read.fields is None) == (read.frame_error is not None)


@given(st.binary(max_size=200))
def test_any_bytes_never_raise(value):
    read = read_record(b"\x01" + value)
    assert (read.fields is None) == (read.frame_error is not None)
