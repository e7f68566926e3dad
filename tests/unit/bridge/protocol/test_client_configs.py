import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.bridge.protocol.api_keys import index_apis
from pipelines.bridge.protocol.client_configs import (
    MAX_REQUEST_ITEMS,
    AlterRequest,
    alter_client_configs_api,
    answer_alterations,
    answer_describe,
    describe_client_configs_api,
    read_alterations,
    read_describe,
)
from pipelines.bridge.protocol.errors import UnsupportedRequest
from pipelines.bridge.protocol.requests import parse_request
from pipelines.kafka_client.client_configs import (
    Alteration,
    Altered,
    Component,
    Described,
    DescribeRequest,
    Op,
    write_alterations,
    write_describe,
)
from pipelines.kafka_client.primitives import Cursor, MalformedBytes
from tests.unit.kafka_client.test_client_configs import ALICE, DEFAULT_CLIENT, golden

APIS = index_apis(describe_client_configs_api(10_050), alter_client_configs_api(10_051))
DESCRIBE = golden("seed004 DescribeClientConfigsRequest v0 body")
ALTER = golden("seed004 AlterClientConfigsRequest v0 body")
texts = st.text(max_size=8)
entities = st.lists(st.tuples(texts, st.none() | texts), max_size=3).map(tuple)


def frame(api_key, body, version=0):
    return struct.pack(">hhih3s", api_key, version, 7, 3, b"app") + body


def test_golden_requests_are_read_from_their_frames():
    asked = parse_request(frame(10_050, DESCRIBE), APIS)
    assert asked.body == DescribeRequest(
        (Component("user", 0, "alice"),), ("acks",), True, False
    )
    assert (asked.client_id, asked.is_flexible) == ("app", False)
    altered = parse_request(frame(10_051, ALTER), APIS)
    assert altered.body == AlterRequest(
        (Alteration(ALICE, (Op("acks", "-1"),)),), validate_only=False
    )


def test_another_version_is_not_served():
    with pytest.raises(UnsupportedRequest):
        parse_request(frame(10_050, DESCRIBE, version=1), APIS)


@pytest.mark.parametrize("size", range(len(DESCRIBE)))
def test_a_description_that_is_cut_anywhere_is_malformed(size):
    with pytest.raises(MalformedBytes):
        read_describe(Cursor(DESCRIBE[:size]))


@pytest.mark.parametrize("size", range(len(ALTER)))
def test_an_alteration_that_is_cut_anywhere_is_malformed(size):
    with pytest.raises(MalformedBytes):
        read_alterations(Cursor(ALTER[:size]))


def test_what_stands_behind_a_request_is_read_over():
    assert read_describe(Cursor(DESCRIBE + b"more")).resolve_entity
    assert not read_alterations(Cursor(ALTER + b"more")).validate_only


@pytest.mark.parametrize(
    "body",
    [
        "ffffffff ffffffff 00 00",
        "00000001 ffff 00 ffff ffffffff 00 00",
        "00000000 00000001 ffff 00 00",
        "7fffffff" + "00" * 20,
        "fffffffe" + "00" * 20,
        "00000005" + "00" * 20,
    ],
    ids=["null components", "null type", "null key", "huge", "below null", "5 in 20"],
)
def test_claims_of_a_description_that_do_not_fit_are_malformed(body):
    with pytest.raises(MalformedBytes):
        read_describe(Cursor(bytes.fromhex(body)))


def test_more_items_than_are_read_are_malformed():
    op = Op("k", "v")
    most = Alteration(ALICE, (op,) * (MAX_REQUEST_ITEMS - 2))
    body = write_alterations([most], validate_only=False)
    assert read_alterations(Cursor(body)).alterations == (most,)
    more = write_alterations([most._replace(ops=(*most.ops, op))], validate_only=False)
    with pytest.raises(MalformedBytes, match="too many items"):
        read_alterations(Cursor(more))


def test_a_text_that_grows_past_what_an_answer_can_repeat_is_malformed():
    part = struct.pack(">h4sh", 4, b"user", 30_000) + b"\xff" * 30_000
    body = struct.pack(">ii", 1, 1) + part + struct.pack(">i?", 0, False)
    with pytest.raises(MalformedBytes, match="too long"):
        read_alterations(Cursor(body))


@given(
    st.builds(
        DescribeRequest,
        st.lists(
            st.builds(Component, texts, st.integers(-128, 127), st.none() | texts),
            max_size=4,
        ).map(tuple),
        st.none() | st.lists(texts, max_size=4).map(tuple),
        st.booleans(),
        st.booleans(),
    )
)
def test_what_a_client_asks_is_what_is_read(request):
    assert read_describe(Cursor(write_describe(request))) == request


@given(
    st.lists(
        st.builds(
            Alteration,
            entities,
            st.lists(st.builds(Op, texts, texts, st.booleans()), max_size=3).map(tuple),
        ),
        max_size=3,
    ).map(tuple),
    st.booleans(),
)
def test_what_a_client_alters_is_what_is_read(alterations, validate_only):
    body = write_alterations(alterations, validate_only=validate_only)
    assert read_alterations(Cursor(body)) == AlterRequest(alterations, validate_only)


def test_answers_have_the_oldest_header():
    request = parse_request(frame(10_050, DESCRIBE), APIS)
    assert answer_describe(request, Described(0, 31, None, None)) == bytes.fromhex(
        "00000010 00000007 00000000 001f ffff ffffffff"
    )
    altered = answer_alterations(request, [Altered(0, None, DEFAULT_CLIENT)])
    assert altered == bytes.fromhex(
        "0000002e 00000007 00000000 00000001 0000 ffff 00000002"
        "0004 75736572 0005 616c696365 0009 636c69656e742d6964 ffff"
    )
