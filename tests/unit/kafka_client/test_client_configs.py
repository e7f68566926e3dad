import contextlib
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.kafka_client.client_configs import (
    Alteration,
    Altered,
    Component,
    Described,
    DescribedEntity,
    DescribeRequest,
    Match,
    Op,
    alter_client_configs,
    describe_client_configs,
    read_altered,
    read_described,
    write_alterations,
    write_altered,
    write_described,
)
from pipelines.kafka_client.primitives import MalformedBytes

GOLDEN = Path(__file__).parents[2] / "golden" / "bridge" / "wire_bytes.tsv"
ALICE = (("user", "alice"),)
DEFAULT_CLIENT = (*ALICE, ("client-id", None))
DESCRIBED = Described(
    7,
    0,
    None,
    [
        DescribedEntity(ALICE, {"acks": "-1", "session.timeout.ms": "11000"}),
        DescribedEntity(DEFAULT_CLIENT, {}),
    ],
)
ALTERED = [Altered(0, None, ALICE), Altered(42, "why", DEFAULT_CLIENT)]
ANSWERS = {
    "described": (read_described, write_described(DESCRIBED), DESCRIBED),
    "altered": (read_altered, write_altered(9, ALTERED), (9, ALTERED)),
}


def golden(name):
    lines = (line.split("\t") for line in GOLDEN.read_text().splitlines())
    return next(bytes.fromhex(text) for title, _, text in lines if title == name)


def test_golden_requests_are_written():
    request = DescribeRequest(
        components=(Component("user", Match.EXACT, "alice"),),
        supported_configs=("acks",),
        resolve_entity=True,
        strict=False,
    )
    sent = describe_client_configs(request)
    assert sent.body == golden("seed004 DescribeClientConfigsRequest v0 body")
    assert sent[:2] == (10_050, 0)
    assert not sent.is_flexible
    altered = alter_client_configs(
        [Alteration(ALICE, (Op("acks", "-1"),))], validate_only=False, api_key=51
    )
    assert altered.body == golden("seed004 AlterClientConfigsRequest v0 body")
    assert altered[:2] == (51, 0)


def test_nulls_and_flags_are_written():
    nothing = describe_client_configs(
        DescribeRequest((Component("user", 1, None),), None, False, True)
    )
    assert nothing.body == bytes.fromhex(
        "00000001 0004 75736572 01 ffff ffffffff 00 01"
    )
    removed = write_alterations(
        [Alteration((("user", None),), (Op("k", "", remove=True),))], validate_only=True
    )
    assert removed == bytes.fromhex(
        "00000001 00000001 0004 75736572 ffff 00000001 0001 6b 0000 01 01"
    )


@pytest.mark.parametrize(("read", "body", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_is_read_whole_and_refused_when_cut(read, body, expected):
    assert read(body) == expected
    assert read(body + b"more") == expected
    for cut in range(len(body)):
        with pytest.raises(MalformedBytes):
            read(body[:cut])


def test_golden_answers():
    refused = Described(0, 31, "no", None)
    body = bytes.fromhex("00000000 001f 0002 6e6f ffffffff")
    assert write_described(refused) == body
    assert read_described(body) == refused
    assert write_altered(0, [Altered(0, None, ALICE)]) == bytes.fromhex(
        "00000000 00000001 0000 ffff 00000001 0004 75736572 0005 616c696365"
    )


@pytest.mark.parametrize("count", [-2, 4, 2**31 - 1])
def test_a_count_that_cannot_stand_in_the_answer_is_malformed(count):
    body = struct.pack(">ihhi", 0, 0, -1, count) + bytes(12)
    with pytest.raises(MalformedBytes, match="items"):
        read_described(body)
    with pytest.raises(MalformedBytes, match="items"):
        read_altered(struct.pack(">ii", 0, count) + bytes(12))


def test_a_null_where_none_may_be_is_malformed():
    head = struct.pack(">ihhi", 0, 0, -1, 1)
    with pytest.raises(MalformedBytes, match="null"):
        read_described(head + struct.pack(">ii", -1, 0))
    with pytest.raises(MalformedBytes, match="null"):
        read_described(head + struct.pack(">ihhi", 1, -1, -1, 0))


def test_a_text_that_no_string_can_hold_is_refused():
    with pytest.raises(ValueError, match="32768 bytes"):
        describe_client_configs(DescribeRequest((Component("u" * 2**15, 2, None),)))


@settings(max_examples=300)
@given(st.sampled_from(sorted(ANSWERS)), st.binary(max_size=60), st.integers(0, 40))
def test_noise_is_an_answer_or_is_malformed(case, noise, start):
    read, body, _ = ANSWERS[case]
    with contextlib.suppress(MalformedBytes):
        read(body[:start] + noise)
