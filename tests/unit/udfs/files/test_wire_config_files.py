"""Records of configurations seen on the wire become entries, or rows of quarantine."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from pipelines.bridge.core.client_identity import ClientIdentity
from pipelines.bridge.proxy.wire.records import make_wire_config_record
from pipelines.delta_tables.layouts import layout_of
from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.rules import make_sensitive_key_rules
from pipelines.tables.columns import BODY, SUBSCRIPTION, names
from pipelines.tables.telemetry import QUARANTINE
from udfs.configs.wire_keys import WIRE_KEYS
from udfs.envelopes.readers import RECORD_SCHEMA
from udfs.files.wire_config_files import (
    MALFORMED_WIRE_CONFIGS,
    WireTables,
    read_bodies,
    write_wire_configs,
)
from udfs.sensitive.config_key_names import KEYS_SOFTWARE
from udfs.sensitive.sensitive_key_rules import DROP, REDACT, SensitiveKeyRule
from udfs.sensitive.sensitive_keys import compile_rules

CATALOGS = load_config_catalogs()
BASE = load_settings("base").sensitive_keys
RULES = make_sensitive_key_rules(BASE, CATALOGS)
NOW_MS = 1_767_225_600_000
IDENTITY = ClientIdentity(
    client_id="orders",
    client_software_name="unheard-of",
    client_software_version="1",
    principal="User:alice",
    listener="PROXY",
    client_source_address="10.0.0.7",
    client_source_port=5_000,
)
CONFIGS = {"acks": "all", "group.id": "g", "fetch.min.bytes": "3", "batch.size": "512"}


def hiding(action, key="group.id"):
    """Return rules that hide a key."""
    rule = SensitiveKeyRule(name="ours", keys=(key,), action=action)
    return compile_rules([rule], {KEYS_SOFTWARE: {}})


def make_record(configs=CONFIGS, *, rules=RULES, identity=IDENTITY):
    return make_wire_config_record(
        configs,
        client_type="consumer",
        identity=identity,
        rules=rules,
        topic="wire",
        bridge_id="b",
        push_id=b"push-1",
        received_at_ms=NOW_MS,
    )


def as_row(record, offset=0, **changes):
    """Return what Spark reads of a record."""
    headers = {**dict(record.headers), **changes}
    return {
        "topic": "wire",
        "partition": 0,
        "offset": offset,
        "timestamp": datetime(2026, 1, 1, tzinfo=UTC),
        "value": record.value,
        "headers": [
            {"key": k, "value": v} for k, v in headers.items() if v is not None
        ],
    }


def decode(*rows, rules=RULES, floors=None):
    """Return the entries of records, and how many rows quarantine got."""
    not_here = {BODY.name, "client_instance_id", *names(SUBSCRIPTION)}
    tables = WireTables(
        quarantine=layout_of(QUARANTINE, without=not_here),
        quarantine_floors=floors or {},
        source_job="job",
        max_config_bytes=10_000,
        rules=rules,
    )
    batch = pa.RecordBatch.from_pylist(list(rows), schema=RECORD_SCHEMA)
    parts = list(write_wire_configs(iter([batch]), tables))
    assert sum(part.records for part in parts) == len(rows)
    rejected = sum(file.row_count for part in parts for file in part.files)
    return parts[0].pushes.to_pylist(), rejected


def test_a_record_says_who_it_is_about_and_what_was_seen():
    record = make_record()
    assert record.key == b"User:alice/orders/10.0.0.7"
    assert json.loads(record.value) == {"client_type": "consumer", "configs": CONFIGS}
    headers = dict(record.headers)
    assert "client_instance_id" not in headers
    assert headers["principal"] == b"User:alice"
    assert headers["redacted_keys"] == b""
    assert record.size_bytes > len(record.value)


def test_every_key_may_be_written_by_the_rules_of_the_product():
    configs = dict.fromkeys(WIRE_KEYS, "x") | {
        "partition.assignment.strategy": "range,cooperative-sticky"
    }
    record = make_record(configs)
    assert json.loads(record.value)["configs"] == configs
    assert dict(record.headers)["redacted_keys"] == b""


@pytest.mark.parametrize("action", [REDACT, DROP])
def test_what_a_rule_hides_is_in_no_record_and_named(action):
    record = make_record(rules=hiding(action))
    expected = {key: value for key, value in CONFIGS.items() if key != "group.id"}
    if action == REDACT:
        expected["group.id"] = None
    assert json.loads(record.value)["configs"] == expected
    done = b"redacted" if action == REDACT else b"dropped"
    expected = b'{"v":1,"%s":{"ours":["group.id"]}}' % done
    assert dict(record.headers)["redactions"] == expected
    assert dict(record.headers)["redacted_keys"] == b"group.id"


def test_a_value_that_looks_like_a_secret_is_hidden():
    record = make_record({"group.id": "password=hunter2"})
    assert b"hunter2" not in record.value


def test_a_client_id_that_looks_like_a_secret_is_not_written():
    client = replace(IDENTITY, client_id="svc;password=hunter2")
    record = make_record(identity=client)
    assert record.key == b"User:alice/(redacted)/10.0.0.7"
    assert dict(record.headers)["client_id"] == b"(redacted)"
    named = b'{"v":1,"redacted":{"named-secret-value":["client.id"]}}'
    assert dict(record.headers)["redactions"] == named
    assert "hunter2" not in repr(record)


def test_client_id_that_a_bridge_with_other_rules_let_through_is_hidden():
    hidden = as_row(make_record(), client_id=b"svc;password=hunter2")
    also = as_row(make_record(), 1, client_id=b"(redacted)")
    entries, _ = decode(hidden, also)
    assert "hunter2" not in repr(entries)
    assert {one["client_id"] for one in entries} == {"(redacted)"}
    # No hash of it either.
    assert len({one["logical_client"] for one in entries}) == 1
    assert len({one["wire_client"] for one in entries}) == 1


def test_entries_are_rows_with_types_and_other_names():
    entries, rejected = decode(as_row(make_record()))
    assert not rejected
    by_key = {one["config_key"]: one for one in entries}
    assert {key: one["config_value"] for key, one in by_key.items()} == CONFIGS
    assert by_key["fetch.min.bytes"]["config_type"] == "INT"
    assert by_key["acks"]["other_names"] == ["request.required.acks"]
    assert by_key["acks"]["is_exact"]
    assert not by_key["batch.size"]["is_exact"]
    assert {one["client_type"] for one in entries} == {"consumer"}
    assert len({one["wire_client"] for one in entries}) == 1
    assert by_key["acks"]["push_id"] == "push-1"


def test_a_codec_that_was_seen_is_exact_and_none_is_not():
    rows = [
        as_row(make_record({"compression.type": codec}), offset)
        for offset, codec in enumerate(("none", "zstd"))
    ]
    entries, _ = decode(*rows)
    seen = {one["config_value"]: one["is_exact"] for one in entries}
    assert seen == {"none": False, "zstd": True}


@pytest.mark.parametrize(
    ("software", "is_exact"),
    [
        *((name, True) for name in ("apache-kafka-java", "librdkafka", "kafka-python")),
        ("confluent-kafka-python", True),
        *(
            (name, False)
            for name in ("aiokafka", "kgo", "sarama", "kafkajs", "unknown")
        ),
    ],
)
def test_max_poll_interval_is_exact_only_for_software_that_sends_it(software, is_exact):
    # JoinGroup contains a rebalance timeout; other software has a config for that.
    identity = replace(IDENTITY, client_software_name=software)
    configs = {"max.poll.interval.ms": "10000", "session.timeout.ms": "9000"}
    entries, _ = decode(as_row(make_record(configs, identity=identity)))
    by_key = {one["config_key"]: one["is_exact"] for one in entries}
    assert by_key == {"max.poll.interval.ms": is_exact, "session.timeout.ms": True}


def test_a_client_without_an_id_is_another_one():
    nobody = as_row(make_record(), client_id=None)
    entries, rejected = decode(as_row(make_record()), nobody)
    assert not rejected
    assert len({one["wire_client"] for one in entries}) == 2


def test_a_producer_and_a_consumer_of_one_client_id_are_two():
    record = make_record()
    producer = record._replace(value=record.value.replace(b"consumer", b"producer"))
    entries, rejected = decode(as_row(record), as_row(producer))
    assert not rejected
    assert len({one["wire_client"] for one in entries}) == 2


@pytest.mark.parametrize("action", [REDACT, DROP])
def test_a_stricter_rule_of_the_job_holds(action):
    entries, _ = decode(as_row(make_record()), rules=hiding(action))
    values = {one["config_key"]: one["config_value"] for one in entries}
    assert ("group.id" in values) == (action == REDACT)
    assert values.get("group.id") is None
    assert values["acks"] == "all"


def test_a_key_of_a_newer_bridge_is_judged_as_a_custom_one():
    value = {"client_type": "producer", "configs": {"new.key": "x", "acks": "1"}}
    row = as_row(make_record()) | {"value": json.dumps(value).encode()}
    entries, rejected = decode(row)
    assert not rejected
    values = {one["config_key"]: one["config_value"] for one in entries}
    assert values == {"new.key": None, "acks": "1"}


def test_no_records_and_no_entries_are_no_rows():
    assert decode() == ([], 0)
    assert decode(as_row(make_record({}))) == ([], 0)


BAD = [
    b"", b"[]", b"7", b"null", b"{}", b'{"client_type":"consumer"}', b"\xff", b"[" * 9_000,
    b'{"client_type":"admin","configs":{}}', b'{"client_type":["x"],"configs":{}}',
    b'{"client_type":"consumer","configs":[]}',
    b'{"client_type":"consumer","configs":{"acks":1}}',
    b'{"client_type":"consumer","configs":{"acks":["1"]}}',
    b'{"client_type":"consumer","configs":{"acks":"\\ud800"}}',
    b'{"client_type":"consumer","configs":{"\\ud800":null}}',
]  # fmt: skip


@pytest.mark.parametrize("body", BAD)
def test_what_is_no_record_goes_to_quarantine_and_harms_no_neighbour(body):
    statuses, read = read_bodies(pa.array([body], pa.binary()), 10_000)
    assert statuses.to_pylist() == [MALFORMED_WIRE_CONFIGS]
    assert read == [None]
    entries, rejected = decode(
        as_row(make_record({"acks": "1"})),
        as_row(make_record(), 1) | {"value": body},
        as_row(make_record({"acks": "0"}), 2),
    )
    assert [one["config_value"] for one in entries] == ["1", "0"]
    assert rejected == 1


def test_each_fault_has_its_reason():
    bodies = pa.array([b"x" * 10_001, None, make_record().value], pa.binary())
    statuses, read = read_bodies(bodies, 10_000)
    assert statuses.to_pylist() == ["too_large", "null_value", "ok"]
    assert read[2] == ("consumer", CONFIGS)


def test_what_quarantine_has_is_not_written_again():
    rows = [as_row(make_record(), offset, principal=None) for offset in (4, 5, 6)]
    assert decode(*rows, floors={0: 5}) == ([], 1)
