"""Mutated frames through the whole core; `tests/fuzz/protocol.py` is the long form."""

import random
import struct
import tracemalloc
from functools import partial

import pytest
from kio.serial.errors import SerialError

from pipelines.bridge.protocol.api_keys import API_VERSIONS
from pipelines.bridge.protocol.errors import UnsupportedRequest
from pipelines.bridge.protocol.request_stream import RequestStream
from pipelines.bridge.protocol.requests import UNREADABLE, parse_request
from pipelines.kafka_client.primitives import MalformedBytes
from tests.fuzz.connection import Broken, FuzzedConnection
from tests.fuzz.core import FuzzedCore
from tests.fuzz.tokens import COMPACT_LENGTH, LENGTH, TAGS, TokenWriter, uvarint

FRAMES = 60_000
BOUND_BYTES = 100_000


@pytest.fixture(scope="module")
def fuzzed():
    core = FuzzedCore(2)
    core.run(FRAMES)
    return core


def list_versions(core):
    return [
        (api, version)
        for api in core.handlers.apis.values()
        for version in api.versions
    ]


def test_nothing_escapes_and_every_reply_is_whole_and_in_order(fuzzed):
    assert fuzzed.seen.frames >= FRAMES
    refusals = {"MalformedBytes", "TruncatedBytes", "UnsupportedRequest"}
    assert set(fuzzed.seen.unasked) == refusals


def test_every_api_and_version_that_is_served_was_answered(fuzzed):
    served = {(api.api_key, version) for api, version in list_versions(fuzzed)}
    assert served <= fuzzed.seen.answers.keys()


def test_every_verdict_of_the_rules_was_reached(fuzzed):
    counts = fuzzed.seen.counts
    names = ["gets", "throttled_gets", "accepted_pushes", "throttled_pushes",
             "unknown_subscription_pushes", "unsupported_compression_pushes",
             "too_large_pushes", "invalid_pushes"]  # fmt: skip
    assert [name for name in names if not counts[name]] == []


def test_valid_requests_are_read_in_every_version(fuzzed):
    chance = random.Random(3)  # noqa: S311 - to be repeatable
    for api, version in list_versions(fuzzed):
        for _ in range(20):
            tokens = TokenWriter(api, version, chance).make()
            frame = b"".join(content for _, content in tokens)
            request = parse_request(frame, fuzzed.handlers.apis)
            assert (request.api_key, request.api_version) == (api.api_key, version)


def test_claimed_length_or_count_never_reserves_more_than_the_frame_holds(fuzzed):
    """kio would reserve memory for the array length that a peer claims."""
    chance = random.Random(5)  # noqa: S311 - to be repeatable
    claims = 0
    tracemalloc.start()
    try:
        for api, version in list_versions(fuzzed):
            tokens = TokenWriter(api, version, chance).make()
            for index, (kind, content) in enumerate(tokens):
                if kind not in {LENGTH, COMPACT_LENGTH, TAGS}:
                    continue
                claims += 1
                claim = uvarint(2**31 - 1)
                if kind == LENGTH:
                    claim = (2 ** (8 * len(content) - 1) - 1).to_bytes(len(content))
                changed = [*tokens[:index], (kind, claim), *tokens[index + 1 :]]
                frame = b"".join(content for _, content in changed)
                tracemalloc.reset_peak()
                before, _ = tracemalloc.get_traced_memory()
                try:
                    request = parse_request(frame, fuzzed.handlers.apis)
                except (MalformedBytes, UnsupportedRequest):
                    pass
                else:
                    assert api.api_key == API_VERSIONS
                    assert request.body is UNREADABLE
                _, peak = tracemalloc.get_traced_memory()
                assert peak - before < BOUND_BYTES
    finally:
        tracemalloc.stop()
    assert claims > 30


def test_size_of_a_frame_reserves_nothing():
    stream = RequestStream(max_request_bytes=2**31 - 1)
    tracemalloc.start()
    try:
        stream.receive_data(struct.pack(">i", 2**31 - 1) + b"few")
        assert stream.next_frame() is None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < BOUND_BYTES


# ---------------------------------------------------------------- the fuzzer itself


def answer_with(core, *replies):
    """Return a connection whose requests get these replies."""
    left = list(replies)

    def handle(request, _connection, reply):
        reply(left.pop(0)(request))

    core.handlers = FuzzedCore(1).handlers
    core.handlers._handlers = dict.fromkeys(core.handlers.apis, handle)
    return FuzzedConnection(core, 1)


def make_reply(body, request, *, shift=0):
    reply = struct.pack(">i", request.correlation_id + shift) + body
    return struct.pack(">i", len(reply)) + reply


PUSH = struct.pack(">ihhih", 36, 72, 0, 7, -1) + bytes(25) + b"\x01\x00"
PUSH_BODY = b"\x00" + struct.pack(">ih", 0, 0) + b"\x00"


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (partial(make_reply, PUSH_BODY, shift=1), "not in the order"),
        (partial(make_reply, PUSH_BODY + b"more"), "bytes of which"),
        (lambda request: make_reply(PUSH_BODY, request)[:-1], "is cut"),
    ],
)
def test_fuzzer_finds_a_wrong_reply(reply, fault):
    core = FuzzedCore(1)
    frame = PUSH[4:]
    connection = answer_with(core, reply)
    with pytest.raises(Broken, match=fault):
        connection.receive(struct.pack(">i", len(frame)) + frame)


def test_fuzzer_finds_a_reply_that_kio_cannot_read():
    core = FuzzedCore(1)
    connection = answer_with(core, partial(make_reply, PUSH_BODY[:4]))
    frame = PUSH[4:]
    with pytest.raises((SerialError, struct.error, ValueError, EOFError, IndexError)):
        connection.receive(struct.pack(">i", len(frame)) + frame)


def test_fuzzer_finds_what_escapes():
    core = FuzzedCore(1)

    def fail(_request, _connection, _reply):
        raise KeyError("tag")

    core.handlers._handlers = dict.fromkeys(core.handlers.apis, fail)
    with pytest.raises(Broken, match=r"KeyError.*frames 00"):
        core.run(1_000)


def test_fuzzer_finds_a_request_that_is_never_answered():
    core = FuzzedCore(1)
    core.handlers._handlers = dict.fromkeys(core.handlers.apis, lambda *_: None)
    with pytest.raises(Broken, match="never answered"):
        core.run(1_000)


def test_fuzzer_finds_a_slow_frame():
    core = FuzzedCore(1)

    def spin(_request, _connection, _reply):
        sum(range(30_000_000))

    core.handlers._handlers = dict.fromkeys(core.handlers.apis, spin)
    with pytest.raises(Broken, match="a frame took"):
        core.run(1_000)
