"""Bytes are accepted, refused and read exactly as protobuf's own decoder does."""

import pytest

from tests.unit.udfs.otlp.comparison import decode, differences, expected_rows
from tests.unit.udfs.otlp.message_pieces import split_fields, write_varint
from tests.unit.udfs.otlp.random_pushes import random_push, seeded
from udfs.otlp.exact import plain_bytes

LEN = 2


def field(number, content):
    """Encode a length-delimited field."""
    return write_varint(number << 3 | LEN) + write_varint(len(content)) + content


def nested(content, *numbers):
    """Put content into fields, the outermost number first."""
    for number in reversed(numbers):
        content = field(number, content)
    return content


def fixed64(number, value):
    return write_varint(number << 3 | 1) + value.to_bytes(8, "little")


def varint(number, value):
    return write_varint(number << 3) + write_varint(value)


# MetricsData.resource_metrics.scope_metrics.metrics
METRIC = (1, 2, 2)
NAME = field(1, b"m")
POINT = fixed64(3, 1_000_000) + fixed64(6, 42)
GAUGE_POINT = (*METRIC, 5, 1)
GOOD = nested(NAME + nested(POINT, 5, 1), *METRIC)


def status_of(payload):
    (row,) = decode([payload]).pushes.to_pylist()
    assert (row["decode_status"] == "ok") == (row["detail"] is None)
    return row["decode_status"]


