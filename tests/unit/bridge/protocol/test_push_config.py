import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.bridge.protocol.api_keys import index_apis
from pipelines.bridge.protocol.errors import UnsupportedRequest
from pipelines.bridge.protocol.push_config import (
    ClientConfig,
    push_config_api,
    read_push_config,
    write_push_config,
    write_push_config_response,
)
from pipelines.bridge.protocol.requests import parse_request
from pipelines.kafka_client.primitives import Cursor, MalformedBytes
from tests.unit.bridge.protocol.request_reader import RequestReader
from tests.unit.bridge.push_config.raw_client import entry, push_body

GOLDEN = Path(__file__).parents[3] / "golden" / "bridge" / "wire_bytes.tsv"
HEADER = struct.pack(">hhih", 10_071, 0, 7, -1) + b"\0"
ACKS = ClientConfig(
    config_key="acks", config_value="all", config_type=1, is_default=True
)
LINGER = ClientConfig(config_key="linger.ms", config_value="5", config_type=4,
                      is_default=False)  # fmt: skip
BODY = push_body(entry("acks", "all", is_default=True), entry("linger.ms", "5", "LONG"))


def golden(name):
    lines = (line.split("\t") for line in GOLDEN.read_text().splitlines())
    return next(
        bytes.fromhex(text) for title, _, text in lines if title.startswith(name)
    )


def read(body):
    return read_push_config(Cursor(body))


def test_golden_requests_are_read_and_written():
    body = golden("seed000 PushConfigRequest v0 body")
    assert read(body).configs == (ACKS, LINGER)
    assert write_push_config([ACKS, LINGER]) == body
    empty = golden("seed000 PushConfigRequest v0 empty")
    assert read(empty).configs == ()
    assert write_push_config([]) == empty


def test_golden_responses_are_written():
    assert write_push_config_response(0, None) == golden(
        "seed000 PushConfigResponse v0 ok"
    )
    assert write_push_config_response(40, "bad") == golden(
        "seed000 PushConfigResponse v0 err"
    )
    assert write_push_config_response(89, "", throttle_time_ms=258) == (
        b"\x00\x00\x01\x02\x00\x59\x01\x00"
    )


def test_a_request_is_read_from_its_frame():
    request = parse_request(HEADER + BODY, index_apis(push_config_api(10_071, 100)))
    assert request.is_flexible
    assert request.body.configs == (ACKS, LINGER)
    assert request.body.body_bytes == len(BODY)


@pytest.mark.parametrize("size", range(len(BODY)))
def test_a_body_that_is_cut_anywhere_is_malformed(size):
    with pytest.raises(MalformedBytes):
        read(BODY[:size])


@pytest.mark.parametrize("cut", range(1, len(HEADER) + len(BODY) + 4))
def test_a_request_is_whole_wherever_its_bytes_are_cut(cut):
    frame = HEADER + BODY
    whole = struct.pack(">i", len(frame)) + frame
    apis = index_apis(push_config_api(10_071, 100))
    stream = RequestReader(apis, max_request_bytes=1_000)
    stream.receive_data(whole[:cut])
    assert stream.next_request() is None
    stream.receive_data(whole[cut:])
    assert stream.next_request().body.configs == (ACKS, LINGER)


def test_what_no_field_stands_for_is_read_over_and_never_written_again():
    tag = b"\x01\x09\x06secret"
    tagged = entry("acks", "all", is_default=True)[:-1] + tag
    body = b"\x02" + tagged + tag + b"secret"
    request = read(body)
    assert request.configs == (ACKS,)
    assert b"secret" not in write_push_config(request.configs)
    assert b"secret" not in repr(request).encode()


@pytest.mark.parametrize(
    "body",
    [
        b"\x00\x00",
        push_body(entry(None, "v")),
        push_body(entry("k", None)),
        b"\xff\xff\xff\xff\x07" + bytes(20),
        b"\x05" + bytes(19),
        b"\x02" + b"\xff\xff\xff\xff\x07" + bytes(20),
        b"\x02\x02k\xff\xff\xff\xff\x07" + bytes(20),
        b"\xff\xff\xff\xff\xff\x0f",
        b"\x01\xff\xff\xff\xff\x07",
    ],
    ids=["null configs", "null key", "null value", "huge count", "count of 4 in 19 bytes",
         "huge key", "huge value", "six-byte varint", "huge tag count"],
)  # fmt: skip
def test_claims_that_do_not_fit_are_malformed_and_nothing_else(body):
    with pytest.raises(MalformedBytes):
        read(body)


def test_a_body_above_the_limit_is_not_read():
    apis = index_apis(push_config_api(10_071, len(BODY) - 1))
    body = parse_request(HEADER + BODY, apis).body
    assert (body.is_too_large, body.configs, body.body_bytes) == (True, (), len(BODY))
    garbage = parse_request(HEADER + b"\xff" * 100, apis).body
    assert garbage.is_too_large
    apis = index_apis(push_config_api(10_071, len(BODY)))
    assert not parse_request(HEADER + BODY, apis).body.is_too_large


@pytest.mark.parametrize("version", [1, -1])
def test_another_version_is_not_served(version):
    frame = struct.pack(">hhih", 10_071, version, 7, -1) + b"\0" + BODY
    with pytest.raises(UnsupportedRequest):
        parse_request(frame, index_apis(push_config_api(10_071, 100)))


def test_numbers_are_signed_and_every_byte_but_zero_is_true():
    (one,) = read(b"\x02\x02k\x02v\xff\x80\x00\x00").configs
    assert (one.config_type, one.is_default) == (-1, True)


def test_text_that_is_no_utf8_becomes_the_replacement_character():
    (one,) = read(push_body(entry(b"k\xff", b"\xff\xfe"))).configs
    assert (one.config_key, one.config_value) == ("k�", "��")
    assert write_push_config([one]) == push_body(entry("k�", "��"))


def test_a_value_is_never_printed():
    one = ClientConfig(
        config_key="k", config_value="canary", config_type=1, is_default=True
    )
    assert "canary" not in repr(one)
    assert "canary" not in f"{read(push_body(entry('k', 'canary')))}"


configs = st.builds(
    ClientConfig,
    config_key=st.text(max_size=300),
    config_value=st.text(max_size=300),
    config_type=st.integers(-128, 127),
    is_default=st.booleans(),
)


@given(st.lists(configs, max_size=150))
def test_what_is_written_reads_back(entries):
    assert read(write_push_config(entries)).configs == tuple(entries)


@settings(max_examples=2_000, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_malformed_and_nothing_else(body):
    try:
        request = read(body)
    except MalformedBytes:
        return
    assert len(request.configs) * 5 <= len(body)


@settings(max_examples=1_000, deadline=None)
@given(st.integers(0, len(BODY) - 1), st.binary(min_size=1, max_size=6))
def test_a_body_with_some_bytes_changed_is_read_or_malformed(place, other):
    changed = BODY[:place] + other + BODY[place + len(other) :]
    try:
        assert len(read(changed).configs) <= len(changed) // 5
    except MalformedBytes:
        return
