"""The quick reader of pushes says what the cursor says, or nothing."""

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipelines.bridge.protocol.push_telemetry import (
    PlainPushReader,
    PushRequest,
    plain_push_reader,
    read_push,
)
from pipelines.kafka_client.primitives import Cursor, MalformedBytes

HEADER = struct.pack(">hhi", 72, 0, 7)
FIXED = bytes(range(16)) + struct.pack(">iBb", -5, 2, 4)


def uvarint(number):
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def make_frame(metrics, client_id=b"app", tags=b"\0", end=b"\0"):
    length = struct.pack(">h", -1 if client_id is None else len(client_id))
    body = FIXED + uvarint(len(metrics) + 1) + metrics + end
    return HEADER + length + (client_id or b"") + tags + body


def read_by_cursor(frame):
    cursor = Cursor(frame, len(HEADER))
    client_id = cursor.read_legacy_string()
    cursor.skip_tagged_fields()
    return client_id, read_push(cursor, 0)


def read_at_once(frame, client_id="app"):
    """Return what read_by_cursor would, or None."""
    plain = PlainPushReader(client_id).read(frame, 0)
    assert plain == PlainPushReader(client_id).read(b"size" + frame, 4)
    return plain and (client_id, plain[1])


@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 16_382, 16_383, 16_384, 300_000])
@pytest.mark.parametrize("client_id", [None, "", "app", "é", "a" * 32_767])
def test_what_clients_send_is_read_at_once(size, client_id):
    frame = make_frame(bytes(size), None if client_id is None else client_id.encode())
    assert read_at_once(frame, client_id) == read_by_cursor(frame)
    correlation_id, push = PlainPushReader(client_id).read(frame, 0)
    assert (correlation_id, type(push)) == (7, PushRequest)


@pytest.mark.parametrize("client_id", [None, b"", b"apq", b"app1", b"\xff\xfe\xfd"])
def test_another_client_id_is_left_to_the_cursor(client_id):
    assert read_at_once(make_frame(b"m", client_id)) is None


def test_bytes_that_are_no_text_are_left_to_the_cursor():
    frame = make_frame(b"m", b"\xff")
    assert read_at_once(frame, read_by_cursor(frame)[0]) is None


def test_client_id_that_no_request_can_carry_has_no_reader():
    with pytest.raises(ValueError, match="98301 bytes"):
        PlainPushReader("\ufffd" * 32_767)
    assert plain_push_reader("\ufffd" * 32_767) is None


@pytest.mark.parametrize("header", [(71, 0), (72, 1), (73, 0), (-72, 0)])
def test_another_request_is_left_to_others(header):
    frame = struct.pack(">hh", *header) + make_frame(b"m")[4:]
    assert read_at_once(frame) is None


@pytest.mark.parametrize(
    "frame",
    [
        make_frame(b"m", tags=b"\1\5\1z"),
        make_frame(b"m", end=b"\1\5\1z"),
        make_frame(b"m") + b"later",
        HEADER + b"\xff\xff\0" + FIXED + b"\0\0",
        make_frame(bytes(2**21)),
    ],
    ids=["tags before", "tags behind", "trailing bytes", "null metrics", "large"],
)
def test_what_is_rare_is_left_to_the_cursor(frame):
    assert read_at_once(frame) is None
    assert read_by_cursor(frame)[1].subscription_id == -5


def test_a_frame_that_is_cut_anywhere_is_left_to_the_cursor():
    whole = make_frame(bytes(200))
    assert [read_at_once(whole[:cut]) for cut in range(len(whole))] == [None] * len(
        whole
    )


@given(st.binary(max_size=80), st.integers(0, 60), st.binary(max_size=6))
@example(b"", 31, b"\x80\x80\x80")
def test_whatever_it_reads_the_cursor_reads_too(metrics, place, patch):
    frame = bytearray(make_frame(metrics))
    frame[len(HEADER) + place : len(HEADER) + place + len(patch)] = patch
    plain = read_at_once(bytes(frame))
    if plain is not None:
        try:
            assert plain == read_by_cursor(bytes(frame))
        except MalformedBytes:
            pytest.fail("the cursor refuses what was read")


def test_readers_of_long_client_ids_are_not_kept_for_others():
    client_id = "i" * 32_000
    reader = plain_push_reader(client_id)
    frame = make_frame(b"m", client_id.encode())
    assert reader.read(frame, 0) is not None
    assert plain_push_reader(client_id) is not reader
    assert plain_push_reader("app") is plain_push_reader("app")
