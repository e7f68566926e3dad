"""Records of what clients produce and fetch become rows, or rows of quarantine."""

import json
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from pipelines.bridge.proxy.frames import traffic as bridge_traffic
from pipelines.bridge.proxy.frames.traffic import TrafficCounts
from pipelines.bridge.proxy.wire.traffic import write_traffic
from pipelines.delta_tables.layouts import layout_of
from pipelines.jobs.traffic.job import NOT_HERE
from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.rules import make_sensitive_key_rules
from pipelines.tables.telemetry import QUARANTINE
from udfs.envelopes.readers import RECORD_SCHEMA
from udfs.files.client_traffic_files import (
    COUNTS,
    MALFORMED_CLIENT_TRAFFIC,
    TrafficTables,
    read_bodies,
    write_client_traffic,
)

RULES = make_sensitive_key_rules(
    load_settings("base").sensitive_keys, load_config_catalogs()
)
NOW_MS = 1_767_225_660_000
HEADERS = {
    "client_id": "orders",
    "client_software_name": "apache-kafka-java",
    "client_software_version": "4.3.1",
    "principal": "User:alice",
    "bridge_id": "bridge-1",
    "cluster_id": "cluster-1",
    "received_at_ms": str(NOW_MS),
    "push_id": "push-1",
    "redacted_keys": "",
}


def make_value(*broker_ids, **numbers):
    counts = TrafficCounts()
    for name, number in numbers.items():
        setattr(counts, name, number)
    of_brokers = {broker_id: (counts, {7, 8}) for broker_id in broker_ids}
    return write_traffic(of_brokers, NOW_MS - 60_000, 60_000)


def as_row(value, offset=0, **changes):
    headers = {k: v for k, v in {**HEADERS, **changes}.items() if v is not None}
    return {
        "topic": "traffic",
        "partition": 0,
        "offset": offset,
        "timestamp": datetime(2026, 1, 1, tzinfo=UTC),
        "value": value,
        "headers": [{"key": k, "value": v.encode()} for k, v in headers.items()],
    }


def decode(*rows):
    """Return the rows of records, and how many rows quarantine got."""
    tables = TrafficTables(
        quarantine=layout_of(QUARANTINE, without=NOT_HERE),
        quarantine_floors={},
        source_job="job",
        max_record_bytes=10_000,
        rules=RULES,
    )
    batch = pa.RecordBatch.from_pylist(list(rows), schema=RECORD_SCHEMA)
    parts = list(write_client_traffic(iter([batch]), tables))
    assert sum(part.records for part in parts) == len(rows)
    rejected = sum(file.row_count for part in parts for file in part.files)
    return parts[0].pushes.to_pylist(), rejected


def test_a_record_is_a_row_for_each_broker():
    value = make_value(1, 2, produced_bytes=2**40, throttle_ms_max=9)
    rows, rejected = decode(as_row(value), as_row(value, 1, client_id=None))
    assert rejected == 0
    assert [(one["client_id"], one["broker_id"]) for one in rows] == [
        ("orders", 1), ("orders", 2), ("", 1), ("", 2),
    ]  # fmt: skip
    row = rows[0]
    assert row["window_start"] == datetime(2026, 1, 1, tzinfo=UTC)
    assert (row["window_ms"], row["connections"]) == (60_000, 2)
    assert (row["produced_bytes"], row["throttle_ms_max"]) == (2**40, 9)
    assert row["cluster_id"] == "cluster-1"
    assert COUNTS.keys() <= row.keys()


def test_what_the_bridge_counts_is_what_is_read():
    assert {*bridge_traffic.COUNTS, "connections"} == COUNTS.keys()


def test_api_versions_are_read_and_may_be_empty():
    told = [changed(api_versions=one) for one in ([[0, 9], [1, 11]], [])]
    rows, _ = decode(*(as_row(one, place) for place, one in enumerate(told)))
    assert [one["api_versions"] for one in rows] == [
        [
            {"api_key": 0, "api_version": 9},
            {"api_key": 1, "api_version": 11},
        ],
        [],
    ]


def changed(**changes):
    """Return a value with other numbers of its broker, or of its time."""
    said = json.loads(make_value(1))
    for name, value in changes.items():
        (said if name in said else said["brokers"][0])[name] = value
    return json.dumps(said).encode()


@pytest.mark.parametrize(
    "value",
    [
        *(b"", b"{}", b"[]", b"1", b"\xff", b"[" * 9_000),
        changed(brokers=[]),
        changed(brokers={}),
        changed(brokers=[1]),
        changed(window_ms=0),
        changed(window_ms=2**31),
        changed(window_ms="60000"),
        changed(window_start_ms=-1),
        changed(window_start_ms=10**18),
        changed(broker_id=None),
        changed(broker_id=2**31),
        changed(produced_bytes=-1),
        changed(produced_bytes=2**63),
        changed(produced_bytes=1.5),
        changed(produced_bytes=True),
        changed(connections=2**31),
        # Two of each would not fit into the table's type.
        changed(produced_bytes=2**63 - 1),
        changed(throttle_ms_sum=2**63 - 1),
        changed(connections=2**31 - 1),
        *(
            changed(api_versions=one)
            for one in (None, 7, [7], [[0]], [[0, -1]], [[0, "9"]])
        ),
        changed(api_versions=[[2**15, 0]]),
        changed(brokers=json.loads(make_value(1))["brokers"] * 2),
    ],
)
def test_what_cannot_be_goes_to_quarantine(value):
    statuses, said = read_bodies(pa.array([value], pa.binary()), 10_000)
    assert statuses.to_pylist() == [MALFORMED_CLIENT_TRAFFIC]
    assert said == [None]
    assert decode(as_row(value), as_row(make_value(1), 1))[1] == 1


def test_a_value_that_is_none_or_large_and_one_of_no_cluster_go_there_too():
    values = pa.array([None, make_value(1)], pa.binary())
    assert read_bodies(values, 10)[0].to_pylist() == ["null_value", "too_large"]
    assert decode(as_row(make_value(1), cluster_id=None)) == ([], 1)


def test_a_client_id_that_the_rules_hide_is_not_in_a_row():
    rows, _ = decode(as_row(make_value(1), client_id="password=Fd8x0Kq3vL2"))
    assert [one["client_id"] for one in rows] == ["(redacted)"]
