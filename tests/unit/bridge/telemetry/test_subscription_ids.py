import json
import uuid
from pathlib import Path

import pytest

from pipelines.bridge.core.client_identity import uuid_text
from pipelines.bridge.telemetry.selections import SubscriptionRegistry
from pipelines.bridge.telemetry.subscription_ids import (
    crc32c,
    crc_input,
    order_as_concurrent_map,
    order_as_hash_set,
    string_hash,
    subscription_id,
    uuid_hash,
)
from pipelines.bridge.telemetry.subscriptions import parse_subscription

GOLDEN = Path(__file__).parents[3] / "golden" / "bridge" / "subscription_id.jsonl"
VECTORS = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
A = uuid.UUID("b69cc35a-7a54-4790-aa69-cc2bd4ee4538")
B = uuid.UUID("4e6fb54c-b8e6-4517-889b-e15b99c09c20")
C = uuid.UUID(int=2)


def test_all_vectors_are_there():
    assert len(VECTORS) == 400


@pytest.mark.parametrize("vector", VECTORS, ids=range(len(VECTORS)))
def test_answer_is_that_of_apache_kafka(vector, identity):
    registry = SubscriptionRegistry(
        parse_subscription(
            one["name"], {key: value for key, value in one.items() if key != "name"}
        )
        for one in vector["subscriptions"]
    )
    instance_id = uuid.UUID(vector["uuid_hex"])
    selection = registry.select(identity, instance_id)
    # The one answer that differs on purpose: a prefix that all clients understand.
    wildcard = {("*",): ("",)}
    expected = tuple(vector["requested_metrics"])
    assert selection.requested_metrics == wildcard.get(expected, expected)
    assert selection.push_interval_ms == vector["push_interval_ms"]
    assert selection.checksum == crc32c(vector["crc_input"].encode())
    answered = subscription_id(selection.checksum, instance_id)
    assert answered == vector["subscription_id"]
    assert uuid_hash(instance_id) == vector["uuid_hash"] % 2**32
    assert uuid_text(instance_id) == vector["client_instance_id"]


@pytest.mark.parametrize(
    ("text", "instance_id", "expected"),
    [("[]300000", A, 1720210951), ("[]300000", B, 857069310),
     ("[]300000", C, -725132324), ("[*]60000", A, -1305330742),
     ("[*]60000", C, 8205841), ("[org.apache.kafka.producer.]60000", B, 607729856),
     ("[métrique., 測定.]300000", A, 139426024)],
)  # fmt: skip
def test_worked_examples(text, instance_id, expected):
    assert subscription_id(crc32c(text.encode()), instance_id) == expected


def test_checksum_is_castagnolis():
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"") == 0


def test_checksum_runs_over_javas_text_of_a_set():
    assert crc_input(["b.", "a."], 500) == b"[b., a.]500"
    assert crc_input([], 300_000) == b"[]300000"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("a", 97), ("Aa", 2112), ("BB", 2112), ("😀", 1772899)],
)
def test_string_hash_counts_utf16_units(text, expected):
    assert string_hash(text) == expected


def test_names_that_collide_keep_the_order_of_arrival():
    assert order_as_hash_set([["BB", "Aa"]]) == ["BB", "Aa"]
    assert order_as_hash_set([["Aa"], ["BB", "Aa"]]) == ["Aa", "BB"]


def test_concurrent_map_grows_on_the_twelfth_name_and_a_set_after_it():
    # "0" has 48 and "@" 64: one bucket of 16, two buckets of 32.
    names = ["@", "0", *"abcdefghij"]
    assert order_as_concurrent_map(names[:11])[:2] == ["@", "0"]
    assert order_as_concurrent_map(names)[0] == "@"
    assert order_as_concurrent_map(names).index("0") > 1
    assert order_as_hash_set([names])[:1] == ["@"]
