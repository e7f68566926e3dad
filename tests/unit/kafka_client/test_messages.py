import contextlib
import struct
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from pipelines.kafka_client import messages
from pipelines.kafka_client.faults import ERROR_NAMES, RETRIABLE_ERROR_CODES
from pipelines.kafka_client.messages import Node, Request, write_frame
from pipelines.kafka_client.primitives import MalformedBytes

VERSIONS = struct.pack(">hB", 0, 3) + struct.pack(">hhhB", 18, 0, 6, 0) + struct.pack(">hhhB", 10_071, 0, 0, 0) + struct.pack(">iB", 0, 0)  # fmt: skip
METADATA = struct.pack(">i", 1) + struct.pack(">ih9si", 7, 9, b"localhost", 9092) + struct.pack(">h", -1)  # fmt: skip
HANDSHAKE = struct.pack(">hih5s", 33, 1, 5, b"PLAIN")
AUTHENTICATE = struct.pack(">hhi3s", 0, -1, 3, b"v=x")
LIVES = AUTHENTICATE + struct.pack(">q", 7_000)
OLDEST = struct.pack(">hi", 0, 2) + struct.pack(">hhh", 18, 0, 3) + struct.pack(">hhh", 3, 2, 12)  # fmt: skip


def test_a_request_has_its_length_and_header_in_front():
    frame = write_frame(Request(18, 3, b"body", is_flexible=True), 7, "app")
    assert frame == bytes.fromhex("00000012 0012 0003 00000007 0003") + b"app\0body"
    plain = write_frame(Request(3, 1, b"body"), 7, "")
    assert plain == bytes.fromhex("0000000e 0003 0001 00000007 0000") + b"body"


CASES = {
    "versions": (messages.read_api_versions, VERSIONS, (0, {18: range(7), 10_071: range(1)}), 17),
    "oldest versions": (messages.read_oldest_api_versions, OLDEST, (0, {18: range(4), 3: range(2, 13)}), None),
    "metadata": (messages.read_metadata, METADATA, [Node(7, "localhost", 9092)], None),
    "handshake": (messages.read_sasl_handshake, HANDSHAKE, (33, ["PLAIN"]), None),
    "authenticate": (partial(messages.read_sasl_authenticate, api_version=0), AUTHENTICATE, (0, "", b"v=x", 0), None),
    "authenticate 1": (partial(messages.read_sasl_authenticate, api_version=1), LIVES, (0, "", b"v=x", 7_000), None),
}  # fmt: skip


@pytest.mark.parametrize(
    ("read", "body", "expected", "needed"), CASES.values(), ids=CASES
)
def test_an_answer_is_read_whole_and_refused_when_cut(read, body, expected, needed):
    assert read(body) == expected
    assert read(body + b"more") == expected
    for cut in range(needed or len(body)):
        with pytest.raises(MalformedBytes):
            read(body[:cut])


@settings(max_examples=300)
@given(st.sampled_from(sorted(CASES)), st.binary(max_size=60), st.integers(0, 30))
def test_noise_is_an_answer_or_is_malformed(case, noise, start):
    read, body, *_ = CASES[case]
    with contextlib.suppress(MalformedBytes):
        read(body[:start] + noise)


def test_a_version_that_is_not_known_serves_nothing():
    body = bytes.fromhex("0023 00000001 0012 0000 0002")
    assert messages.read_api_versions(body) == (35, {})


@pytest.mark.parametrize(
    "body", [b"\0\0\xff\xff\xff\xff\xff\xff", b"\0\0\xff\xff\xff\xff\x0f"]
)
def test_a_claimed_length_takes_no_memory(body):
    with pytest.raises(MalformedBytes):
        messages.read_api_versions(body)


def test_codes_that_may_be_retried_and_names_are_those_of_kio():
    retriable = {code.value for code in ErrorCode if code.retriable}
    assert retriable == RETRIABLE_ERROR_CODES
    assert {code: ErrorCode(code).name for code in ERROR_NAMES} == ERROR_NAMES
