"""Records of several bridges, and of one that restarted, as one row per time window.

A record that arrives twice counts once: each row lists the push_ids of its records.
The same sums as `pipelines.reading.traffic_sums`, without a Spark plan: a micro-batch
has some thousand records.
"""

from collections.abc import Iterable
from typing import Any

from pipelines.tables.traffic import CLIENT_TRAFFIC

Row = dict[str, Any]

KEY = CLIENT_TRAFFIC.merge_key
RECORD_COLUMNS = (
    *(name for name in CLIENT_TRAFFIC.column_names if name != "push_ids"),
    "push_id",
)
"""Columns of each record and broker."""
_GREATEST = ("window_ms", "throttle_ms_max")
_MAX_BY_TYPE = {"INT": 2**31 - 1, "BIGINT": 2**63 - 1}
_SUMMED = (
    *("produced_bytes", "fetched_bytes", "produce_requests", "fetch_requests"),
    *("throttle_ms_sum", "throttled_answers", "connections"),
    "produce_throttle_ms_sum",
)
_LIMITS = {
    column.name: _MAX_BY_TYPE[column.sql_type]
    for column in CLIENT_TRAFFIC.columns
    if column.name in _SUMMED
}
_NEWEST = (
    *("client_software_name", "client_software_version", "received_at"),
    *("topic", "partition", "offset"),
)
_NEWEST_BY = ("received_at", "partition", "offset")


def fold(records: Iterable[Row], known: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """Add records to the rows of their client, broker and time window.

    Args:
        records: RECORD_COLUMNS.
        known: Rows of client_traffic that have one of the records' keys.

    Returns:
        New rows and changed rows, whole.
    """
    stored = {_key(row): row for row in known}
    rows = dict(stored)
    touched = set()
    for record in records:
        key, push_id = _key(record), record["push_id"]
        row = {name: record[name] for name in RECORD_COLUMNS[:-1]}
        row["push_ids"] = [push_id]
        row["api_versions"] = _gather(record["api_versions"])
        if key in rows:
            if push_id in rows[key]["push_ids"]:
                continue
            row = _add(rows[key], row)
        rows[key] = row
        touched.add(key)
    new = [rows[key] for key in touched if key not in stored]
    return new, [rows[key] for key in touched if key in stored]


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in KEY)


def _add(one: Row, other: Row) -> Row:
    """Return one row for two of the same key."""
    newest = max(one, other, key=lambda row: tuple(row[name] for name in _NEWEST_BY))
    row = {name: newest[name] for name in (*KEY, *_NEWEST)}
    row |= {name: max(one[name], other[name]) for name in _GREATEST}
    # At most the maximum of the type, instead of an error.
    row |= {n: min(one[n] + other[n], limit) for n, limit in _LIMITS.items()}
    row["push_ids"] = sorted([*one["push_ids"], *other["push_ids"]])
    row["api_versions"] = _gather(one["api_versions"], other["api_versions"])
    return row


def _gather(*lists: list[Row]) -> list[Row]:
    """Return each different item once."""
    items = {(item["api_key"], item["api_version"]) for one in lists for item in one}
    return [{"api_key": key, "api_version": version} for key, version in sorted(items)]
