import pytest

from pipelines.bridge.dynamic_configs.rules import (
    MAX_NAME_BYTES,
    MAX_VALUE_BYTES,
    is_match,
    judge_filter,
    order_entity,
)
from pipelines.kafka_client.client_configs import (
    Alteration,
    Component,
    DescribeRequest,
    Match,
    Op,
)

INVALID = 42
U1 = (("user", "u1"),)
EXACT, DEFAULT, ANY = Match.EXACT, Match.DEFAULT, Match.ANY


def entity(user, *client_id):
    return (("user", user), *(("client-id", one) for one in client_id))


@pytest.mark.parametrize(
    ("components", "text"),
    [
        ([], "A filter of dynamic client configs needs a user component."),
        ([("client-id", ANY, None)], "A filter of dynamic client configs needs a user component."),
        ([("", ANY, None)], "Invalid empty entity type."),
        ([("user", ANY, None), ("user", EXACT, "a")], "Entity type user cannot appear more than once."),
        ([("ip", ANY, None)], "Unknown entity type: dynamic client configs have user and client-id."),
        ([("user", EXACT, None)], "Request specified EXACT match, but match string was null."),
        ([("user", EXACT, "")], "Empty user not supported"),
        ([("user", DEFAULT, "a")], "Request specified DEFAULT match, but a string was given."),
        ([("user", ANY, "a")], "Request specified ANY match, but a string was given."),
        ([("user", 3, None)], "Unknown match type 3."),
        ([("user", -1, "a")], "Unknown match type -1."),
    ],
)  # fmt: skip
def test_a_filter_that_says_nothing_is_refused(components, text):
    refusal = judge_filter([Component(*one) for one in components])
    assert (refusal.error_code, refusal.message) == (INVALID, text)


ENTITIES = [
    entity("u1", "c1"), entity("u2", "c1"), entity("u3", "c2"), entity("u1", None),
    entity("u3", None), entity("u1"), entity("u2"), entity("u3"),
]  # fmt: skip
"""As in Kafka's ClientQuotasRequestTest, without default users and lone client ids."""


@pytest.mark.parametrize(
    ("components", "strict", "count"),
    [
        ([("user", EXACT, "u1")], False, 3),
        ([("user", EXACT, "u2")], True, 1),
        ([("user", ANY, None)], True, 3),
        ([("user", ANY, None)], False, 8),
        ([("user", DEFAULT, None)], False, 0),
        ([("user", ANY, None), ("client-id", EXACT, "c1")], False, 2),
        ([("user", ANY, None), ("client-id", DEFAULT, None)], False, 2),
        ([("user", ANY, None), ("client-id", ANY, None)], False, 5),
        ([("client-id", ANY, None), ("user", EXACT, "u1")], True, 2),
        ([("user", EXACT, "u9")], False, 0),
    ],
)
def test_matches_are_those_of_quotas(components, strict, count):
    wanted = tuple(Component(*one) for one in components)
    assert judge_filter(wanted) is None
    request = DescribeRequest(wanted, strict=strict)
    assert sum(is_match(one, request) for one in ENTITIES) == count


def test_entities_stand_in_order():
    assert sorted(ENTITIES, key=order_entity) == [
        entity("u1"), entity("u1", None), entity("u1", "c1"), entity("u2"),
        entity("u2", "c1"), entity("u3"), entity("u3", None), entity("u3", "c2"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ((), "Dynamic client configs need a user with a name."),
        ((("client-id", "c"),), "Dynamic client configs need a user with a name."),
        ((("user", None),), "Dynamic client configs need a user with a name."),
        ((("user", ""),), "Empty user not supported"),
        (entity("u", ""), "Empty client-id not supported"),
        ((("", "u"),), "Invalid empty entity type."),
        ((("user", "u"), ("user", "v")), "Entity type user cannot appear more than once."),
        ((("user", "u"), ("ip", "1.2.3.4")), "Unknown entity type: dynamic client configs have user and client-id."),
        (entity("u" * (MAX_NAME_BYTES + 1)), "A user of more than 1024 bytes."),
    ],
)  # fmt: skip
def test_an_entity_that_cannot_have_configs_is_refused(judge, parts, text):
    refusal, changes = judge.judge(Alteration(parts, (Op("acks", "1"),)), {})
    assert (refusal.error_code, refusal.message, changes) == (INVALID, text, {})


def test_a_client_id_that_looks_like_a_secret_is_refused_and_not_repeated(judge):
    secret = "AKIAIOSFODNN7EXAMPLE"
    refusal, _ = judge.judge(Alteration(entity("u", secret), ()), {})
    assert refusal.message.startswith("The client-id looks like a secret, by rule ")
    assert secret not in refusal.message


