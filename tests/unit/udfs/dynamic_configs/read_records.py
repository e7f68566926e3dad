"""What the decode of the topic of dynamic client configs hands on."""

import pyarrow as pa

from pipelines.delta_tables.layouts import layout_of
from pipelines.jobs.dynamic_configs.job import NOT_HERE
from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.rules import list_software, make_sensitive_key_rules
from pipelines.tables.telemetry import QUARANTINE
from tests.support.dynamic_records import place
from udfs.dynamic_configs.topic_records import iter_records
from udfs.files.dynamic_config_files import (
    DYNAMIC_RECORD_SCHEMA,
    DynamicTables,
    write_dynamic_configs,
)

MAX_BYTES = 2_000
SETTINGS = load_settings("base")
TABLES = DynamicTables(
    quarantine=layout_of(QUARANTINE, without=NOT_HERE),
    quarantine_floors={},
    source_job="job",
    max_record_bytes=MAX_BYTES,
    rules=make_sensitive_key_rules(SETTINGS.sensitive_keys, load_config_catalogs()),
    software=list_software(SETTINGS.sensitive_keys),
)


def as_batch(rows):
    columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * 6
    arrays = [
        pa.array(column, field.type)
        for column, field in zip(columns, DYNAMIC_RECORD_SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=DYNAMIC_RECORD_SCHEMA)


def decode(rows, tables=TABLES):
    """Return parts, of one batch."""
    return list(write_dynamic_configs(iter([as_batch(rows)]), tables))


def read(records, first=0):
    """Return records as the histories take them."""
    parts = decode(place(records, first))
    return list(iter_records(pa.Table.from_batches([parts[0].pushes])))
