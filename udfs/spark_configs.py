"""Kernels of client configurations as DataFrame steps; their meaning stands there."""
# Longer than 400 lines: one wrapper a kernel, which all share how a column is made.

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas import functions
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from udfs.configs.client_types import (
    ClientTypeKeys,
    find_possible_types,
    make_client_type_keys,
)
from udfs.configs.defaults import DEFAULT_SCHEMA, KnownDefaults, make_known_defaults
from udfs.configs.described_configs import PLACE_COLUMNS, describe_configs
from udfs.configs.entries import ENTRY_TYPE
from udfs.configs.histories import (
    HISTORY_SCHEMA,
    HOLDING_SCHEMA,
    REDACTED_ID,
    make_histories,
)
from udfs.configs.known_values import KNOWN_TYPE, ValueWords, find_known_values
from udfs.configs.logical_clients import CLIENT_TYPE, hash_texts, name_logical_clients
from udfs.configs.purges import PURGE_TYPE, judge_stored_entries
from udfs.configs.value_columns import type_values
from udfs.dynamic_configs.purges import (
    show_stored_changes,
    show_stored_keys,
    show_stored_values,
)
from udfs.dynamic_configs.topic_records import TOPIC_RECORD_SCHEMA
from udfs.envelopes.readers import (
    RECORD_SCHEMA,
    read_config_envelopes,
    read_wire_envelopes,
)
from udfs.files.config_push_files import (
    CONFIG_PUSH_TYPES,
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

from .spark import encode_files
from .spark_types import arrow_schema, arrow_type, spark_fields, spark_type
from .spark_workers import keep_loaded, keeping_loaded

__all__ = [
    "DEFAULT_SCHEMA",
    "REDACTED_ID",
    "ConfigTables",
    "DynamicTables",
    "KnownDefaults",
    "ValueWords",
    "WireTables",
    "encode_config_files",
    "encode_dynamic_config_files",
    "encode_wire_config_files",
    "filter_valid_values",
    "make_client_type_keys",
    "make_known_defaults",
    "select_histories",
    "with_client_id_rules",
    "with_known_values",
    "with_logical_clients",
    "with_possible_types",
    "with_purge_verdicts",
    "with_shown_dynamic_configs",
    "with_statuses",
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


def encode_config_files(
    records: DataFrame, tables: ConfigTables, push_columns: Sequence[str]
) -> DataFrame:
    """Decode pushed configurations into files of three tables; use with transform.

    Args:
        records: Columns of Spark's Kafka source, headers included.
        tables: What to write.
        push_columns: What comes back of each push whose body was read.
    Returns: ENCODED_TYPE, and push struct of push_columns.
    Shape: As encode_push_files, and a row for each such push.
    Errors: As in `config_push_files.write_config_pushes`; never raises for data.
    """
    nothing = pa.RecordBatch.from_pylist([], schema=RECORD_SCHEMA)
    known = pa.schema([*read_config_envelopes(nothing).schema, *CONFIG_PUSH_TYPES])

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[WrittenPart]:
        return write_config_pushes(batches, tables)

    return encode_files(records, write, known, push_columns)


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
    stored = arrow_schema(output).field("configs").type
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

    return pushes.mapInArrow(keeping_loaded(describe), output)


def filter_valid_values(entries: DataFrame) -> DataFrame:
    """Keep entries whose values fit their types; use with transform.

    Args:
        entries: Has config_value and config_type.
    Returns: The same columns.
    Shape: At most as many rows.
    Nulls: A null value fits, and so does every value of a type unknown.
    Errors: As in `value_columns.type_values`; never raises for data.
    """

    def fits(values: pa.Array, type_names: pa.Array) -> pa.Array:
        typed = type_values(values.cast(pa.string()), type_names.cast(pa.string()))
        return typed.field("value_error").is_null()

    judged = _with_column(
        entries, "fits", fits, BooleanType(), "config_value", "config_type"
    )
    return judged.where("fits").drop("fits")


def with_possible_types(pushes: DataFrame, type_keys: ClientTypeKeys) -> DataFrame:
    """Say what types of client pushes may be of; use with transform.

    Args:
        pushes: Has config_keys, an array of texts.
        type_keys: As find_possible_types takes them.
    Returns: The rows with `possible_types`, bits.
    """

    def find(config_keys: pa.Array) -> pa.Array:
        return find_possible_types(config_keys, type_keys)

    return _with_column(pushes, "possible_types", find, LongType(), "config_keys")


def with_logical_clients(pushes: DataFrame) -> DataFrame:
    """Put client_type and logical_client of pushes anew; use with transform.

    Args:
        pushes: Has principal, client_id and possible_types.
    Returns: The rows with what name_logical_clients says of them.
    """

    def name(principal: pa.Array, client_id: pa.Array, types: pa.Array) -> pa.Array:
        return name_logical_clients(principal, client_id, types)

    others = pushes.drop(*(field.name for field in CLIENT_TYPE))
    kind = StructType(spark_fields(CLIENT_TYPE))
    given = ("principal", "client_id", "possible_types")
    named = _with_column(others, "who", name, kind, *given)
    return named.select("*", "who.*").drop("who")


def select_histories(holdings: DataFrame) -> DataFrame:
    """Make the history of logical clients; use with transform.

    Args:
        holdings: HOLDING_SCHEMA; all pushes of a logical client in one partition.
    Returns: HISTORY_SCHEMA.
    Shape: As in `histories.make_histories`. A partition is in memory at once.
    """
    output = StructType(spark_fields(HISTORY_SCHEMA))
    schema = arrow_schema(output)

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = [b.select(HOLDING_SCHEMA.names).cast(HOLDING_SCHEMA) for b in batches]
        if not parts:
            return
        whole = pa.Table.from_batches(parts).combine_chunks().to_batches()
        if whole:
            yield make_histories(whole[0]).cast(schema)

    return holdings.select(*HOLDING_SCHEMA.names).mapInArrow(
        keeping_loaded(make), output
    )


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