ACCEPTED = {
    "empty": b"",
    "an empty message": field(1, b""),
    "a plain point": GOOD,
    "the same push twice": GOOD + GOOD,
    "fields in reverse": nested(nested(POINT, 5, 1) + NAME, *METRIC),
    "a name twice": nested(NAME + nested(POINT, 5, 1) + field(1, b"n"), *METRIC),
    "a gauge in two parts": nested(nested(POINT, 5, 1) * 2, *METRIC),
    "a gauge, then a sum": nested(nested(POINT, 5, 1) + nested(POINT, 7, 1), *METRIC),
    "a gauge, then an empty sum": nested(nested(POINT, 5, 1) + field(7, b""), *METRIC),
    "gauge, sum, gauge": nested(
        nested(POINT, 5, 1) + nested(POINT, 7, 1) + nested(POINT, 5, 1), *METRIC
    ),
    "a double, then an integer": nested(fixed64(4, 1) + fixed64(6, 2), *GAUGE_POINT),
    "an integer, then a double": nested(fixed64(6, 1) + fixed64(4, 2), *GAUGE_POINT),
    "a resource in two parts": field(
        1,
        nested(field(1, b"a") + nested(b"x", 2, 1), 1, 1)
        + nested(POINT, 2, 2, 5, 1)
        + nested(field(1, b"b") + nested(b"y", 2, 1), 1, 1),
    ),
    "a scope in two parts": nested(
        nested(field(1, b"n"), 1) + nested(field(2, b"v"), 1) + nested(POINT, 2, 5, 1),
        1,
        2,
    ),
    "an attribute value in two parts": nested(
        nested(field(1, b"k") + nested(b"x", 2, 1) + field(2, b""), 7), *GAUGE_POINT
    ),
    "an array, then a string": nested(
        nested(field(1, b"k") + field(2, nested(b"x", 5, 1, 1) + field(1, b"s")), 7),
        *GAUGE_POINT,
    ),
    "an array in two parts": nested(
        nested(field(1, b"k") + field(2, nested(b"x", 5, 1, 1) * 2), 7), *GAUGE_POINT
    ),
    "buckets packed and not": nested(
        field(6, bytes(8)) + fixed64(6, 5) + field(6, bytes(16)), *METRIC, 9, 1
    ),
    "varint buckets packed and not": nested(
        nested(field(2, b"\x01\x96\x01") + varint(2, 7) + varint(1, 3), 8),
        *METRIC,
        10,
        1,
    ),
    "buckets in two parts": nested(
        nested(varint(2, 7) + varint(1, 3), 8) + nested(varint(2, 8), 8), *METRIC, 10, 1
    ),
    "an empty packed list": nested(field(7, b""), *METRIC, 9, 1),
    "an unknown number": nested(POINT + varint(15, 1), *GAUGE_POINT),
    "an unknown field far away": nested(POINT + varint(536_870_911, 1), *GAUGE_POINT),
    "an unknown 32 bit field": nested(POINT + b"\x9d\x06abcd", *GAUGE_POINT),
    "an unknown group": nested(POINT + b"\x9b\x06\x08\x05\x9c\x06", *GAUGE_POINT),
    "groups in groups": nested(POINT + b"\x9b\x06\x13\x14\x9c\x06", *GAUGE_POINT),
    "a known number as a group": nested(POINT + b"\x1b\x1c", *GAUGE_POINT),
    "time as a varint": nested(POINT + varint(3, 7), *GAUGE_POINT),
    "name as a varint": nested(varint(1, 7) + nested(POINT, 5, 1), *METRIC),
    "a point as a 64 bit field": nested(nested(POINT, 5, 1) + fixed64(5, 1), *METRIC),
    "flags beyond 32 bits": nested(POINT + varint(8, 2**40 + 3), *GAUGE_POINT),
    "a scale beyond 32 bits": nested(varint(6, 2**40 + 3), *METRIC, 10, 1),
    "a temporality beyond 32 bits": nested(
        varint(2, 2**32 + 1) + nested(POINT, 1), *METRIC, 7
    ),
    "monotonic by a large number": nested(
        varint(3, 2**40) + nested(POINT, 1), *METRIC, 7
    ),
    "a number of ten bytes": nested(
        POINT + b"\x40" + b"\xff" * 9 + b"\x7f", *GAUGE_POINT
    ),
    "a number longer than needed": nested(POINT + b"\x40\x83\x80\x00", *GAUGE_POINT),
    "a key longer than needed": nested(
        POINT + b"\xc0\x80\x80\x80\x00\x01", *GAUGE_POINT
    ),
    "a length longer than needed": nested(POINT, *METRIC, 5)
    + b"\x0a\x80\x80\x80\x80\x00",
    "100 groups deep": b"\x13" * 100 + b"\x14" * 100,
    "a text in four bytes a character": nested(field(1, "𝄞".encode()), *METRIC),
}
REFUSED = {
    "an unknown wire type": (b"\x0e", "malformed_otlp"),
    "field number 0": (b"\x00\x00", "malformed_otlp"),
    "field number 0 inside": (nested(b"\x02\x00", *METRIC), "malformed_otlp"),
    "a key beyond 32 bits": (b"\x8a\x80\x80\x80\x10\x00", "malformed_otlp"),
    "a key of six bytes": (b"\x8a\x80\x80\x80\x80\x00\x00", "malformed_otlp"),
    "a length of six bytes": (b"\x0a\x80\x80\x80\x80\x80\x00", "malformed_otlp"),
    "a number of eleven bytes": (b"\x10" + b"\xff" * 10 + b"\x01", "malformed_otlp"),
    "a group that is not begun": (b"\x14", "malformed_otlp"),
    "a group that ends as another": (b"\x13\x1c", "malformed_otlp"),
    "a group that is not ended": (b"\x13\x08\x01", "truncated_otlp"),
    "a group that ends outside": (
        field(1, b"\x13") + b"\x14",
        "malformed_otlp",
    ),
    "101 groups deep": (b"\x13" * 101 + b"\x14" * 101, "malformed_otlp"),
    "a field beyond its message": (field(1, b"\x12\x05ab") + GOOD, "malformed_otlp"),
    "a number beyond its message": (field(1, b"\x10\x80") + GOOD, "malformed_otlp"),
    "64 bits beyond their message": (field(1, b"\x11ab") + GOOD, "malformed_otlp"),
    "a packed list of nine bytes": (
        nested(field(7, bytes(9)), *METRIC, 9, 1),
        "malformed_otlp",
    ),
    "a packed list cut in a number": (
        nested(field(2, b"\x01\x80"), *METRIC, 10, 1, 8) + GOOD,
        "malformed_otlp",
    ),
    "a lone key": (b"\x0a", "truncated_otlp"),
    "a length beyond the push": (b"\x0a\x7fabc", "truncated_otlp"),
    "a length of 4 GiB": (b"\x0a\xff\xff\xff\xff\x0f", "truncated_otlp"),
    "a name that is not UTF-8": (nested(field(1, b"\xff"), *METRIC), "invalid_utf8"),
    "a surrogate": (nested(field(1, b"\xed\xa0\x80"), *METRIC), "invalid_utf8"),
    "an overlong slash": (nested(field(1, b"\xc0\xaf"), *METRIC), "invalid_utf8"),
    "a schema that is not UTF-8": (nested(field(3, b"\xff"), 1), "invalid_utf8"),
    "an exemplar's key that is not UTF-8": (
        nested(nested(field(1, b"\xff"), 5, 7), *GAUGE_POINT),
        "invalid_utf8",
    ),
    "a text in an array that is not UTF-8": (
        nested(nested(b"\xff", 2, 5, 1, 1), *GAUGE_POINT, 7),
        "invalid_utf8",
    ),
}


