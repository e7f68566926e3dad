"""Kernels of client configurations as DataFrame steps; their meaning stands there."""

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, StructField, StructType

from .config_client_types import make_client_type_keys
from .config_defaults import DEFAULT_SCHEMA, KnownDefaults, make_known_defaults
from .config_entries import ENTRY_TYPE
from .config_histories import HISTORY_SCHEMA, HOLDING_SCHEMA, make_histories
from .config_push_files import CONFIG_PUSH_TYPES, ConfigTables, write_config_pushes
from .described_configs import PLACE_COLUMNS, describe_configs
from .envelopes import RECORD_SCHEMA, read_config_envelopes
from .sensitive_keys import SensitiveKeyRules
from .spark import encode_files, spark_fields

__all__ = [
    "DEFAULT_SCHEMA",
    "ConfigTables",
    "KnownDefaults",
    "encode_config_files",
    "make_client_type_keys",
    "make_known_defaults",
    "select_histories",
    "with_statuses",
]


def encode_config_files(
    records: DataFrame, tables: ConfigTables, push_columns: Sequence[str]
) -> DataFrame:
    """Decode pushed configurations into files of three tables; use with transform.

    Args:
        records: Columns of Spark's Kafka source, headers included.
        tables: What to write.
        push_columns: What comes back of each push whose body was read.
    Returns: As spark.encode_push_files.
    Errors: As in `config_push_files.write_config_pushes`; never raises for data.
    """
    nothing = pa.RecordBatch.from_pylist([], schema=RECORD_SCHEMA)
    known = [*read_config_envelopes(nothing).schema, *CONFIG_PUSH_TYPES]
    write = partial(write_config_pushes, tables=tables)
    return encode_files(records, write, known, push_columns)


def with_statuses(
    pushes: DataFrame,
    rules: SensitiveKeyRules,
    defaults: KnownDefaults,
    *,
    has_references: bool,
) -> DataFrame:
    """Say what each entry of pushes is; use with transform.

    Args:
        pushes: PLACE_COLUMNS and configs, an array of PUSHED_ENTRY_TYPE, among others.
        rules: As describe_configs takes them.
        defaults: Those of all places of the pushes.
        has_references: As describe_configs takes it.
    Returns: The same columns, configs as an array of ENTRY_TYPE.
    Shape: n rows in, n rows out.
    Errors: As in `described_configs.describe_configs`; never raises for data.
    """
    entries = ArrayType(StructType(spark_fields(pa.schema(list(ENTRY_TYPE)))))
    output = StructType(
        [
            StructField(field.name, entries) if field.name == "configs" else field
            for field in pushes.schema.fields
        ]
    )
    stored = to_arrow_schema(output, timezone="UTC").field("configs").type
    place = output.names.index("configs")

    def describe(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            described = describe_configs(
                batch.column("configs"),
                batch.select(list(PLACE_COLUMNS)),
                rules=rules,
                defaults=defaults,
                has_references=has_references,
            )
            yield batch.set_column(place, "configs", described.cast(stored))

    return pushes.mapInArrow(describe, output)


def select_histories(holdings: DataFrame) -> DataFrame:
    """Make the history of logical clients; use with transform.

    Args:
        holdings: HOLDING_SCHEMA; all pushes of a logical client in one partition.
    Returns: HISTORY_SCHEMA.
    Shape: As in `config_histories.make_histories`. A partition is in memory at once.
    """
    output = StructType(spark_fields(HISTORY_SCHEMA))
    schema = to_arrow_schema(output, timezone="UTC")

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = [_as_holdings(batch) for batch in batches]
        if not parts:
            return
        whole = pa.Table.from_batches(parts).combine_chunks().to_batches()
        if whole:
            yield make_histories(whole[0]).cast(schema)

    return holdings.select(*HOLDING_SCHEMA.names).mapInArrow(make, output)


def _as_holdings(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.select(HOLDING_SCHEMA.names).cast(HOLDING_SCHEMA)
