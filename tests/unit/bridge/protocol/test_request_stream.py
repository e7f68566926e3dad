import itertools
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.bridge.protocol.request_stream import RequestStream
from pipelines.kafka_client.primitives import MalformedBytes

FRAMES = st.lists(st.binary(max_size=30), max_size=8)


def take_all(stream):
    frames = []
    while (frame := stream.next_frame()) is not None:
        frames.append(frame)
    return frames


@given(FRAMES, st.data())
def test_frames_come_out_as_they_went_in_wherever_the_bytes_are_cut(frames, data):
    sent = b"".join(struct.pack(">i", len(frame)) + frame for frame in frames)
    places = data.draw(st.lists(st.integers(0, len(sent)), max_size=6))
    stream, taken = RequestStream(max_request_bytes=30), []
    edges = [0, *sorted(places), len(sent)]
    for start, end in itertools.pairwise(edges):
        stream.receive_data(sent[start:end])
        if data.draw(st.booleans()):
            taken += take_all(stream)
            assert all(type(frame) is bytes for frame in taken)
    taken += take_all(stream)
    assert taken == frames
    assert stream.waiting_bytes == 0
    # An idle connection holds nothing of its own.
    assert stream._buffer is b""  # noqa: F632 - the one empty bytes object


@pytest.mark.parametrize("size", [-(2**31), -1, 31, 2**31 - 1])
def test_a_size_that_cannot_be_is_refused_before_its_bytes_come(size):
    stream = RequestStream(max_request_bytes=30)
    head = struct.pack(">i", size)
    for byte in head[:3]:
        stream.receive_data(bytes([byte]))
        assert stream.next_frame() is None
    stream.receive_data(head[3:])
    with pytest.raises(MalformedBytes, match=str(size)):
        stream.next_frame()
    assert stream.waiting_bytes == 4


def test_the_largest_size_may_change():
    stream = RequestStream(max_request_bytes=1)
    stream.max_request_bytes = 2
    stream.receive_data(b"\0\0\0\x02ab")
    assert stream.next_frame() == b"ab"
