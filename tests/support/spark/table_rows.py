"""Rows put into a table beside Spark, that say only what matters to a test."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, WriterProperties, write_deltalake

_FILLERS = {
    pa.string(): "x",
    pa.int32(): 1,
    pa.int64(): 1,
    pa.bool_(): False,
    pa.float64(): 0.0,
    pa.binary(): b"",
}


def append_rows(tables, contract, *rows, moment=None):
    """Append rows in one commit; a column that no row names is null or a filler.

    Args:
        tables: Settings with a root path.
        contract: Of a table that is there, maybe with fewer columns.
        rows: Values by column.
        moment: What times are filled with, now if not said.
    """
    moment = moment or datetime.now(tz=UTC)
    path = Path(tables.root_path) / contract.name
    schema = pa.schema(DeltaTable(path).schema().to_arrow())
    unknown = {name for row in rows for name in row} - {*schema.names}
    assert not unknown, f"{contract.name} has no {', '.join(sorted(unknown))}"
    columns = []
    for field in schema:
        filler = None if field.nullable else _filler(field.type, moment)
        values = [row.get(field.name, filler) for row in rows]
        columns.append(pa.array(values, field.type))
    made = pa.Table.from_arrays(columns, schema=schema)
    # Files have the words as they are: tests of purges look for them there.
    plain = WriterProperties(compression="UNCOMPRESSED")
    write_deltalake(path, made, mode="append", writer_properties=plain)


def _filler(kind, moment):
    if pa.types.is_timestamp(kind):
        return moment
    if pa.types.is_date(kind):
        return moment.date()
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        return []
    return _FILLERS[kind]
