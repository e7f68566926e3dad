"""What clients produce and fetch, from records of their topic to rows.

Source: docs/reference/topics.md.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from udfs.envelopes.headers import (
    MAX_INT32,
    MAX_TIME_MS,
    MICROS_PER_MS,
    TIME,
)
from udfs.envelopes.readers import read_traffic_envelopes
from udfs.sensitive.client_id_columns import hide_in_batch
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .daily_files import Columns, WrittenPart
from .json_records import RecordTables, read_json_values, write_json_records

MAX_INT16 = 2**15 - 1
MAX_COUNT = 2**48
"""Upper bound of a BIGINT count in one record: 256 TiB in one time window.

Sums of more than 30,000 such counts still fit into BIGINT.
"""
MAX_CONNECTIONS = 2**20
"""Upper bound of connections in one record; sums of 2,000 such counts fit into INT."""
MALFORMED_CLIENT_TRAFFIC = "malformed_client_traffic"
COUNTS: Mapping[str, int] = {
    "produced_bytes": MAX_COUNT,
    "fetched_bytes": MAX_COUNT,
    "produce_requests": MAX_COUNT,
    "fetch_requests": MAX_COUNT,
    "throttle_ms_sum": MAX_COUNT,
    "throttle_ms_max": MAX_INT32,
    "throttled_answers": MAX_COUNT,
    "connections": MAX_CONNECTIONS,
    "produce_throttle_ms_sum": MAX_COUNT,
}
"""Counts of a client at a broker, and the maximum of each in one record."""
_WINDOW: Mapping[str, int] = {"window_start_ms": MAX_TIME_MS, "window_ms": MAX_INT32}
_BROKER: Mapping[str, int] = {"broker_id": MAX_INT32, **COUNTS}
_MOST_OF_API: Mapping[str, int] = {"api_key": MAX_INT16, "api_version": MAX_INT16}
_API_VERSION = pa.struct([("api_key", pa.int32()), ("api_version", pa.int32())])
TRAFFIC_ROW_SCHEMA = pa.schema(
    [
        ("broker_id", pa.int32()),
        ("window_start", TIME),
        ("window_ms", pa.int32()),
        *(
            (name, pa.int32() if greatest <= MAX_INT32 else pa.int64())
            for name, greatest in COUNTS.items()
        ),
        ("api_versions", pa.list_(_API_VERSION)),
    ]
)
"""What a record says of one broker, beside its envelope."""

Read = tuple[dict[str, int], list[dict[str, Any]]]
"""The time of one record, and what it says of each broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficTables(RecordTables):
    """What becomes of records of what clients produce and fetch."""

    max_record_bytes: int
    """Largest value of a record."""


def write_client_traffic(
    batches: Iterator[pa.RecordBatch], tables: TrafficTables
) -> Iterator[WrittenPart]:
    """Decode records, and write those that cannot be used into files of quarantine.

    Args:
        batches: Records, as `envelopes.read_traffic_envelopes` wants them.
        tables: What to write.
    Returns: Parts in the order of the records; pushes has the rows, with the columns
        of the envelope and TRAFFIC_ROW_SCHEMA. The last one has only files.
    Shape: A usable record is as many rows as it names brokers, one at least.
    Nulls: client_id is empty where there is none.
    Errors: NULL_VALUE, TOO_LARGE or MALFORMED_CLIENT_TRAFFIC, or a fault of the
        envelope, in quarantine; never raises for data.
    """
    return write_json_records(
        batches,
        tables,
        read_envelopes=lambda records: _read_envelopes(records, tables.rules),
        read_values=lambda values: read_bodies(values, tables.max_record_bytes),
        make_rows=_make_rows,
    )


def read_bodies(
    bodies: pa.BinaryArray, max_bytes: int
) -> tuple[pa.StringArray, list[Read | None]]:
    """Read the values of many records.

    Args:
        max_bytes: The largest one that is read.
    Returns: Of each a status, OK or what is wrong, and what it says, if it is OK.
    """
    return read_json_values(bodies, max_bytes, _read_said, MALFORMED_CLIENT_TRAFFIC)


def _read_said(said: Any) -> Read | None:  # noqa: ANN401 - whatever JSON holds
    window = _read_numbers(said, _WINDOW)
    brokers = [_read_broker(one) for one in said["brokers"]]
    broker_ids = {one["broker_id"] for one in brokers}
    is_sound = brokers and len(broker_ids) == len(brokers) and window["window_ms"] > 0
    return (window, brokers) if is_sound else None


def _read_broker(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said of one broker; raises as _read_numbers does."""
    versions = [
        _read_numbers(dict(zip(_MOST_OF_API, one, strict=True)), _MOST_OF_API)
        for one in said["api_versions"]
    ]
    return {**_read_numbers(said, _BROKER), "api_versions": versions}


def _read_numbers(said: Mapping[str, Any], names: Mapping[str, int]) -> dict[str, int]:
    """Return some numbers.

    Raises: KeyError, TypeError, ValueError where one is missing or out of range.
    """
    numbers = {name: said[name] for name in names}
    for name, number in numbers.items():
        if type(number) is not int or not 0 <= number <= names[name]:
            raise ValueError(name)
    return numbers


def _read_envelopes(
    records: pa.RecordBatch, rules: SensitiveKeyRules
) -> pa.RecordBatch:
    batch, _ = hide_in_batch(read_traffic_envelopes(records), rules)
    place = batch.schema.get_field_index("client_id")
    client_ids = pc.fill_null(batch.column(place), "")
    return batch.set_column(place, "client_id", client_ids)


def _make_rows(columns: Columns, read: list[Read | None]) -> pa.RecordBatch:
    """Return a row for each broker that a record names."""
    rows = [
        (place, {**one[0], **broker})
        for place, one in enumerate(read)
        if one is not None
        for broker in one[1]
    ]
    of_record = pa.array([place for place, _ in rows], pa.int64())
    made = {
        name: column.take(of_record)
        for name, column in columns.items()
        if name != "body"
    }
    starts = pa.array([said["window_start_ms"] for _, said in rows], pa.int64())
    made["window_start"] = pc.multiply(starts, MICROS_PER_MS).cast(TIME)
    for field in TRAFFIC_ROW_SCHEMA:
        if field.name not in made:
            numbers = [said[field.name] for _, said in rows]
            made[field.name] = pa.array(numbers, field.type)
    return pa.RecordBatch.from_arrays(list(made.values()), names=list(made))
