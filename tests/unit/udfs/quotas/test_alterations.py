"""Changes of quotas, in Kafka's words."""

import pytest

from tests.support.quotas.quota_rows import entity_batch
from udfs.quotas import (
    QUOTA_KEYS,
    Alteration,
    QuotaEntity,
    alter_quotas,
    judge_alteration,
    parse_entity_path,
    write_entity_paths,
)

PRODUCE, CONSUME, PERCENTAGE, MUTATION, CONNECTION = QUOTA_KEYS
COMBINATION = (
    "Invalid quota entity combination, IP entity shouldnot be combined with User or "
    "ClientId"
)
REFUSED = (
    ("users/a", "bad", 1.0, "Invalid configuration key bad"),
    ("users/a", CONNECTION, 1.0, f"Invalid configuration key {CONNECTION}"),
    ("ips/10.0.0.1", PRODUCE, 1.0, f"Invalid configuration key {PRODUCE}"),
    ("users/a", PRODUCE, 0.0, f"Quota {PRODUCE} must be greater than 0"),
    ("users/a", PERCENTAGE, -0.5, f"Quota {PERCENTAGE} must be greater than 0"),
    ("users/a", PRODUCE, 1.5, f"{PRODUCE} cannot be a fractional value."),
    ("ips/<default>", CONNECTION, 0.5, f"{CONNECTION} cannot be a fractional value."),
    (
        *("ips/<default>", CONNECTION, 2.0**31),
        f"Proposed value for {CONNECTION} is too large for an INT.",
    ),
    (
        *("users/a", CONSUME, 1e30),
        f"Proposed value for {CONSUME} is too large for a LONG.",
    ),
    ("users/a/ips/10.0.0.1", CONNECTION, 1.0, COMBINATION),
    (
        *("ips/no.such.host.invalid", CONNECTION, 1.0),
        "no.such.host.invalid is not a valid IP or resolvable host.",
    ),
    ("users/", PRODUCE, 1.0, "Empty user not supported"),
    ("clients/", PRODUCE, None, "Empty client-id not supported"),
)
TAKEN = (
    ("users/a", PRODUCE, 1.0),
    ("users/a", PRODUCE, 2.0000001),
    ("users/a", PERCENTAGE, 0.5),
    ("clients/<default>", MUTATION, 0.001),
    ("users/a", "bad", None),
    ("ips/::1", CONNECTION, 2.0**31 - 1),
    ("ips/<default>", CONNECTION, 1.0),
)


def alteration(path, key, value):
    entity = parse_entity_path(path)
    return Alteration(entity=entity, quota_key=key, quota_value=value)


@pytest.mark.parametrize(("path", "key", "value", "text"), REFUSED)
def test_what_kafka_refuses_is_refused_in_its_words(path, key, value, text):
    one = alteration(path, key, value)
    assert judge_alteration(one, is_resolvable=lambda _: False) == text


@pytest.mark.parametrize(("path", "key", "value"), TAKEN)
def test_what_kafka_takes_is_taken(path, key, value):
    one = alteration(path, key, value)
    assert judge_alteration(one, is_resolvable=lambda _: False) is None


def test_a_host_that_has_an_address_is_taken():
    one = alteration("ips/localhost", CONNECTION, 1.0)
    assert judge_alteration(one, is_resolvable=lambda name: name == "localhost") is None


def test_nobody_has_no_quota():
    one = Alteration(entity=QuotaEntity(parts=()), quota_key=PRODUCE, quota_value=1.0)
    refusal = judge_alteration(one, is_resolvable=lambda _: False)
    assert refusal == "Invalid empty client quota entity"


def test_quotas_are_set_replaced_and_removed():
    before = entity_batch(
        [("users/a", {PRODUCE: 1, CONSUME: 2}), ("clients/<default>", 3)]
    )
    after = alter_quotas(
        before,
        [
            alteration("users/a", PRODUCE, 4.0),
            alteration("clients/<default>", PRODUCE, None),
            alteration("clients/x", PRODUCE, None),
            alteration("users/<default>/clients/c", PERCENTAGE, 9.0),
            alteration("users/<default>/clients/c", PERCENTAGE, 5.0),
        ],
    )
    paths = write_entity_paths(after).to_pylist()
    rows = [(row["quota_key"], row["quota_value"]) for row in after.to_pylist()]
    assert dict(zip(paths, rows, strict=True)) | {"users/a": None} == {
        "users/a": None,
        "users/<default>/clients/c": (PERCENTAGE, 5.0),
    }
    assert sorted(rows) == [(CONSUME, 2.0), (PRODUCE, 4.0), (PERCENTAGE, 5.0)]
