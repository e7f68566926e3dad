"""Verdicts beyond the replayed scenarios."""

import pytest
from kio.schema.errors import ErrorCode

NONE = ErrorCode.none
THROTTLED = ErrorCode.throttling_quota_exceeded
UNKNOWN = ErrorCode.unknown_subscription_id
UNSUPPORTED = ErrorCode.unsupported_compression_type
INVALID = ErrorCode.invalid_request
TOO_LARGE = ErrorCode.telemetry_too_large


def test_push_right_after_a_get_and_then_once_an_interval(broker):
    broker.get(0)
    answers = [broker.push(10)]
    answers += [broker.get(at, broker.id) for at in (20, 1_009, 1_010)]
    answers += [broker.push(1_010), broker.push(1_011)]
    assert answers == [NONE, THROTTLED, THROTTLED, NONE, NONE, THROTTLED]


@pytest.mark.parametrize(
    ("content", "error"),
    [({"subscription_id": 1}, UNKNOWN), ({"compression_type": 9}, UNSUPPORTED)],
)
def test_client_may_ask_again_right_after_it_was_told_to(broker, content, error):
    broker.get(0)
    assert broker.push(5, **content) is error
    assert broker.get(10, broker.id) is NONE
    assert broker.get(11, broker.id) is THROTTLED
    # The slot is counted from the refused push, as on brokers.
    assert broker.push(1_000) is THROTTLED
    assert broker.push(1_005) is NONE


def test_client_may_not_ask_again_after_another_refusal(broker):
    broker.get(0)
    assert broker.push(5, metrics=bytes(11)) is TOO_LARGE
    assert broker.get(10, broker.id) is THROTTLED
    broker.push(1_005, subscription_id=1)
    assert broker.push(1_006) is THROTTLED
    assert broker.get(1_007, broker.id) is THROTTLED


def test_checks_come_in_kafkas_order(broker):
    broker.get(0)
    bad = {"compression_type": 9, "metrics": bytes(11)}
    answers = [
        broker.push(0, subscription_id=1, **bad),
        broker.push(0, subscription_id=1, **bad),
        broker.push(1_000, **bad),
        broker.push(2_000, compression_type=4, metrics=bytes(11)),
        broker.push(3_000, compression_type=4, metrics=bytes(10)),
        broker.push(4_000, compression_type=5),
        broker.push(5_000, compression_type=-1),
    ]
    assert answers == [
        UNKNOWN,
        THROTTLED,
        UNSUPPORTED,
        TOO_LARGE,
        NONE,
        UNSUPPORTED,
        UNSUPPORTED,
    ]


@pytest.mark.parametrize("compression_type", range(5))
def test_codecs_that_were_not_offered_are_taken_too(broker, compression_type):
    broker.get(0)
    assert broker.push(0, compression_type=compression_type) is NONE


@pytest.mark.parametrize("compression_type", [0, 4])
def test_empty_push_is_accepted(broker, compression_type):
    broker.get(0)
    assert broker.push(0, metrics=b"", compression_type=compression_type) is NONE


def test_terminating_push_needs_no_slot_and_is_the_last(broker):
    broker.get(0)
    answers = [broker.push(0)]
    answers += [broker.push(0, terminating=one) for one in (True, True, False, False)]
    answers.append(broker.push(1_000))
    assert answers == [NONE, NONE, INVALID, INVALID, THROTTLED, NONE]


def test_terminating_pushes_pass_the_rate_limit_once_an_interval(broker):
    broker.get(0)
    turns = [(at, at % 2 == 0) for at in range(7)]
    answers = [broker.push(at, terminating=one) for at, one in turns]
    assert answers == [NONE, INVALID, NONE, INVALID, THROTTLED, THROTTLED, THROTTLED]
    # At 1,000 the next slot comes, at 1,002 a push may be early again.
    assert broker.push(1_000) is NONE
    assert broker.push(1_001, terminating=True) is THROTTLED
    assert broker.push(1_002, terminating=True) is NONE
    assert broker.push(1_003) is INVALID
    assert broker.push(1_004, terminating=True) is THROTTLED


def test_early_terminating_push_that_is_refused_may_be_repeated(broker):
    broker.get(0)
    assert broker.push(0) is NONE
    assert broker.push(1, terminating=True, subscription_id=1) is UNKNOWN
    assert broker.push(2, terminating=True, metrics=bytes(11)) is TOO_LARGE
    assert broker.push(3, terminating=True) is NONE
    broker.instances.take_back(broker.id.bytes, was_terminating=True)
    assert broker.push(4, terminating=True) is NONE
    assert broker.push(5) is INVALID
    assert broker.push(6, terminating=True) is THROTTLED


def test_failed_terminating_push_does_not_lock_the_client_out(broker):
    broker.get(0)
    assert broker.push(0, terminating=True, subscription_id=1) is UNKNOWN
    assert broker.push(0, terminating=True) is NONE
    assert broker.push(0, terminating=True) is INVALID


def test_terminating_push_that_kafka_did_not_take_may_be_repeated(broker):
    broker.get(0)
    assert broker.push(0, terminating=True) is NONE
    broker.instances.take_back(broker.id.bytes, was_terminating=True)
    assert broker.push(1, terminating=True) is NONE


def test_taking_back_another_push_leaves_the_terminating_one(broker):
    broker.get(0)
    assert broker.push(0, terminating=True) is NONE
    broker.instances.take_back(broker.id.bytes, was_terminating=False)
    assert broker.push(1, terminating=True) is INVALID


def test_taking_back_a_push_of_a_forgotten_instance_is_nothing(broker):
    broker.get(0)
    broker.instances.forget_connection(1)
    broker.instances.take_back(broker.id.bytes, was_terminating=False)
    assert len(broker.instances) == 0
