# Strategy: few records, many types: frames are read by `cluster.metadata_records`, the
# rest is columns. What comes of them is for one loop over the order of all records.
"""Records of the cluster's feed, from their topic to what the histories take.

Source: docs/reference/topics.md.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from udfs.cluster.cluster_records import (
    CLUSTER_RECORD_SCHEMA,
    FULL_SET,
    FULL_SET_TYPE,
)
from udfs.cluster.metadata_records import read_metadata_records
from udfs.cluster.record_keys import full_set_key
from udfs.configs.pushes import OK, TOO_LARGE
from udfs.envelopes.readers import RECORD_SCHEMA, read_cluster_envelopes

from .daily_files import Columns, DailyFiles, Floors, WrittenPart, columns_of
from .rejected_records import write_rejected
from .table_files import TableLayout

TRUNCATED_METADATA_RECORD = "truncated_metadata_record"
MALFORMED_METADATA_RECORD = "malformed_metadata_record"
MALFORMED_FULL_SET = "malformed_full_set"
REASONS: Mapping[str, str] = {
    "truncated": TRUNCATED_METADATA_RECORD,
    "malformed": MALFORMED_METADATA_RECORD,
    "trailing_bytes": MALFORMED_METADATA_RECORD,
    TOO_LARGE: TOO_LARGE,
    MALFORMED_FULL_SET: MALFORMED_FULL_SET,
}
"""decode_status to the reason of its row in quarantine. What has none is newer than
this program: it is counted, and stands in the ledger."""
UNKNOWN_VERSION = "unknown_version"
KEYED_RECORD_SCHEMA = RECORD_SCHEMA.append(pa.field("key", pa.binary()))
"""What is read of a record."""
_SET_PREFIX = full_set_key("")
_SET_VERSION = 1
_MAX_COUNT = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterTables:
    """What becomes of records of the cluster's feed."""

    quarantine: TableLayout
    quarantine_floors: Floors
    source_job: str
    """Name of the job in rows of quarantine."""
    max_record_bytes: int
    """Largest value of a record."""


def write_cluster_records(
    batches: Iterator[pa.RecordBatch], tables: ClusterTables
) -> Iterator[WrittenPart]:
    """Decode records, and write those that cannot be used into files of quarantine.

    Args:
        batches: KEYED_RECORD_SCHEMA.
        tables: What to write.
    Returns: Parts in the order of the records; pushes has all whose envelope was read,
        CLUSTER_RECORD_SCHEMA. The last one has only files.
    Nulls: fields are null where decode_status is not OK.
    Errors: One of REASONS, or a fault of the envelope, in quarantine; never raises for
        data.
    """
    quarantine = DailyFiles(tables.quarantine)
    reject = partial(
        write_rejected,
        quarantine=quarantine,
        floors=tables.quarantine_floors,
        source_job=tables.source_job,
    )
    for records in batches:
        envelopes = read_cluster_envelopes(records)
        keys = pa.array(map(_read_text, records.column("key").to_pylist()), pa.string())
        is_read = pc.is_null(envelopes.column("envelope_fault"))
        faulty = columns_of(envelopes.filter(pc.invert(is_read)))
        files = list(
            reject(faulty, faulty["envelope_fault"], faulty["envelope_detail"])
        )
        columns = columns_of(envelopes.filter(is_read))
        made = _decode(columns, keys.filter(is_read), tables.max_record_bytes)
        statuses = made.column("decode_status").to_pylist()
        reasons = pa.array([REASONS.get(one, OK) for one in statuses], pa.string())
        details = pa.array(map(_find_detail, statuses), pa.string())
        files += reject(columns, reasons, details)
        yield WrittenPart(records=records.num_rows, pushes=made, files=files)
    yield WrittenPart(records=0, files=list(quarantine.end()))


def _read_text(key: bytes | None) -> str | None:
    return None if key is None else key.decode("utf-8", "replace")


def _find_detail(status: str) -> str | None:
    return "trailing bytes" if status == "trailing_bytes" else None


def _decode(columns: Columns, keys: pa.StringArray, max_bytes: int) -> pa.RecordBatch:
    """Return rows of CLUSTER_RECORD_SCHEMA."""
    body = columns["body"]
    is_large = pc.greater(pc.binary_length(body), max_bytes)
    is_set = pc.fill_null(pc.starts_with(keys, _SET_PREFIX), fill_value=False)
    is_framed = pc.invert(pc.or_(is_large, is_set))
    framed = read_metadata_records(pc.if_else(is_framed, body, pa.scalar(b"")))
    sets = [
        _read_full_set(value) if is_one else None
        for value, is_one in zip(
            body.to_pylist(), pc.and_not(is_set, is_large).to_pylist(), strict=True
        )
    ]
    found = columns_of(framed)
    made = columns | {
        name: _only(found[name], is_framed)
        for name in framed.schema.names
        if name != "frame_error"
    }
    statuses = _name_statuses(found["frame_error"].to_pylist(), sets, is_large)
    names = [FULL_SET if one else None for one in is_set.to_pylist()]
    said = [one if isinstance(one, dict) else None for one in sets]
    made |= {
        "record_key": keys,
        "valid_from": pc.coalesce(columns["timestamp"], columns["observed_at"]),
        "decode_status": pa.array(statuses, pa.string()),
        "record_type": pc.coalesce(pa.array(names, pa.string()), made["record_type"]),
        "set_id": pc.coalesce(columns["set_id"], _sets_of(keys, is_set)),
        FULL_SET: pa.array(said, FULL_SET_TYPE),
    }
    return pa.RecordBatch.from_arrays(
        [made[name] for name in CLUSTER_RECORD_SCHEMA.names],
        schema=CLUSTER_RECORD_SCHEMA,
    )


def _only(column: pa.Array, is_kept: pa.BooleanArray) -> pa.Array:
    """Keep the values that are; the others become null."""
    places = np.arange(len(column))
    is_null = ~is_kept.to_numpy(zero_copy_only=False)
    return column.take(pa.array(places, pa.int64(), mask=is_null))


def _sets_of(keys: pa.StringArray, is_set: pa.BooleanArray) -> pa.StringArray:
    named = pc.utf8_slice_codeunits(keys, len(_SET_PREFIX))
    return pc.if_else(is_set, named, pa.scalar(None, pa.string()))


def _name_statuses(
    errors: list[str | None],
    sets: list[dict[str, Any] | str | None],
    is_large: pa.BooleanArray,
) -> list[str]:
    statuses = []
    for error, said, large in zip(errors, sets, is_large.to_pylist(), strict=True):
        if large:
            statuses.append(TOO_LARGE)
        elif said is None:
            statuses.append(error or OK)
        else:
            statuses.append(OK if isinstance(said, dict) else said)
    return statuses


def _read_full_set(value: bytes) -> dict[str, Any] | str:
    """Return what closes a full set, or what is wrong with it."""
    try:
        said = json.loads(value.decode("utf-8"))
        version, records, covers = (said.get(n) for n in ("v", "records", "covers"))
        if isinstance(version, int) and version > _SET_VERSION:
            return UNKNOWN_VERSION
        is_count = type(records) is int and 0 <= records <= _MAX_COUNT
        if version != _SET_VERSION or not is_count or not isinstance(covers, list):
            return MALFORMED_FULL_SET
        "".join(covers).encode("utf-8")
    except (AttributeError, RecursionError, TypeError, ValueError):
        return MALFORMED_FULL_SET
    return {"records": records, "covers": covers}
