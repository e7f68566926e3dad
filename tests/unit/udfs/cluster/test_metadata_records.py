"""Metadata records as rows."""

import pyarrow as pa

from tests.unit.udfs.cluster.golden_records import EXPECTED, golden_records
from udfs.cluster.metadata_records import read_metadata_records
from udfs.cluster.record_fields import RECORD_FIELDS
from udfs.cluster.record_schemas import FRAME_ERRORS, RECORD_TYPES, RECORDS_SCHEMA


def test_golden_records_become_rows_of_their_type_alone():
    golden = golden_records()
    batch = read_metadata_records(pa.array([golden[name] for name in EXPECTED]))
    assert batch.schema == RECORDS_SCHEMA
    for row, (record_type, version, fields) in zip(
        batch.to_pylist(), EXPECTED.values(), strict=True
    ):
        others = dict.fromkeys(RECORD_TYPES, None)
        assert row == {
            "record_type": record_type,
            "record_version": version,
            "frame_error": None,
            **others,
            record_type: fields,
        }


def test_a_bad_record_among_good_ones_is_a_row_with_its_reason():
    good = golden_records()["metadata ConfigRecord v0"]
    values = [good, good[:-1], None, b"", good + b"\x00", b"\x01\x14\x00\x00", good]
    batch = read_metadata_records(pa.array(values, pa.binary()))
    assert batch.column("frame_error").to_pylist() == [
        None,
        "truncated",
        "truncated",
        "truncated",
        "trailing_bytes",
        "unknown_record",
        None,
    ]
    assert batch.column("Config").is_valid().to_pylist() == [True, *[False] * 5, True]
    assert batch.column("record_type").to_pylist()[4:6] == ["Config", "NoOp"]


def test_no_records_are_no_rows():
    batch = read_metadata_records(pa.array([], pa.binary()))
    assert (batch.num_rows, batch.schema) == (0, RECORDS_SCHEMA)


def test_columns_and_fields_have_the_same_names_in_order():
    assert list(RECORD_TYPES) == list(RECORD_FIELDS)
    for name, kind in RECORD_TYPES.items():
        fields = RECORD_FIELDS[name].fields
        assert [one.name for one in kind] == [one.name for one in fields]


def test_every_reason_can_come():
    values = [b"", b"\x02", b"\x01\x14\x00", b"\x01\x04\x01", b"\x01\x0c\x00\x00"]
    trailing = golden_records()["metadata ConfigRecord v0"] + b"\x00"
    batch = read_metadata_records(pa.array([*values, trailing]))
    assert batch.column("frame_error").to_pylist() == list(FRAME_ERRORS)
