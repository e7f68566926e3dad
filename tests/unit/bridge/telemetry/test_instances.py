"""Which instances are remembered, how they are named, and for how long."""

import dataclasses
import uuid

import pytest
from kio.schema.errors import ErrorCode

NOW = 1_700_000_000_000
NONE = ErrorCode.none
THROTTLED = ErrorCode.throttling_quota_exceeded
UNKNOWN = ErrorCode.unknown_subscription_id
INVALID = ErrorCode.invalid_request
ONE_UUID = uuid.UUID(int=1)


def test_each_new_client_gets_an_id_of_its_own(broker):
    assert broker.get(0) is NONE
    first = broker.id
    assert broker.get(0) is NONE
    assert broker.id != first
    assert len(broker.instances) == 2


def test_new_id_is_never_reserved_nor_in_use_nor_begins_with_a_dash(broker):
    used, dashed = uuid.uuid4(), uuid.UUID(bytes=b"\xf8" + bytes(15))
    assert broker.get(0, used) is NONE
    usable = uuid.UUID(int=9)
    broker.made_ids = iter([used, ONE_UUID, dashed, usable])
    assert broker.get(0) is NONE
    assert broker.id == usable


def test_id_that_the_client_has_is_sent_back_even_the_reserved_one(broker):
    assert broker.get(0, ONE_UUID) is NONE
    assert broker.id == ONE_UUID


def test_answer_tells_limits_and_codecs(broker):
    broker.get(0)
    assert broker.last.telemetry_max_bytes == 10
    assert broker.last.accepted_compression_types == (4,)
    assert broker.last.delta_temporality is True
    assert broker.last.throttle_time.total_seconds() == 0


@pytest.mark.parametrize("instance_id", [None, ONE_UUID])
def test_push_without_a_usable_id_is_invalid_and_leaves_nothing(
    broker, push_request, instance_id
):
    error, instance = broker.instances.push(
        push_request(instance_id), broker.identity, connection_id=1, now_ms=NOW
    )
    assert (error, instance) == (INVALID, None)
    assert len(broker.instances) == 0


def test_push_of_an_unknown_instance_makes_it(broker):
    instance_id = uuid.uuid4()
    pushes = {"instance_id": instance_id, "subscription_id": 1}
    assert broker.push(0, **pushes) is UNKNOWN
    assert broker.push(0, **pushes) is THROTTLED
    assert len(broker.instances) == 1


def test_change_of_subscriptions_starts_every_instance_afresh(broker):
    broker.get(0)
    assert broker.push(5) is NONE
    broker.subscribe("s2", metrics="b.", interval=500)
    assert broker.get(10, broker.id) is NONE
    assert broker.last.push_interval.total_seconds() == 0.5
    assert broker.last.requested_metrics == ("b.", "a.")
    assert broker.push(11) is NONE


def test_change_that_does_not_concern_a_client_keeps_its_subscription_id(broker):
    broker.get(0)
    assert broker.push(5) is NONE
    assert broker.push(5) is THROTTLED
    broker.subscribe("other", metrics="zz.", interval=1_000, match="client_id=nobody")
    assert broker.push(5) is NONE
    assert broker.push(5) is THROTTLED


def test_removing_what_is_not_there_keeps_clients_throttled(broker):
    broker.get(0)
    broker.push(5)
    broker.registry.remove("not there")
    assert broker.push(6) is THROTTLED


def test_closed_connection_forgets_the_instance_that_it_made(broker):
    broker.get(0, connection_id=1)
    assert broker.push(0, connection_id=1) is NONE
    broker.instances.forget_connection(2)
    assert broker.push(0, connection_id=2) is THROTTLED
    broker.instances.forget_connection(1)
    assert broker.push(0, connection_id=2) is NONE
    assert broker.push(0, connection_id=2) is THROTTLED


def test_selectors_see_the_client_as_it_was_first_seen(broker):
    broker.get(0)
    broker.push(0)
    broker.subscribe("mine", metrics="m.", interval=500, match="client_id=producer-1")
    broker.identity = dataclasses.replace(broker.identity, client_id="renamed")
    assert broker.get(1, broker.id) is NONE
    assert "m." in broker.last.requested_metrics


def test_silent_instance_is_forgotten_after_a_minute(broker):
    broker.get(0)
    first = broker.id
    broker.get(59_999)
    assert len(broker.instances) == 2
    broker.get(60_000)
    assert len(broker.instances) == 2
    assert broker.push(60_000, instance_id=first, subscription_id=1) is UNKNOWN


def test_long_interval_keeps_an_instance_for_three_of_them(broker):
    broker.subscribe("s", metrics="a.", interval=100_000)
    broker.get(0)
    broker.push(0)
    broker.get(299_999)
    assert len(broker.instances) == 2
    broker.get(300_000)
    assert len(broker.instances) == 2


def test_expired_instance_behind_a_longer_lived_one_is_made_afresh(broker):
    broker.subscribe("s", metrics="a.", interval=100_000, match="client_id=slow")
    fast = broker.identity
    broker.identity = dataclasses.replace(fast, client_id="slow")
    broker.get(0)
    broker.subscribe("t", metrics="a.", interval=1_000, match="client_id=producer-1")
    broker.identity = fast
    broker.get(1)
    assert broker.push(1, terminating=True) is NONE
    assert broker.push(60_001) is NONE


def test_least_recently_heard_instance_goes_first(make_broker):
    broker = make_broker(max_instances=2)
    broker.get(0)
    first, first_subscription = broker.id, broker.last.subscription_id
    broker.push(0)
    broker.get(1)
    second = broker.id
    assert (
        broker.push(2, instance_id=first, subscription_id=first_subscription)
        is THROTTLED
    )
    broker.get(3)
    assert len(broker.instances) == 2
    assert broker.push(4, instance_id=second, subscription_id=1) is UNKNOWN


LONG = "v" * 30_000


def test_what_a_client_said_is_matched_whole_and_kept_bounded(broker):
    """An instance outlives what its connection says next, so that it keeps little."""
    broker.identity = dataclasses.replace(
        broker.identity, client_software_version=LONG, client_id=f"{LONG}-blue"
    )
    broker.subscribe("blue", metrics="b.", interval=1_000, match="client_id=v+-blue")
    assert broker.get(0) is NONE
    assert "b." in broker.last.requested_metrics
    kept = broker.instances._instances[broker.id.bytes].identity
    assert len(kept.client_id + kept.client_software_version) < 400


def test_a_change_of_subscriptions_asks_what_the_client_said_again(broker):
    said = dataclasses.replace(broker.identity, client_id=f"{LONG}-blue")
    broker.identity = said
    broker.get(0)
    broker.subscribe("b", metrics="b.", interval=1_000, match="client_id=v+-blue")
    assert broker.get(0, broker.id) is NONE
    assert "b." in broker.last.requested_metrics
    kept = broker.instances._instances[broker.id.bytes].identity
    # Once more, and of another client: the instance stays who it was.
    broker.identity = dataclasses.replace(said, client_id="else")
    broker.subscribe("c", metrics="c.", interval=1_000)
    assert broker.get(0, broker.id) is NONE
    assert broker.instances._instances[broker.id.bytes].identity == kept


def test_what_is_kept_of_matched_values_is_bounded(broker):
    broker.subscribe("b", metrics="b.", interval=1_000, match="client_id=v+")
    for number in range(20):
        broker.identity = dataclasses.replace(
            broker.identity, client_id=f"{LONG}{number}"
        )
        broker.get(0)
    known = broker.registry._allowed["client_id"]
    assert len(known) == 20
    assert sum(map(len, known)) < 20 * 300
