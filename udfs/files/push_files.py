"""Pushes to the files of client_metrics, client_pushes and quarantine, in one pass.

Strategy: what all points of a push share is a dictionary with one entry a push, so that
a point costs one small number for each such column. Nothing of a point leaves as a row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from udfs.envelopes.deciding_pushes import DecidingPushes
from udfs.envelopes.readers import read_envelopes
from udfs.otlp.metrics import DecodedPushes, iter_decoded
from udfs.otlp.schema import OK, PUSH_SCHEMA

from .daily_files import (
    Columns,
    DailyFiles,
    Floors,
    WrittenPart,
    days_of,
    is_beyond,
)
from .table_files import TableFile, TableLayout

VALUE_TOO_LARGE = "value_too_large"


@dataclass(frozen=True, slots=True, kw_only=True)
class PushTables:
    """What becomes of pushes: the layouts of three tables, and what they hold."""

    points: TableLayout
    pushes: TableLayout
    quarantine: TableLayout
    points_floors: Floors
    quarantine_floors: Floors
    source_job: str
    """Name of the job in rows of quarantine."""
    max_decompressed_bytes: int
    """Largest push after decompression, in bytes."""


def write_pushes(
    batches: Iterator[pa.RecordBatch],
    tables: PushTables,
    push_columns: Sequence[str],
) -> Iterator[WrittenPart]:
    """Decode pushes and write the rows of three tables into files.

    Args:
        batches: Records, as `envelopes.read_envelopes` wants them.
        tables: What to write.
        push_columns: What is kept of each push that decides, of envelope and result.
    Returns: Parts in the order of the records; the last one counts none.
    Shape: Each record is counted once; `deciding` as `select_deciding` has it.
    Nulls: As in `otlp.metrics.iter_decoded`.
    Errors: A record that cannot be used, or a body that cannot be decoded, is a row
        of quarantine; never raises for data.
    """
    points, pushes = DailyFiles(tables.points), DailyFiles(tables.pushes)
    quarantine = DailyFiles(tables.quarantine)
    instances = DecidingPushes(tuple(push_columns))
    for records in batches:
        batch = _without_large_bodies(
            read_envelopes(records), tables.max_decompressed_bytes
        )
        is_usable = pc.is_null(batch.column("envelope_fault"))
        faulty = batch.filter(pc.invert(is_usable))
        files = list(_write_rejected(faulty, None, quarantine, tables))
        yield WrittenPart(records=faulty.num_rows, files=files)
        usable = batch if faulty.num_rows == 0 else batch.filter(is_usable)
        done = 0
        for decoded in iter_decoded(
            usable.column("body"),
            usable.column("compression_type_id"),
            max_decompressed_bytes=tables.max_decompressed_bytes,
        ):
            part = usable.slice(done, decoded.pushes.num_rows)
            done += part.num_rows
            columns = _push_columns(part, decoded)
            days = days_of(columns["received_at"])
            files = [
                *points.write(*_point_rows(columns, days, decoded, tables)),
                *_write_rejected(part, decoded, quarantine, tables),
                *pushes.write(columns, days),
            ]
            deciding = instances.add(
                pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
            )
            yield WrittenPart(records=part.num_rows, files=files, deciding=deciding)
    last = [*points.end(), *quarantine.end(), *pushes.end()]
    yield WrittenPart(records=0, files=last, deciding=instances.reduce())


def _without_large_bodies(batch: pa.RecordBatch, max_bytes: int) -> pa.RecordBatch:
    """Refuse bodies that are larger, as sent, than they may be when decompressed."""
    sizes = pc.fill_null(pc.binary_length(batch.column("body")), 0)
    is_large = pc.greater(sizes, max_bytes)
    if not pc.any(is_large).as_py():
        return batch
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    detail = f"more than {max_bytes} bytes"
    for name, value in (
        ("body", None),
        ("envelope_fault", VALUE_TOO_LARGE),
        ("envelope_detail", detail),
    ):
        column = columns[name]
        columns[name] = pc.if_else(is_large, pa.scalar(value, column.type), column)
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _push_columns(part: pa.RecordBatch, decoded: DecodedPushes) -> Columns:
    """Return envelope and result of each push as columns, and the size of its body."""
    columns: Columns = dict(zip(part.schema.names, part.columns, strict=True))
    columns |= dict(zip(PUSH_SCHEMA.names, decoded.pushes.columns, strict=True))
    columns["body_bytes"] = pc.binary_length(columns["body"]).cast(pa.int32())
    return columns


def _point_rows(
    columns: Columns,
    days: npt.NDArray[np.int64],
    decoded: DecodedPushes,
    tables: PushTables,
) -> tuple[Columns, npt.NDArray[np.int64]]:
    """Return the points with the identity of their push, and their days."""
    counts = np.diff(decoded.offsets.to_numpy())
    is_new = is_beyond(columns["partition"], columns["offset"], tables.points_floors)
    push_of_point = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    points = decoded.points
    if not is_new.all():
        is_wanted = is_new[push_of_point]
        points = points.filter(pa.array(is_wanted))
        push_of_point = push_of_point[is_wanted]
    own = set(points.schema.names)
    rows: Columns = dict(zip(points.schema.names, points.columns, strict=True))
    places = pa.array(push_of_point)
    for name in tables.points.columns:
        if name not in own:
            rows[name] = _spread(columns[name], places)
    return rows, days[push_of_point]


def _spread(column: pa.Array, places: pa.Int32Array) -> pa.Array:
    """Give each point the value of its push; texts as places in a dictionary."""
    if not pa.types.is_string(column.type):
        return column.take(places)
    encoded = column.dictionary_encode()
    return pa.DictionaryArray.from_arrays(
        encoded.indices.take(places), encoded.dictionary
    )


def _write_rejected(
    part: pa.RecordBatch,
    decoded: DecodedPushes | None,
    quarantine: DailyFiles,
    tables: PushTables,
) -> Iterator[TableFile]:
    """Write what has a fault of the envelope, or else of the body."""
    columns: Columns = dict(zip(part.schema.names, part.columns, strict=True))
    columns["reason"], columns["detail"] = (
        (columns["envelope_fault"], columns["envelope_detail"])
        if decoded is None
        else (decoded.pushes.column("decode_status"), decoded.pushes.column("detail"))
    )
    is_rejected = pc.not_equal(columns["reason"], OK).to_numpy(zero_copy_only=False)
    is_rejected &= is_beyond(
        columns["partition"], columns["offset"], tables.quarantine_floors
    )
    if not is_rejected.any():
        return
    chosen = pa.array(is_rejected)
    rows = {name: column.filter(chosen) for name, column in columns.items()}
    rows["source_job"] = pa.array([tables.source_job] * len(rows["reason"]))
    yield from quarantine.write(rows, days_of(rows["kafka_timestamp"]))
