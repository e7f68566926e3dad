"""What a bridge makes of a sequence of records is what a broker's own classes make."""

import random

import pytest

from tests.support.quotas.throttle_times import random_sequence, throttle_times_in_java

SEED = 20_261_126
SEQUENCES = 400


@pytest.fixture(scope="module")
def sequences():
    choose = random.Random(SEED)  # noqa: S311 - no secret is made of it
    return [random_sequence(choose) for _ in range(SEQUENCES)]


def test_throttle_times_are_those_of_a_broker(java, sequences):
    in_java = throttle_times_in_java(java, sequences)
    assert len(in_java) == SEQUENCES
    for one, expected in zip(sequences, in_java, strict=True):
        assert one.throttle_times() == expected, one


def test_the_sequences_hold_what_is_within_limits_and_beyond(sequences):
    waits_ms = [wait for one in sequences for wait in one.throttle_times()]
    assert 0.2 < sum(wait > 0 for wait in waits_ms) / len(waits_ms) < 0.8
    assert {one.kind for one in sequences} == {"bytes", "time"}
