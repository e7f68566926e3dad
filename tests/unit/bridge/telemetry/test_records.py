import dataclasses
import re
import uuid

import pytest

from pipelines.bridge.core.records import (
    ConnectionHeaders,
    PushIds,
    Record,
    allowed_bytes,
    identity_headers,
    max_record_bytes,
)
from pipelines.bridge.telemetry.records import make_record
from pipelines.bridge.telemetry.rules import ClientInstance
from pipelines.bridge.telemetry.selections import Selection
from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.rules import make_sensitive_key_rules
from udfs.sensitive.redacted_keys import REDACTED, Violation

RULES = make_sensitive_key_rules(
    load_settings("base").sensitive_keys, load_config_catalogs()
)
NOW = 1_700_000_000_123


@pytest.fixture
def instance(identity):
    selection = Selection(requested_metrics=(), push_interval_ms=5_000, checksum=0)
    return ClientInstance(
        identity=identity, selection=selection, subscription_id=-9,
        subscription_version=1,
    )  # fmt: skip


def test_record_has_every_header_as_text(identity, instance, instance_id, push_request):
    record = make_record(
        push_request(instance_id, -9, compression_type=4, terminating=True),
        instance,
        connection_headers=identity_headers(identity, "bridge-1", RULES),
        push_id=b"push-1",
        received_at_ms=NOW,
    )
    assert record.key == b"tpzDWnpUR5Cqacwr1O5FOA"
    assert record.value == b"abc"
    assert record.timestamp_ms == NOW
    assert dict(record.headers) == {
        "client_instance_id": b"tpzDWnpUR5Cqacwr1O5FOA",
        "client_id": b"producer-1",
        "client_software_name": b"apache-kafka-java",
        "client_software_version": b"3.5.2",
        "principal": b"User:ANONYMOUS",
        "listener": b"PLAINTEXT",
        "client_source_address": b"127.0.0.1",
        "client_source_port": b"50123",
        "bridge_id": b"bridge-1",
        "received_at_ms": b"1700000000123",
        "push_id": b"push-1",
        "subscription_id": b"-9",
        "push_interval_ms": b"5000",
        "compression_type": b"zstd",
        "terminating": b"true",
    }
    assert len(record.headers) == 15


def test_record_says_which_cluster_and_broker_the_connection_is_for(identity):
    client = dataclasses.replace(identity, broker_id=0)
    made = identity_headers(client, "b", RULES, "4L6g3nShT-eMCtK--X86sw")
    unknown = identity_headers(identity, "b", RULES)
    added = {
        "cluster_id": b"4L6g3nShT-eMCtK--X86sw",
        "broker_id": b"0",
        "bridge_id": b"b",
    }
    assert dict(made.headers) == dict(unknown.headers) | added
    assert dict(unknown.headers).keys() & {"cluster_id", "broker_id"} == set()


def test_record_has_each_field_also_where_its_constructor_is_left_out(
    identity, instance, instance_id, push_request
):
    record = make_record(
        push_request(instance_id, -9),
        instance,
        connection_headers=identity_headers(identity, "bridge-1", RULES),
        push_id=b"push-1",
        received_at_ms=NOW,
    )
    assert record == Record(*record[:5])
    assert len(record) == len(Record._fields)


@pytest.mark.parametrize(
    ("client_id", "expected"), [(None, None), ("", b""), ("ä", "ä".encode())]
)
def test_null_client_id_has_no_header_and_an_empty_one_has(
    identity, client_id, expected
):
    client = dataclasses.replace(identity, client_id=client_id)
    made = identity_headers(client, "b", RULES)
    assert dict(made.headers).get("client_id") == expected
    assert (made.client_id, made.violations) == (client_id, ())


@pytest.mark.parametrize(
    ("client_id", "rule"),
    [
        ("svc;password=hunter2", "named-secret-value"),
        ("https://u:hunter2@h", "url-value"),
    ],
)
def test_a_client_id_that_looks_like_a_secret_is_not_written(identity, client_id, rule):
    client = dataclasses.replace(identity, client_id=client_id)
    made = identity_headers(client, "b", RULES)
    assert dict(made.headers)["client_id"] == b"(redacted)"
    assert "hunter2" not in repr(made)
    assert made.violations == (Violation("client.id", rule, REDACTED),)


@pytest.mark.parametrize(
    ("number", "name"),
    [(0, b"none"), (1, b"gzip"), (2, b"snappy"), (3, b"lz4"), (4, b"zstd")],
)
def test_codec_has_kafkas_name(instance, instance_id, push_request, number, name):
    record = make_record(
        push_request(instance_id, compression_type=number, metrics=b""),
        instance,
        connection_headers=ConnectionHeaders((), 0),
        push_id=b"",
        received_at_ms=NOW,
    )
    assert dict(record.headers)["compression_type"] == name
    assert dict(record.headers)["terminating"] == b"false"
    assert record.value == b""


