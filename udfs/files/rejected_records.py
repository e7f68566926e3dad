"""Records that cannot be used, as rows of quarantine; never with their bodies."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from udfs.configs.pushes import OK

from .daily_files import Columns, DailyFiles, Floors, days_of, is_beyond
from .table_files import TableFile


def write_rejected(
    columns: Columns,
    reasons: pa.StringArray,
    details: pa.StringArray,
    *,
    quarantine: DailyFiles,
    floors: Floors,
    source_job: str,
) -> Iterator[TableFile]:
    """Write the records that have a fault.

    Args:
        columns: Of their envelopes.
        reasons: string, OK or the fault of each.
        details: string, same length.
        quarantine: Files of the table.
        floors: What the table holds already; that is not written again.
        source_job: Name of the job.
    Returns: Files that are full by now.
    """
    is_rejected = pc.not_equal(reasons, OK).to_numpy(zero_copy_only=False)
    is_rejected &= is_beyond(columns["partition"], columns["offset"], floors)
    if not is_rejected.any():
        return
    chosen = pa.array(is_rejected)
    known = columns | {"reason": reasons, "detail": details}
    rows = {name: column.filter(chosen) for name, column in known.items()}
    rows["source_job"] = pa.array([source_job] * len(rows["reason"]))
    yield from quarantine.write(rows, days_of(rows["kafka_timestamp"]))
