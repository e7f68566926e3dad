"""Kernels of client configurations as DataFrame steps; their meaning stands there."""
# Longer than 400 lines: one wrapper a kernel, which all share how a column is made.

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas import functions
from pyspark.sql.types import (
    DataType,
    StringType,
    StructField,
    StructType,
)

from udfs.configs.client_types import (
    make_client_type_keys,
)
from udfs.configs.default_reports import (
    REPORT_SCHEMA,
    merge_reports,
    report_defaults,
)
from udfs.configs.histories import (
    REDACTED_ID,
)
from udfs.configs.known_values import KNOWN_TYPE, ValueWords, find_known_values
from udfs.configs.logical_clients import hash_texts
from udfs.configs.purges import PURGE_TYPE, judge_stored_entries
from udfs.dynamic_configs.purges import (
    show_stored_changes,
    show_stored_keys,
    show_stored_values,
)
from udfs.dynamic_configs.topic_records import TOPIC_RECORD_SCHEMA
from udfs.envelopes.readers import (
    RECORD_SCHEMA,
    read_wire_envelopes,
)
from udfs.files.config_push_files import (
    ConfigTables,
    write_config_pushes,
)
from udfs.files.daily_files import WrittenPart
from udfs.files.dynamic_config_files import (
    DYNAMIC_RECORD_SCHEMA,
    DynamicTables,
    write_dynamic_configs,
)
from udfs.files.wire_config_files import (
    WIRE_ENTRY_SCHEMA,
    WireTables,
    write_wire_configs,
)
from udfs.sensitive.client_id_columns import find_stored_client_id_rules
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .spark import encode_files, encode_parts
from .spark_types import arrow_schema, arrow_type, spark_fields, spark_type
from .spark_workers import keep_loaded, keeping_loaded

__all__ = [
    "REDACTED_ID",
    "ConfigTables",
    "DynamicTables",
    "ValueWords",
    "WireTables",
    "decode_config_pushes",
    "encode_dynamic_config_files",
    "encode_wire_config_files",
    "make_client_type_keys",
    "report_config_defaults",
    "with_client_id_rules",
    "with_known_values",
    "with_purge_verdicts",
    "with_shown_dynamic_configs",
    "with_text_hash",
]
# Spark 4.0 has none. The stubs lack the hint-only form; naming functionType would warn
# at run time.
_make_udf: Any = getattr(functions, "arrow_udf", None)
_SHOWN_DYNAMIC_CONFIGS: dict[str, tuple[Callable[..., pa.Array], tuple[str, ...]]] = {
    "config_value": (show_stored_values, ("config_key", "config_value")),
    "config_keys": (show_stored_keys, ("config_keys",)),
    "change": (show_stored_changes, ("record_type", "change")),
}
"""What a rule may hide of dynamic client configs: its kernel, and what that takes."""


def decode_config_pushes(
    records: DataFrame, tables: ConfigTables, push_columns: Sequence[str]
) -> DataFrame:
    """Decode pushes and judge their entries; use with transform.

    The worker that decodes a push also writes its rows of three tables as files.

    Args:
        records: Columns of Spark's Kafka source, headers included.
        tables: Layouts, rules and limits of the tables.
        push_columns: Columns to return of each push that could be decoded.
    Returns: ENCODED_TYPE; `deciding` has the push_columns.
    Shape: As encode_push_files.
    Errors: As in `config_push_files.write_config_pushes`; never raises for data.
    """

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[WrittenPart]:
        for part in write_config_pushes(batches, tables):
            pushes = None
            if part.pushes is not None and part.pushes.num_rows:
                selected = part.pushes.select(list(push_columns))
                pushes = pa.Table.from_batches([selected])
            yield replace(part, deciding=pushes)

    return encode_parts(records, write)


def encode_wire_config_files(
    records: DataFrame, tables: WireTables, entry_columns: Sequence[str]
) -> DataFrame:
    """Decode configurations seen on the wire; use with transform.

    Args:
        records: Columns of Spark's Kafka source, headers included.
        tables: What to write.
        entry_columns: What comes back of each entry.
    Returns: ENCODED_TYPE, and push struct of entry_columns.
    Shape: As encode_push_files, and a row for each entry.
    Errors: As in `wire_config_files.write_wire_configs`; never raises for data.
    """
    nothing = pa.RecordBatch.from_pylist([], schema=RECORD_SCHEMA)
    known = pa.schema([*read_wire_envelopes(nothing).schema, *WIRE_ENTRY_SCHEMA])

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[WrittenPart]:
        return write_wire_configs(batches, tables)

    return encode_files(records, write, known, entry_columns)


def encode_dynamic_config_files(records: DataFrame, tables: DynamicTables) -> DataFrame:
    """Decode records of dynamic client configs; use with transform.

    Args:
        records: Columns of Spark's Kafka source.
        tables: What to write.
    Returns: ENCODED_TYPE, and push struct of TOPIC_RECORD_SCHEMA.
    Shape: As encode_push_files, and a row for each record that was read.
    Errors: As in `dynamic_config_files.write_dynamic_configs`; never raises for data.
    """

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[WrittenPart]:
        return write_dynamic_configs(batches, tables)

    names = TOPIC_RECORD_SCHEMA.names
    return encode_files(
        records,
        write,
        TOPIC_RECORD_SCHEMA,
        names,
        record_columns=DYNAMIC_RECORD_SCHEMA.names,
    )


