"""Pushes become rows of three tables, each once and on its day."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.bench.generated_pushes import java_push
from tests.support.spark.telemetry_records import make_headers
from udfs.envelopes import deciding_pushes
from udfs.envelopes.readers import RECORD_SCHEMA
from udfs.files.daily_files import MAX_OPEN_DAYS
from udfs.files.push_files import PushTables, write_pushes
from udfs.files.table_files import TableLayout

PUSH_COLUMNS = (
    *("client_instance_id", "received_at", "push_id"),
    *("client_type", "broker_id", "group_id", "point_count"),
)
BEFORE_MIDNIGHT = datetime(2026, 3, 1, 23, 59, 59, 999000, UTC)
AFTER_MIDNIGHT = datetime(2026, 3, 2, 0, 0, 0, 0, UTC)


def make_layout(table, *columns):
    return TableLayout(
        table=table,
        columns=columns,
        required=frozenset({"topic", "partition", "offset"}),
        statistics=("offset",),
    )


TABLES = PushTables(
    points=make_layout(
        "points",
        *("topic", "partition", "offset", "point_index", "push_id", "metric"),
    ),
    pushes=make_layout(
        "pushes",
        *("topic", "partition", "offset", "push_id", "decode_status", "point_count"),
        *("group_id", "body_bytes", "body"),
    ),
    quarantine=make_layout(
        "quarantine",
        *("topic", "partition", "offset", "source_job", "reason", "detail", "body"),
    ),
    points_floors={},
    quarantine_floors={},
    source_job="job",
    max_decompressed_bytes=1 << 20,
)


def make_batch(*records):
    known = {"topic": "t", "partition": 0, "timestamp": BEFORE_MIDNIGHT}
    rows = []
    for offset, record in enumerate(records):
        push = {"received_at": BEFORE_MIDNIGHT, "push_id": None, **record}
        headers = make_headers(
            push_id=push["push_id"],
            received_at_ms=str(round(push["received_at"].timestamp() * 1000)),
            compression_type="none",
        )
        rows.append(
            known
            | {
                "offset": offset,
                "value": record["body"],
                "headers": [{"key": k, "value": v} for k, v in headers],
            }
        )
    return pa.RecordBatch.from_pylist(rows, schema=RECORD_SCHEMA)


BODIES = [java_push(1, 2), b"", java_push(2, 2)[:-1], java_push(3, 1)]
FAULTY = {"body": b"x"}
BATCH = make_batch(
    {"push_id": "two", "body": BODIES[0]},
    {"push_id": "none", "body": BODIES[1]},
    FAULTY,
    {"push_id": "cut", "body": BODIES[2]},
    {"push_id": "next", "body": BODIES[3], "received_at": AFTER_MIDNIGHT},
)


def run(tables, *batches):
    """Return records, the pushes that decide, and rows by table and day."""
    parts = list(write_pushes(iter(batches), tables, PUSH_COLUMNS))
    written = {}
    for file in (file for part in parts for file in part.files):
        rows = pq.read_table(pa.BufferReader(file.content)).to_pylist()
        assert len(rows) == file.row_count
        written.setdefault((file.table, file.event_date), []).extend(rows)
    assert all(part.deciding is None for part in parts[:-1])
    deciding = parts[-1].deciding
    pushes = [] if deciding is None else deciding.to_pylist()
    return sum(part.records for part in parts), pushes, written


def keys(written, table, *names):
    return {
        day.day: [tuple(row[name] for name in names) for row in rows]
        for (found, day), rows in written.items()
        if found == table
    }


def test_every_table_has_its_rows_on_their_days():
    records, _, written = run(TABLES, BATCH)
    assert records == 5
    assert keys(written, "points", "offset", "point_index", "push_id") == {
        1: [(0, 0, "two"), (0, 1, "two")],
        2: [(4, 0, "next")],
    }
    assert keys(written, "pushes", "offset", "decode_status", "body") == {
        1: [(0, "ok", BODIES[0]), (1, "ok", b""), (3, "truncated_otlp", BODIES[2])],
        2: [(4, "ok", BODIES[3])],
    }
    assert keys(written, "quarantine", "offset", "reason", "source_job") == {
        1: [(2, "missing_header", "job"), (3, "truncated_otlp", "job")]
    }


def test_the_pushes_that_decide_come_back_with_what_was_decoded():
    _, pushes, _ = run(TABLES, BATCH)
    # All are of one client instance; the oldest is the one with the least push_id.
    assert [p["push_id"] for p in pushes] == ["cut", "next"]
    assert [p["point_count"] for p in pushes] == [0, 1]
    assert pushes[1]["group_id"] == "group-3"
    assert all(tuple(push) == PUSH_COLUMNS for push in pushes)


@pytest.mark.parametrize(
    ("floors", "points", "rejected"),
    [
        ({}, [0, 0, 4], [2, 3]),
        ({0: 2}, [4], [3]),
        ({0: 9}, [], []),
        ({1: 9}, [0, 0, 4], [2, 3]),
    ],
    ids=["none", "some are there", "all are there", "another partition"],
)
def test_what_a_table_holds_is_left_out_of_it_alone(floors, points, rejected):
    tables = replace(TABLES, points_floors=floors, quarantine_floors=floors)
    records, pushes, written = run(tables, BATCH)
    found = keys(written, "points", "offset")
    assert sorted(o for rows in found.values() for (o,) in rows) == points
    found = keys(written, "quarantine", "offset")
    assert sorted(o for rows in found.values() for (o,) in rows) == rejected
    assert (records, len(pushes)) == (5, 2)


def test_batches_of_a_task_share_files():
    _, _, written = run(TABLES, BATCH, BATCH)
    assert len(keys(written, "points", "offset")[1]) == 4
    parts = write_pushes(iter([BATCH, BATCH]), TABLES, PUSH_COLUMNS)
    files = [file for part in parts for file in part.files]
    assert len(files) == len(written)


def test_no_records_make_no_files():
    assert run(TABLES, BATCH.slice(0, 0)) == (0, [], {})
    assert run(TABLES) == (0, [], {})


def test_a_record_timestamp_out_of_the_calendar_still_has_a_date():
    """Producers choose timestamps; a partition folder must be a date."""
    micros = pa.array([-1, 300_000_000_000_000_000], pa.int64())
    place = RECORD_SCHEMA.get_field_index("timestamp")
    field = RECORD_SCHEMA.field(place)
    far = make_batch(FAULTY, FAULTY).set_column(place, field, micros.cast(field.type))
    coordinates = ("topic", "partition", "offset", "kafka_timestamp")
    tables = replace(TABLES, quarantine=make_layout("quarantine", *coordinates))
    _, _, written = run(tables, far)
    days = {day for _, day in written}
    assert days == {date(1970, 1, 1), date(9999, 12, 31)}
    kept = [time for rows in keys(written, "quarantine", "kafka_timestamp").values()
            for (time,) in rows]  # fmt: skip
    assert [str(time)[:19] for time in sorted(kept)] == [
        *("1970-01-01 00:00:00", "9999-12-31 23:59:59"),
    ]


def test_a_value_larger_than_any_push_is_rejected_without_it():
    large = bytes(TABLES.max_decompressed_bytes + 1)
    batch = make_batch(
        {"push_id": "large", "body": large}, {"push_id": "b", "body": b""}
    )
    records, _, written = run(TABLES, batch)
    assert records == 2
    assert keys(written, "quarantine", "offset", "reason", "detail", "body") == {
        1: [(0, "value_too_large", "more than 1048576 bytes", None)]
    }
    assert keys(written, "pushes", "push_id") == {1: [("b",)]}


def test_headers_that_are_too_large_are_left_out_and_the_body_is_kept():
    record = make_batch({"push_id": "p" * 70_000, "body": b"body"})
    _, _, written = run(TABLES, record)
    names = ("offset", "reason", "detail", "body")
    assert keys(written, "quarantine", *names) == {
        1: [(0, "headers_too_large", "push_id", b"body")]
    }


def test_memory_is_bounded_over_any_number_of_days():
    days = 2 * MAX_OPEN_DAYS
    batch = make_batch(
        *(
            {
                "push_id": "p",
                "body": b"",
                "received_at": AFTER_MIDNIGHT + timedelta(day),
            }
            for day in range(days)
        )
    )
    parts = list(write_pushes(iter([batch]), TABLES, PUSH_COLUMNS))
    of_parts = [sum(file.row_count for file in part.files) for part in parts]
    assert sum(of_parts) == days
    assert of_parts[-1] <= MAX_OPEN_DAYS


def test_pushes_that_decide_are_handed_on_before_they_are_too_many(monkeypatch):
    monkeypatch.setattr(deciding_pushes, "REDUCE_BYTES", 100)
    batches = [make_batch({"push_id": f"p{n}", "body": b""}) for n in range(3)]
    parts = list(write_pushes(iter(batches), TABLES, PUSH_COLUMNS))
    deciding = [part.deciding for part in parts if part.deciding is not None]
    assert len(deciding) > 1
    told = [row["push_id"] for table in deciding for row in table.to_pylist()]
    assert told == ["p0", "p1", "p2"]
