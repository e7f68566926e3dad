# Strategy: such records are one for a client or a connection and change, so there are
# few: the standard library reads them one by one.
"""Records of JSON that our own bridge has made, to rows and to files of quarantine."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from udfs.configs.pushes import NULL_VALUE, OK, TOO_LARGE
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .daily_files import Columns, DailyFiles, Floors, WrittenPart, columns_of
from .rejected_records import write_rejected
from .table_files import TableLayout

Said = TypeVar("Said")
"""What one record says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordTables:
    """What becomes of the records of a topic."""

    quarantine: TableLayout
    quarantine_floors: Floors
    source_job: str
    """Name of the job in rows of quarantine."""
    rules: SensitiveKeyRules


def write_json_records(
    batches: Iterator[pa.RecordBatch],
    tables: RecordTables,
    *,
    read_envelopes: Callable[[pa.RecordBatch], pa.RecordBatch],
    read_values: Callable[[pa.BinaryArray], tuple[pa.StringArray, list[Said | None]]],
    make_rows: Callable[[Columns, list[Said | None]], pa.RecordBatch],
) -> Iterator[WrittenPart]:
    """Decode records, and write those that cannot be used into files of quarantine.

    Args:
        read_envelopes: One of `envelopes`, with client ids as they may be written.
        read_values: As read_json_values does.
        make_rows: Takes the envelopes of usable records, and what they say.
    Returns: Parts in the order of the records; pushes has the rows. The last one has
        only files.
    """
    quarantine = DailyFiles(tables.quarantine)
    reject = partial(
        write_rejected,
        quarantine=quarantine,
        floors=tables.quarantine_floors,
        source_job=tables.source_job,
    )
    for records in batches:
        batch = read_envelopes(records)
        is_usable = pc.is_null(batch.column("envelope_fault"))
        faulty = columns_of(batch.filter(pc.invert(is_usable)))
        reasons = faulty["envelope_fault"], faulty["envelope_detail"]
        files = list(reject(faulty, *reasons))
        usable = batch.filter(is_usable)
        statuses, read = read_values(usable.column("body"))
        columns = columns_of(usable)
        files += reject(columns, statuses, pa.nulls(usable.num_rows, pa.string()))
        rows = make_rows(columns, read)
        yield WrittenPart(records=records.num_rows, pushes=rows, files=files)
    yield WrittenPart(records=0, files=list(quarantine.end()))


def read_json_values(
    values: pa.BinaryArray,
    max_bytes: int,
    read: Callable[[Any], Said | None],
    malformed: str,
) -> tuple[pa.StringArray, list[Said | None]]:
    """Read the values of many records.

    Args:
        max_bytes: The largest one that is read.
        read: Takes a JSON value; None, or an error of its types and keys, is malformed.
    Returns: Of each a status, OK or what is wrong, and what it says, if it is OK.
    """
    found = [_read(one, max_bytes, read, malformed) for one in values.to_pylist()]
    return pa.array([status for status, _ in found], pa.string()), [
        said for _, said in found
    ]


def _read(
    value: bytes | None,
    max_bytes: int,
    read: Callable[[Any], Said | None],
    malformed: str,
) -> tuple[str, Said | None]:
    if value is None:
        return NULL_VALUE, None
    if len(value) > max_bytes:
        return TOO_LARGE, None
    try:
        said = read(json.loads(value.decode("utf-8")))
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        said = None
    return (malformed, None) if said is None else (OK, said)
