# Strategy: few records, each JSON of our own bridge: `dynamic_configs.records` reads
# them one by one. What comes of them is for one loop over the order of all records.
"""Records of dynamic client configs, from their topic to what the histories take.

Source: docs/reference/topics.md.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from udfs.configs.pushes import NULL_VALUE, OK, TOO_LARGE
from udfs.dynamic_configs.purges import is_hidden
from udfs.dynamic_configs.records import (
    MALFORMED,
    MISNAMED,
    UNKNOWN_TYPE,
    UNKNOWN_VERSION,
    ConfigRecord,
    DynamicRecord,
    RegistrationsWritten,
    UnreadableRecord,
    read_record,
)
from udfs.dynamic_configs.topic_records import (
    ALTERATION,
    REGISTRATION,
    REGISTRATIONS,
    TOPIC_RECORD_SCHEMA,
)
from udfs.envelopes.headers import MICROS_PER_MS, TIME, bound_times
from udfs.sensitive.client_id_columns import hide_in_batch

from .daily_files import Columns, DailyFiles, WrittenPart, columns_of
from .json_records import RecordTables
from .rejected_records import write_rejected

MALFORMED_CLIENT_CONFIG = "malformed_client_config"
UNKNOWN_CLIENT_CONFIG = "unknown_client_config"
SENSITIVE_CLIENT_CONFIG = "sensitive_client_config"
REASONS: Mapping[str, str] = {
    MALFORMED: MALFORMED_CLIENT_CONFIG,
    MISNAMED: MALFORMED_CLIENT_CONFIG,
    UNKNOWN_TYPE: UNKNOWN_CLIENT_CONFIG,
    UNKNOWN_VERSION: UNKNOWN_CLIENT_CONFIG,
}
"""What is wrong with a record to the reason of its row in quarantine."""
DYNAMIC_RECORD_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", TIME),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)
"""What is read of a record."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicTables(RecordTables):
    """What becomes of records of dynamic client configs."""

    max_record_bytes: int
    """Largest value of a record."""
    software: tuple[str, ...]
    """Names of clients that have catalogs: rules judge a key as one of theirs."""


def write_dynamic_configs(
    batches: Iterator[pa.RecordBatch], tables: DynamicTables
) -> Iterator[WrittenPart]:
    """Read records, and write those that cannot be used into files of quarantine.

    Args:
        batches: DYNAMIC_RECORD_SCHEMA.
        tables: What to write.
    Returns: Parts in the order of the records; pushes has those that were read,
        TOPIC_RECORD_SCHEMA. The last one has only files.
    Nulls: What is removed has no config_value; nobody's name is altered_by of a removal
        without a value.
    Errors: One of REASONS, TOO_LARGE or SENSITIVE_CLIENT_CONFIG in quarantine; never
        raises for data.
    """
    quarantine = DailyFiles(tables.quarantine)
    reject = partial(
        write_rejected,
        quarantine=quarantine,
        floors=tables.quarantine_floors,
        source_job=tables.source_job,
    )
    for records in batches:
        read = [_read(row, tables) for row in _as_rows(records)]
        reasons = [OK if isinstance(one, dict) else one[0] for one in read]
        details = [None if isinstance(one, dict) else one[1] for one in read]
        files = list(
            reject(
                _columns_of(records),
                pa.array(reasons, pa.string()),
                pa.array(details, pa.string()),
            )
        )
        usable = [one for one in read if isinstance(one, dict)]
        made = pa.RecordBatch.from_pylist(usable, schema=TOPIC_RECORD_SCHEMA)
        # As other tables hide them, so that the same clients have the same names.
        pushes, _ = hide_in_batch(made, tables.rules)
        yield WrittenPart(records=records.num_rows, pushes=pushes, files=files)
    yield WrittenPart(records=0, files=list(quarantine.end()))


def _as_rows(records: pa.RecordBatch) -> list[Row]:
    """Return records as dicts, their times in milliseconds since 1970."""
    place = records.schema.get_field_index("timestamp")
    micros = bound_times(records.column(place)).cast(pa.int64())
    rows: list[Row] = records.set_column(place, "timestamp", micros).to_pylist()
    return rows


def _columns_of(records: pa.RecordBatch) -> Columns:
    columns = columns_of(records)
    return columns | {"kafka_timestamp": bound_times(columns["timestamp"])}


def _read(row: Row, tables: DynamicTables) -> Row | tuple[str, str | None]:
    """Return what a record says, or reason and detail of why it cannot be used."""
    value = row["value"]
    if value is not None and len(value) > tables.max_record_bytes:
        return TOO_LARGE, None
    if value is None and row["key"] is None:
        return NULL_VALUE, None
    try:
        said = read_record(row["key"], value, row["timestamp"] // MICROS_PER_MS)
    except UnreadableRecord as error:
        return REASONS[error.reason], error.reason
    if isinstance(said, ConfigRecord) and _is_hidden(said, tables):
        return SENSITIVE_CLIENT_CONFIG, None
    place = {name: row[name] for name in ("topic", "partition", "offset")}
    return place | _as_row(said)


def _is_hidden(said: ConfigRecord, tables: DynamicTables) -> bool:
    """Return whether rules hide a config that is set; nothing is told by a removal."""
    return said.config_value is not None and is_hidden(
        said.config_key, said.config_value, tables.rules, tables.software
    )


def _as_row(said: DynamicRecord) -> Row:
    if isinstance(said, RegistrationsWritten):
        return {
            "record_type": REGISTRATIONS,
            "at": said.written_at_ms * MICROS_PER_MS,
            "user_name": "",
            "client_id": "",
            "is_default_client_id": False,
        }
    who = {"user_name": said.user_name, "client_id": said.client_id or ""}
    if isinstance(said, ConfigRecord):
        return who | {
            "record_type": ALTERATION,
            "at": said.altered_at_ms * MICROS_PER_MS,
            "altered_by": said.altered_by,
            "is_default_client_id": said.is_default_client_id,
            "config_key": said.config_key,
            "config_value": said.config_value,
        }
    return who | {
        "record_type": REGISTRATION,
        "at": said.registered_at_ms * MICROS_PER_MS,
        "is_default_client_id": False,
        "client_software_name": said.client_software_name,
        "client_software_version": said.client_software_version,
        "config_keys": said.config_keys,
    }