@pytest.mark.parametrize("payload", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_legal_bytes_mean_what_protobuf_says(payload):
    assert expected_rows(payload) is not None
    assert status_of(payload) == "ok"
    assert differences([payload, GOOD]) == []


@pytest.mark.parametrize(("payload", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_what_protobuf_refuses_is_refused_with_a_reason(payload, reason):
    assert plain_bytes(payload) is None
    assert status_of(payload) == reason


def nested_array(depth):
    """An attribute value of that many arrays in one another."""
    content = b""
    for _ in range(depth):
        content = nested(content, 5, 1)
    return nested(field(1, b"k") + field(2, content), *GAUGE_POINT, 7)


@pytest.mark.parametrize("depth", range(40, 50))
def test_arrays_in_arrays_end_where_protobuf_ends(depth):
    payload = nested_array(depth)
    assert differences([payload]) == []
    # Eight messages hold the first array; each array adds itself and its value.
    is_within_100 = 8 + 2 * depth <= 100
    assert status_of(payload) == ("ok" if is_within_100 else "malformed_otlp")


def test_a_push_cut_at_any_byte_is_truncated_or_whole_and_never_raises():
    payload = random_push(seeded(7))
    cuts = [payload[:cut] for cut in range(len(payload))]
    statuses = decode(cuts).pushes["decode_status"].to_pylist()
    ends = {0}
    for _, whole, _ in split_fields(payload):
        ends.add(max(ends) + len(whole))
    expected = ["ok" if cut in ends else "truncated_otlp" for cut in range(len(cuts))]
    assert statuses == expected
    assert differences(cuts) == []


def test_bytes_behind_a_push_are_part_of_it():
    assert status_of(GOOD + b"\x00") == "malformed_otlp"
    assert status_of(GOOD + b"\x0a") == "truncated_otlp"
    assert status_of(GOOD + GOOD[:-1]) == "truncated_otlp"


def test_details_name_places_and_no_text():
    secret = b"password"
    payloads = [
        nested(field(1, secret + b"\xff"), *METRIC),
        nested(field(1, secret), *METRIC)[:-1],
        nested(field(1, secret) + b"\x00", *METRIC),
    ]
    details = decode(payloads).pushes["detail"].to_pylist()
    assert details == [
        "the string of 9 bytes at byte 6 is not UTF-8",
        "field of 14 bytes at byte 0 ends after the push",
        "the field key at byte 16 is not valid",
    ]