def say(judge, key, value, current=()):
    refusal, changes = judge.judge(Alteration(U1, (Op(key, value),)), dict(current))
    if refusal is None:
        return changes
    assert refusal.error_code == INVALID
    return refusal.message


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("acks", "-1"), ("acks", "0"), ("acks", "1"), ("acks", "all"),
        ("session.timeout.ms", "1"), ("session.timeout.ms", "+7"),
        ("session.timeout.ms", "2147483647"), ("heartbeat.interval.ms", "1"),
        ("linger.ms", "0"), ("linger.ms", "900"), ("retries", "-2147483648"),
        ("client.rack", "a, b"), ("client.rack", ""), ("bootstrap.servers", "a:1,b:2"),
        ("enable.idempotence", "true"), ("enable.idempotence", "False"),
        ("fetch.error.backoff.ms", "-1e3"), ("sticky.partitioning.linger.ms", "1.5"),
    ],
)  # fmt: skip
def test_values_that_are_wanted_are_set(judge, key, value):
    assert say(judge, key, value) == {key: value}
    assert judge.takes(key, value)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("acks", "2", "acks: expects one of -1, 0, 1, all"),
        ("acks", "", "acks: expects one of -1, 0, 1, all"),
        ("acks", "ALL", "acks: expects one of -1, 0, 1, all"),
        ("session.timeout.ms", "0", "session.timeout.ms: expects a whole number of at least 1 and at most 2147483647"),
        ("session.timeout.ms", "2147483648", "session.timeout.ms: expects a whole number of at least 1 and at most 2147483647"),
        ("session.timeout.ms", "1.0", "session.timeout.ms: expects a whole number of at least 1 and at most 2147483647"),
        ("session.timeout.ms", "٣", "session.timeout.ms: expects a whole number of at least 1 and at most 2147483647"),
        ("session.timeout.ms", " 1", "session.timeout.ms: expects a whole number of at least 1 and at most 2147483647"),
        ("session.timeout.ms", "9" * 5_000, "session.timeout.ms: expects a whole number of at least 1 and at most 2147483647"),
        ("linger.ms", "901", "linger.ms: expects a whole number of at least 0 and at most 900"),
        ("enable.idempotence", "yes", "enable.idempotence: expects true or false"),
        ("sticky.partitioning.linger.ms", "1.6", "sticky.partitioning.linger.ms: expects a number of at most 1.5"),
        ("fetch.error.backoff.ms", "nan", "fetch.error.backoff.ms: expects a number"),
        ("fetch.error.backoff.ms", "1_0", "fetch.error.backoff.ms: expects a number"),
        ("client.rack", "x" * (MAX_VALUE_BYTES + 1), "client.rack: expects at most 1024 bytes"),
    ],
)  # fmt: skip
def test_values_that_are_not_wanted_are_refused_with_what_is(judge, key, value, text):
    assert say(judge, key, value) == text
    assert not judge.takes(key, value)


def test_a_value_that_looks_like_a_secret_is_refused_and_not_repeated(judge):
    secret = "AKIAIOSFODNN7EXAMPLE"
    text = say(judge, "client.rack", secret)
    assert text.startswith("client.rack: expects no secret, as rule ")
    assert secret not in text


def test_an_unknown_key_is_refused_by_name_and_one_that_is_no_name_is_not(judge):
    text = say(judge, "max.poll.records", "1")
    assert text.startswith(
        "Unknown dynamic client config max.poll.records: this bridge"
    )
    assert "acks, bootstrap.servers" in text
    assert "(no name)" in say(judge, "password = hunter2!", "1")
    assert say(judge, "supported.configs", "x").startswith("Unknown dynamic client")


@pytest.mark.parametrize(
    ("ops", "current", "is_refused"),
    [
        ({"session.timeout.ms": "10", "heartbeat.interval.ms": "9"}, {}, False),
        ({"session.timeout.ms": "10", "heartbeat.interval.ms": "10"}, {}, True),
        ({"heartbeat.interval.ms": "10"}, {"session.timeout.ms": "10"}, True),
        ({"session.timeout.ms": "3"}, {"heartbeat.interval.ms": "3"}, True),
        ({"session.timeout.ms": "3"}, {}, False),
        ({"session.timeout.ms": "3", "heartbeat.interval.ms": None},
         {"heartbeat.interval.ms": "3"}, False),
        ({"acks": "1"}, {"session.timeout.ms": "3", "heartbeat.interval.ms": "3"}, False),
        ({"heartbeat.interval.ms": None},
         {"session.timeout.ms": "3", "heartbeat.interval.ms": "3"}, False),
        ({"heartbeat.interval.ms": "3"}, {"session.timeout.ms": "what"}, False),
    ],
)  # fmt: skip
def test_a_heartbeat_is_sooner_than_the_session_of_its_entity(
    judge, ops, current, is_refused
):
    made = tuple(Op(key, value or "", value is None) for key, value in ops.items())
    refusal, changes = judge.judge(Alteration(U1, made), current)
    if is_refused:
        text = (
            "heartbeat.interval.ms: expects less than the entity's session.timeout.ms"
        )
        assert (refusal.error_code, refusal.message) == (INVALID, text)
    else:
        assert refusal is None
    assert bool(changes) is not is_refused


def test_the_first_bad_key_rejects_its_entity(judge):
    ops = (Op("acks", "1"), Op("acks.", "1"), Op("acks", "2"))
    refusal, changes = judge.judge(Alteration(U1, ops), {})
    assert "Unknown dynamic client config" in refusal.message
    assert changes == {}


def test_a_key_twice_is_refused(judge):
    ops = (Op("acks", "1"), Op("acks", "", True))
    refusal, _ = judge.judge(Alteration(U1, ops), {})
    assert refusal == (INVALID, "Config key acks is there twice")


def test_what_is_so_already_changes_nothing_and_removing_it_is_no_error(judge):
    ops = (Op("acks", "1"), Op("retries", "", True), Op("unheard.of", "", True))
    assert judge.judge(Alteration(U1, ops), {"acks": "1"}) == (None, {})
    gone = judge.judge(Alteration(U1, ops), {"acks": "0", "unheard.of": "x"})
    assert gone == (None, {"acks": "1", "unheard.of": None})
