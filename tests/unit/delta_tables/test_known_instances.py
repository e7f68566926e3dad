"""What is known of client_instances is what one version of the table says."""

from datetime import UTC, datetime

import pyarrow as pa

from pipelines.jobs.telemetry.instances import KnownInstances
from pipelines.jobs.telemetry.steps import PUSH_COLUMNS
from pipelines.tables.telemetry import CLIENT_INSTANCES

TIME = pa.timestamp("us", "UTC")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
KINDS = {
    "first_seen": TIME,
    "terminated_at": TIME,
    "received_at": TIME,
    "push_interval_ms": pa.int32(),
    "point_count": pa.int32(),
    "terminating": pa.bool_(),
    "broker_id": pa.int32(),
}
VALUES = {
    "first_seen": NOON,
    "terminated_at": None,
    "received_at": NOON,
    "push_interval_ms": 1000,
    "point_count": 1,
    "terminating": False,
    "broker_id": 1,
}


def make_table(names, instances, **fields):
    schema = pa.schema([(name, KINDS.get(name, pa.string())) for name in names])
    rows = [
        {name: VALUES.get(name, "x") for name in names}
        | {"client_instance_id": instance}
        | fields
        for instance in instances
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def pushes(*instances, **fields):
    return make_table(PUSH_COLUMNS, instances, **fields)


def rows(*instances, **fields):
    return make_table(CLIENT_INSTANCES.column_names, instances, **fields)


def candidates(known, version, *instances, **fields):
    found = known.select_candidates(pushes(*instances, **fields), version)
    return found["client_instance_id"].to_pylist()


def test_only_what_is_not_known_or_differs_is_compared():
    known = KnownInstances()
    assert candidates(known, 3, "i", "j") == ["i", "j"]
    known.remember(rows("i", "j"), 3)
    assert candidates(known, 3, "i", "j", "k") == ["k"]
    assert candidates(known, 3, "i", principal="y") == ["i"]
    assert candidates(known, 3, "i", client_type=None, point_count=0) == []


def test_another_version_of_the_table_is_not_known():
    known = KnownInstances()
    known.remember(rows("i"), 3)
    assert candidates(known, 4, "i") == ["i"]
    assert candidates(known, 3, "i") == ["i"]


def test_a_row_that_was_merged_replaces_the_one_that_was_known():
    known = KnownInstances()
    known.remember(rows("i", "j"), 3)
    known.remember(rows("i", principal="y"), 4)
    assert len(known) == 2
    assert candidates(known, 4, "i", "j") == ["i"]
    assert candidates(known, 4, "i", principal="y") == []


def test_no_more_is_known_than_there_is_room_for():
    known = KnownInstances(max_rows=2)
    known.remember(rows("i", "j"), 3)
    known.remember(rows("k"), 3)
    assert len(known) == 2
    assert candidates(known, 3, "i", "j", "k") == ["i"]
    known.remember(rows("l", "m", "n"), 3)
    assert len(known) == 2
    assert candidates(known, 3, "l", "m", "n") == ["l"]
