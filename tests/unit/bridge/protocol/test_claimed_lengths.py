"""A length or count that a request claims reserves no more than its bytes hold."""

import contextlib
import struct
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.bridge.protocol.requests import (
    MAX_METADATA_TOPICS,
    TELEMETRY_APIS,
    parse_request,
)
from pipelines.bridge.protocol.sasl import SASL_AUTHENTICATE_API, SASL_HANDSHAKE_API
from pipelines.kafka_client.primitives import MalformedBytes

APIS = {
    api.api_key: api
    for api in (*TELEMETRY_APIS.values(), SASL_HANDSHAKE_API, SASL_AUTHENTICATE_API)
}
READERS = [(api.api_key, version) for api in APIS.values() for version in api.versions]
FIXED_BYTES = 65_536
BYTES_PER_BYTE = 200
"""A topic of two bytes becomes a record of that many."""
HUGE = st.sampled_from(
    [struct.pack(">i", 2**31 - 1), struct.pack(">i", 2**24), struct.pack(">h", 32_767),
     b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\x7f", b"\x80\x80\x80\x80\x08", b"\xff" * 5]
)  # fmt: skip
BODIES = st.lists(st.one_of(HUGE, st.binary(max_size=40)), max_size=8).map(b"".join)


def read(frame):
    """Read one request; return the most memory that it took."""
    tracemalloc.start()
    try:
        with contextlib.suppress(MalformedBytes):
            parse_request(frame, APIS)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("api_key", "version"), READERS)
def test_a_reader_takes_no_more_than_its_bytes(api_key, version):
    is_flexible = version >= APIS[api_key].first_flexible_version
    header = struct.pack(">hhih", api_key, version, 1, -1) + b"\0" * is_flexible

    @settings(max_examples=60, deadline=None)
    @given(BODIES)
    def check(body):
        frame = header + body
        assert read(frame) < FIXED_BYTES + BYTES_PER_BYTE * len(frame)

    check()


@given(BODIES)
@settings(max_examples=200, deadline=None)
def test_a_header_takes_no_more_than_its_bytes(data):
    for api_key, version in ((18, 3), (72, 0), (36, 2), (17, 0)):
        frame = struct.pack(">hhi", api_key, version, 1) + data
        assert read(frame) < FIXED_BYTES + BYTES_PER_BYTE * len(frame)


def test_metadata_makes_as_many_topics_as_are_allowed_and_as_are_there():
    for count, there, is_read in (
        (MAX_METADATA_TOPICS, MAX_METADATA_TOPICS, True),
        (MAX_METADATA_TOPICS, MAX_METADATA_TOPICS - 1, False),
        (MAX_METADATA_TOPICS + 1, MAX_METADATA_TOPICS + 1, False),
    ):
        frame = struct.pack(">hhihi", 3, 1, 1, -1, count) + b"\0\0" * there
        if is_read:
            assert len(parse_request(frame, APIS).body.topics) == count
        else:
            with pytest.raises(MalformedBytes, match=r"Metadata|array"):
                parse_request(frame, APIS)
            assert read(frame) < FIXED_BYTES
