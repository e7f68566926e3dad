"""The quick reader of pushes says what the cursor says, or nothing."""

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipelines.bridge.protocol.cursor import Cursor
from pipelines.bridge.protocol.errors import MalformedRequest
from pipelines.bridge.protocol.push_telemetry import read_plain_push, read_push

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


@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 16_382, 16_383, 16_384, 300_000])
@pytest.mark.parametrize("client_id", [None, b"", b"app", "é".encode(), b"\xff"])
def test_what_clients_send_is_read_at_once(size, client_id):
    frame = make_frame(bytes(size), client_id)
    assert read_plain_push(frame) == read_by_cursor(frame)


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
    assert read_plain_push(frame) is None
    assert read_by_cursor(frame)[1].subscription_id == -5


def test_a_frame_that_is_cut_anywhere_is_left_to_the_cursor():
    whole = make_frame(bytes(200))
    assert [read_plain_push(whole[:cut]) for cut in range(len(whole))] == [None] * len(
        whole
    )


@given(st.binary(max_size=80), st.integers(0, 60), st.binary(max_size=6))
@example(b"", 31, b"\x80\x80\x80")
def test_whatever_it_reads_the_cursor_reads_too(metrics, place, patch):
    frame = bytearray(make_frame(metrics))
    frame[len(HEADER) + place : len(HEADER) + place + len(patch)] = patch
    plain = read_plain_push(bytes(frame))
    if plain is not None:
        try:
            assert plain == read_by_cursor(bytes(frame))
        except MalformedRequest:
            pytest.fail("the cursor refuses what was read")