def report_config_defaults(pushes: DataFrame) -> DataFrame:
    """Summarise the entries that pushes flag as defaults; use with transform.

    Args:
        pushes: PUSH_COLUMNS of default_reports.
    Returns: REPORT_SCHEMA of default_reports.
    Shape: One row for each key and partition.
    """
    output = StructType(spark_fields(REPORT_SCHEMA))
    schema = arrow_schema(output)

    def report(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = [REPORT_SCHEMA.empty_table()]
        parts += [report_defaults(pa.Table.from_batches([one])) for one in batches]
        reports = merge_reports(pa.concat_tables(parts))
        yield from reports.cast(schema).to_batches()

    return pushes.mapInArrow(keeping_loaded(report), output)


def with_purge_verdicts(rows: DataFrame, rules: SensitiveKeyRules) -> DataFrame:
    """Judge stored entries again; use with transform.

    Args:
        rows: Has client_software_name and entries, an array of structs config_key,
            config_value, config_type and is_default.
        rules: Those in force.
    Returns: The rows with `purge`, as purges.PURGE_TYPE.
    """

    def judge(software_names: pa.Array, entries: pa.Array) -> pa.Array:
        return judge_stored_entries(software_names, entries, rules)

    kind = StructType(spark_fields(PURGE_TYPE))
    given = ("client_software_name", "entries")
    return _with_column(rows, "purge", judge, kind, *given)


def with_shown_dynamic_configs(
    rows: DataFrame, column: str, rules: SensitiveKeyRules, software: Sequence[str]
) -> DataFrame:
    """Put `shown` beside rows of dynamic client configs; use with transform.

    Args:
        rows: Of one of the tables of dynamic client configs.
        column: config_value, config_keys or change.
        rules: Those in force.
        software: Names of clients that have catalogs.
    Returns: The rows with what the rules let be of that column, as purges has it.
    """
    show, given = _SHOWN_DYNAMIC_CONFIGS[column]

    def make(*columns: pa.Array) -> pa.Array:
        return show(*columns, rules, software)

    return _with_column(rows, "shown", make, rows.schema[column].dataType, *given)


def with_client_id_rules(rows: DataFrame, rules: SensitiveKeyRules) -> DataFrame:
    """Say which rule hides the client id of each row; use with transform.

    Args:
        rows: Has client_id.
        rules: Those in force.
    Returns: The rows with `hiding_rule`, null where the client id may be written.
    """

    def find(client_ids: pa.Array) -> pa.Array:
        return find_stored_client_id_rules(client_ids.cast(pa.string()), rules)

    return _with_column(rows, "hiding_rule", find, StringType(), "client_id")


def with_known_values(
    clients: DataFrame, keys: Sequence[str], words: ValueWords
) -> DataFrame:
    """Say what is known of some keys of each client; use with transform.

    Args:
        clients: Has the columns that known_values.find_known_values takes.
        keys: As it takes them.
        words: As it takes them.
    Returns: The clients with `known`, as KNOWN_TYPE.
    """
    given = ("family", "client_type", "configs", "wired", "base")

    def find(*columns: pa.Array) -> pa.Array:
        batch = pa.RecordBatch.from_arrays([*columns], names=[*given])
        return find_known_values(batch, keys, words)

    return _with_column(clients, "known", find, spark_type(KNOWN_TYPE), *given)


def with_text_hash(rows: DataFrame, name: str, columns: Sequence[str]) -> DataFrame:
    """Hash what several columns say together; use with transform.

    Args:
        rows: Has the columns, strings.
        name: Of the column that is made.
        columns: In the order in which they are hashed.
    Returns: The rows with that column, as logical_clients.hash_texts makes it.
    """

    def make(*texts: pa.Array) -> pa.Array:
        return hash_texts(*texts)

    return _with_column(rows, name, make, StringType(), *columns)


def _with_column(
    rows: DataFrame,
    name: str,
    kernel: Callable[..., pa.Array],
    kind: DataType,
    *columns: str,
) -> DataFrame:
    """Put beside rows what a kernel makes of some of their columns.

    A worker keeps what it has loaded for it.
    """

    @wraps(kernel)  # Spark reads its hints
    def make(*columns: pa.Array) -> pa.Array:
        column = kernel(*columns)
        keep_loaded()
        return column

    if _make_udf is not None:
        return rows.withColumn(name, _make_udf(make, kind)(*columns))
    others = rows.drop(name)
    made = arrow_type(kind)

    def add(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            column = make(*(batch.column(one) for one in columns)).cast(made)
            yield pa.RecordBatch.from_arrays(
                [batch.column(one) for one in kept] + [column], names=[*kept, name]
            )

    kept = others.columns
    schema = StructType([*others.schema.fields, StructField(name, kind)])
    return rows.mapInArrow(add, schema)