def test_size_covers_the_record_and_leaves_room(instance, instance_id, push_request):
    record = make_record(
        push_request(instance_id, metrics=bytes(1_000)), instance,
        connection_headers=ConnectionHeaders((("name", bytes(50)),), 54), push_id=b"", received_at_ms=NOW,
    )  # fmt: skip
    assert 1_000 + 22 + 54 < record.size_bytes < max_record_bytes(1_000)


def test_push_ids_are_uuids_of_version_7():
    made = uuid.UUID(PushIds(lambda bits: 2**bits - 1).make(NOW).decode())
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == NOW


def test_push_ids_grow_within_a_millisecond_and_when_the_clock_steps_back():
    make = PushIds(lambda _bits: 0).make
    times = [NOW] * 5_000 + [NOW - 60_000] * 5_000 + [NOW + 1, NOW + 10_000]
    made = [make(one) for one in times]
    assert made == sorted(set(made))


def test_push_ids_of_two_bridges_differ_by_their_random_part():
    first, second = PushIds(lambda _bits: 1), PushIds(lambda _bits: 2)
    assert first.make(NOW) != second.make(NOW)


LONG = 2**15 - 1


def test_all_headers_together_are_bounded_however_long_a_client_says_it_is(
    identity, instance, instance_id, push_request
):
    client = dataclasses.replace(
        identity,
        client_id="i" * LONG,
        client_software_name="n" * LONG,
        client_software_version="v" * LONG,
        principal="User:" + "ü" * LONG,
        listener="l" * LONG,
        broker_id=2**31 - 1,
    )
    record = make_record(
        push_request(instance_id, -9),
        instance,
        connection_headers=identity_headers(client, "b" * LONG, RULES, "c" * LONG),
        push_id=bytes(36),
        received_at_ms=NOW,
    )
    assert sum(len(name) + len(value) for name, value in record.headers) < 2_000
    for name, value in record.headers:
        text = value.decode()
        if name == "client_software_version":
            assert text.startswith("vvv")
            assert text.endswith(", 32767 bytes)")


@pytest.mark.parametrize(
    "field",
    ["client_id", "client_software_name", "client_software_version", "principal"],
)
def test_clients_that_differ_far_behind_have_different_headers(identity, field):
    made = {
        dict(identity_headers(one, "b", RULES).headers)[field]
        for end in ("a", "b", "")
        for one in [dataclasses.replace(identity, **{field: "x" * 5_000 + end})]
    }
    assert len(made) == 3


def test_of_a_long_client_id_that_hides_nothing_is_written(identity):
    secret = "a" * 5_000 + " password=hunter2"
    made = identity_headers(dataclasses.replace(identity, client_id=secret), "b", RULES)
    assert dict(made.headers)["client_id"] == b"(redacted)"
    assert "sha256" not in repr(made)


def test_a_client_id_that_is_not_looked_through_is_its_hash_alone(identity):
    made = [
        identity_headers(dataclasses.replace(identity, client_id=one), "b", RULES)
        for end in ("a", "b")
        for one in ["\u00fc" * 1_100 + end]
    ]
    written = [dict(one.headers)["client_id"].decode() for one in made]
    assert written == [one.client_id for one in made]
    assert len(set(written)) == 2
    assert all(
        re.fullmatch(r"\.\.\.\(sha256:[0-9a-f]{32}, 2201 bytes\)", one)
        for one in written
    )
    assert [one.violations for one in made] == [(), ()]


BEFORE_METRICS = 40
"""Bytes of a push beside its client id and its metrics."""
A_BATCH = 61 + 10
"""Of a batch with one record, and the fields of that beside its texts."""


@pytest.mark.parametrize("characters", [0, 1, 85, 128, 256, 257, 30_000])
@pytest.mark.parametrize("character", ["a", "\ufffd"])
def test_a_push_takes_twice_its_bytes_and_little_more_whoever_sends_it(
    identity, instance, instance_id, push_request, character, characters
):
    """A byte that is no UTF-8 has come as one and is written as three."""
    client = dataclasses.replace(
        identity,
        client_id=character * characters,
        client_software_name="n" * LONG,
        client_software_version="v" * LONG,
        principal="User:" + "p" * LONG,
        client_source_address="2001:1db8:1000:2000:3000:4000:5000:6000",
        broker_id=2**31 - 1,
    )
    record = make_record(
        push_request(instance_id, -(2**31), compression_type=2, metrics=b""),
        instance,
        connection_headers=identity_headers(client, "bridge-1", RULES, "c" * LONG),
        push_id=bytes(36),
        received_at_ms=NOW,
    )
    # Each length takes one byte, or two from 64 on.
    headers = sum(
        len(name) + len(value) + 2 + (len(value) >= 64)
        for name, value in record.headers
    )
    kept = len(record.key) + headers + A_BATCH
    assert kept <= allowed_bytes(BEFORE_METRICS + characters)
