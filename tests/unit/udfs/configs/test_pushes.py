"""Bodies of PushConfig to entries: whole, cut anywhere, too long, wrong in each way."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.bridge.protocol.push_config import (
    ClientConfig,
    read_push_config,
    write_push_config,
)
from pipelines.kafka_client.primitives import Cursor, MalformedBytes
from udfs.configs.pushes import (
    INVALID_UTF8,
    MALFORMED_PUSH_CONFIG,
    NULL_VALUE,
    OK,
    TOO_LARGE,
    TRUNCATED_PUSH_CONFIG,
    decode_config_pushes,
)
from udfs.sensitive.sensitive_key_rules import CONFIG_TYPE_NAMES

ENTRIES = [
    ClientConfig("acks", "all", 1, False),
    ClientConfig("linger.ms", "5", 4, True),
    ClientConfig("client.id", "é" * 100, 1, False),
    ClientConfig("new", "", 9, False),
]
BODY = write_push_config(ENTRIES)
A = b"\x02a\x02b\x01\x00\x00"


def decode(*bodies, max_bytes=1 << 20, of_type=None):
    decoded = decode_config_pushes(
        pa.array(bodies, of_type or pa.binary()), max_bytes=max_bytes
    )
    pushes = [[] for _ in bodies]
    keys, names = decoded.keys.texts.to_pylist(), decoded.type_names.texts.to_pylist()
    for at, push in enumerate(decoded.pushes.tolist()):
        pushes[push].append(
            (
                keys[decoded.keys.codes[at]],
                decoded.values[at].as_py(),
                names[decoded.type_names.codes[at]],
                bool(decoded.is_default[at]),
            )
        )
    return list(zip(decoded.statuses.to_pylist(), pushes, strict=True))


def as_read(configs):
    """Write entries as decode shows them."""
    return [
        (
            one.config_key,
            one.config_value,
            CONFIG_TYPE_NAMES[one.config_type] if 0 <= one.config_type < 9 else "",
            one.is_default,
        )
        for one in configs
    ]


@pytest.mark.parametrize("of_type", [pa.binary(), pa.large_binary()])
def test_a_body_is_its_entries_in_order(of_type):
    decoded = decode(BODY, write_push_config([]), BODY, of_type=of_type)
    assert decoded == [(OK, as_read(ENTRIES)), (OK, []), (OK, as_read(ENTRIES))]


def test_no_bodies_are_no_entries():
    assert decode() == []
    assert decode(None) == [(NULL_VALUE, [])]


@pytest.mark.parametrize("cut", range(len(BODY)))
def test_a_body_cut_anywhere_is_truncated_and_its_neighbours_are_whole(cut):
    one, two, three = decode(BODY, BODY[:cut], BODY)
    assert one == three == (OK, as_read(ENTRIES))
    assert two == (TRUNCATED_PUSH_CONFIG, [])


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"\x00\x00", MALFORMED_PUSH_CONFIG),
        (b"\x02\x00\x02b\x01\x00\x00\x00", MALFORMED_PUSH_CONFIG),
        (b"\x02\x02a\x00\x01\x00\x00\x00", MALFORMED_PUSH_CONFIG),
        (b"\x02" + A + b"\x00\x00", MALFORMED_PUSH_CONFIG),
        (b"\x80\x80\x80\x80\x80\x01", MALFORMED_PUSH_CONFIG),
        (b"\x03" + A + b"\x00", TRUNCATED_PUSH_CONFIG),
        (b"\xff\xff\xff\xff\x0f" + A, TRUNCATED_PUSH_CONFIG),
        (b"\x02\xff\xff\xff\xff\x0f" + A, TRUNCATED_PUSH_CONFIG),
        (b"\x02" + A[:-1] + b"\x01\x05\xff\xff\xff\xff\x0f\x00", TRUNCATED_PUSH_CONFIG),
        (b"\x02" + A[:-1] + b"\xff\xff\xff\xff\x0f\x00\x00", TRUNCATED_PUSH_CONFIG),
        (b"\x02\x02\xff\x02b\x01\x00\x00\x00", INVALID_UTF8),
        (b"\x02\x02a\x03\xc3(\x01\x00\x00\x00", INVALID_UTF8),
        (b"\x02\x04\xed\xa0\x80\x02b\x01\x00\x00\x00", INVALID_UTF8),
        (None, NULL_VALUE),
        (b"", TRUNCATED_PUSH_CONFIG),
        (b"\x01" + b"\x00" * 2_000, TOO_LARGE),
    ],
    ids=range(16),
)
def test_a_bad_body_has_a_status_and_leaves_its_neighbours_alone(body, status):
    good = (OK, as_read(ENTRIES))
    assert decode(BODY, body, BODY, max_bytes=1_000) == [good, (status, []), good]


def test_texts_that_are_utf8_only_together_are_not():
    bodies = b"\x02\x02\xc3\x02b\x01\x00\x00\x00", b"\x02\x02\xa9\x02b\x01\x00\x00\x00"
    assert [status for status, _ in decode(*bodies)] == [INVALID_UTF8] * 2


def test_tagged_fields_are_passed_over():
    tags = b"\x02\x05\x03abc\x07\x00"
    assert decode(b"\x02" + A[:-1] + tags + tags) == [
        (OK, [("a", "b", "STRING", False)])
    ]


def test_a_push_of_exactly_the_largest_size_is_read():
    assert decode(BODY, max_bytes=len(BODY))[0][0] == OK
    assert decode(BODY, max_bytes=len(BODY) - 1) == [(TOO_LARGE, [])]


def test_the_last_entry_of_a_key_is_the_one_that_counts():
    twice = [ClientConfig("a", str(number), 1, False) for number in (1, 2)]
    other = ClientConfig("b", "x", 1, False)
    decoded = decode(write_push_config([twice[0], other, twice[1]]), BODY)
    assert decoded[0] == (OK, as_read([other, twice[1]]))
    assert decoded[1] == (OK, as_read(ENTRIES))


def test_a_slice_of_a_column_is_decoded_as_what_it_shows():
    bodies = pa.array([b"\x09", BODY, None, BODY], pa.binary()).slice(1, 2)
    decoded = decode_config_pushes(bodies, max_bytes=1_000)
    assert decoded.statuses.to_pylist() == [OK, NULL_VALUE]
    assert decoded.pushes.tolist() == [0] * len(ENTRIES)
    assert decoded.values.to_pylist() == [one.config_value for one in ENTRIES]


configs = st.lists(
    st.builds(
        ClientConfig, st.text(max_size=5), st.text(max_size=200),
        st.integers(-128, 127), st.booleans(),
    ),
    max_size=6,
    unique_by=lambda one: one.config_key,
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.lists(configs, max_size=5))
def test_what_the_bridge_writes_is_read(pushes):
    decoded = decode(*(write_push_config(one) for one in pushes))
    assert decoded == [(OK, as_read(one)) for one in pushes]


@settings(max_examples=200, deadline=None)
@given(configs, st.data())
def test_bytes_that_were_changed_are_read_as_the_bridge_reads_them(entries, data):
    body = bytearray(write_push_config(entries))
    at = data.draw(st.integers(0, len(body) - 1))
    body[at] = data.draw(st.integers(0, 255))
    ((status, read),) = decode(bytes(body))
    cursor = Cursor(bytes(body))
    try:
        request = read_push_config(cursor)
    except MalformedBytes:
        assert status in {TRUNCATED_PUSH_CONFIG, MALFORMED_PUSH_CONFIG}
        return
    if cursor.remaining_bytes:
        assert status == MALFORMED_PUSH_CONFIG
    elif status == OK:
        by_key = {one[0]: one for one in as_read(request.configs)}
        assert {one[0]: one for one in read} == by_key
    else:
        assert status == INVALID_UTF8
        assert "\ufffd" in "".join(a + b for a, b, _, _ in as_read(request.configs))
