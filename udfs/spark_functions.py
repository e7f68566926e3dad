"""Kernels as functions of SQL, a column at a time; their meaning stands there.

None raises for data: what is wrong with a value, a body or a codec is a value itself,
as in the tables that jobs make of the same kernels.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.pandas import functions
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    StringType,
    StructField,
    StructType,
)

from udfs.compression.codecs import COMPRESSION_NAMES
from udfs.configs.defaults import DEFAULT_SCHEMA, KnownDefaults, make_known_defaults
from udfs.configs.described_configs import (
    PLACE_COLUMNS,
    resolve_config_defaults,
)
from udfs.configs.entries import PUSHED_ENTRY_TYPE
from udfs.configs.value_columns import VALUE_TYPE, type_values
from udfs.otlp.metrics import POINT_SCHEMA, iter_decoded
from udfs.otlp.schema import OK
from udfs.sensitive.sensitive_key_columns import judge_entries
from udfs.sensitive.sensitive_key_rules import ALLOW
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .spark_types import spark_fields

__all__ = [
    "DECODED_PUSH_TYPE",
    "DEFAULT_SCHEMA",
    "TYPED_CONFIG_TYPE",
    "defaults_of",
    "make_config_status",
    "make_decode_push",
    "make_is_sensitive",
    "make_known_defaults",
    "make_typed_config",
]

TYPED_CONFIG_TYPE = StructType(spark_fields(VALUE_TYPE))
"""A value by its type, as the kernel's VALUE_TYPE has it."""
DECODED_PUSH_TYPE = StructType(
    [
        StructField("decode_status", StringType()),
        StructField("detail", StringType()),
        StructField("points", ArrayType(StructType(spark_fields(POINT_SCHEMA)))),
    ]
)
"""What became of a push, and its points as the kernel's POINT_SCHEMA has them."""
# The stubs lack the form whose kind is told by its hints.
_pandas_udf: Any = functions.pandas_udf
_CODEC_IDS = {name: codec_id for codec_id, name in COMPRESSION_NAMES.items()}


def defaults_of(config_defaults: DataFrame) -> KnownDefaults:
    """Collect the defaults that clients have told, for the kernel.

    Args:
        config_defaults: The table.
    """
    return make_known_defaults(config_defaults.select(*DEFAULT_SCHEMA.names).toArrow())


def make_is_sensitive(rules: SensitiveKeyRules) -> Any:  # noqa: ANN401 - pyspark types it so
    """Return whether rules hide an entry, from key, value, type and software.

    Nulls: A null is judged as the empty text; the answer is never null.
    """

    def is_sensitive(
        key: pd.Series, value: pd.Series, type_name: pd.Series, software: pd.Series
    ) -> pd.Series:
        texts = map(_texts, (key, value, type_name, software))
        return _as_series(_find_hidden(*texts, rules=rules), key)

    return _pandas_udf(is_sensitive, BooleanType())


def make_typed_config(types: Mapping[str, str]) -> Any:  # noqa: ANN401 - pyspark types it so
    """Return a value by its type, from key, value and type.

    Args:
        types: Key to the type that a null type stands for.
    Nulls: As in `value_columns.type_values`.
    Errors: value_error, as there; never raises for data.
    """

    def typed_config(
        key: pd.Series, value: pd.Series, type_name: pd.Series
    ) -> pd.DataFrame:
        known = pa.array([types.get(one) for one in key], pa.string())
        typed = type_values(_texts(value), pc.coalesce(_texts(type_name), known))
        return _as_frame(typed, key)

    return _pandas_udf(typed_config, TYPED_CONFIG_TYPE)


def make_config_status(rules: SensitiveKeyRules, defaults: KnownDefaults) -> Any:  # noqa: ANN401 - pyspark types it so
    """Return what an entry is, as client_configs says it.

    Args:
        rules: They say what is hidden, and which keys are catalogued.
        defaults: Those of all places of software that are asked about.
    Nulls: A null value counts as one that was hidden: `redacted`.
    Errors: `invalid_value` where a value does not fit its type; never raises for data.
    """

    def config_status(  # noqa: PLR0917 - columns of SQL have places, no names
        key: pd.Series,
        value: pd.Series,
        type_name: pd.Series,
        is_default: pd.Series,
        software: pd.Series,
        version: pd.Series,
        client_type: pd.Series,
    ) -> pd.Series:
        keys, values, types = map(_texts, (key, value, type_name))
        places = list(map(_texts, (software, version, client_type)))
        is_hidden = _find_hidden(keys, values, types, places[0], rules=rules)
        shown = pc.if_else(is_hidden, pa.scalar(None, pa.string()), values)
        flags = pa.array(is_default, pa.bool_(), from_pandas=True)
        entries = pa.StructArray.from_arrays(
            [keys, shown, types, flags], fields=list(PUSHED_ENTRY_TYPE)
        )
        pushes = pa.ListArray.from_arrays(
            pa.array(range(len(key) + 1), pa.int32()), entries
        )
        described = resolve_config_defaults(
            pushes,
            pa.RecordBatch.from_arrays(places, names=list(PLACE_COLUMNS)),
            rules=rules,
            defaults=defaults,
            has_references=False,
        )
        return _as_series(described.flatten().field("status"), key)

    return _pandas_udf(config_status, StringType())


def make_decode_push(max_decompressed_bytes: int) -> Any:  # noqa: ANN401 - pyspark types it so
    """Return what is in a push, from its body and the name of its codec.

    Args:
        max_decompressed_bytes: Largest push after decompression, in bytes.
    Nulls: No body is `null_value`; no codec, or none of Kafka's, `unknown_codec`.
        Points are null of a push that cannot be decoded, and empty of an empty one.
    Errors: decode_status and detail, as in `otlp.metrics.iter_decoded`; never raises
        for data.
    """

    def decode_push(body: pd.Series, codec: pd.Series) -> pd.DataFrame:
        ids = pa.array([_CODEC_IDS.get(one) for one in codec], pa.int32())
        bodies = pa.array(body, pa.binary(), from_pandas=True)
        rows: list[tuple[str, str | None, list[dict[str, Any]] | None]] = []
        for part in iter_decoded(
            bodies, ids, max_decompressed_bytes=max_decompressed_bytes
        ):
            points = part.points.to_pylist(maps_as_pydicts="lossy")
            ends = part.offsets.to_pylist()
            for place, push in enumerate(part.pushes.to_pylist()):
                own = points[ends[place] : ends[place + 1]]
                status = push["decode_status"]
                rows.append((status, push["detail"], own if status == OK else None))
        return pd.DataFrame(
            rows, index=body.index, columns=DECODED_PUSH_TYPE.names, dtype=object
        )

    return _pandas_udf(decode_push, DECODED_PUSH_TYPE)


def _texts(column: pd.Series) -> pa.StringArray:
    return pa.array(column, pa.string(), from_pandas=True)


def _find_hidden(
    keys: pa.StringArray,
    values: pa.StringArray,
    types: pa.StringArray,
    software: pa.StringArray,
    *,
    rules: SensitiveKeyRules,
) -> pa.BooleanArray:
    verdicts = judge_entries(keys, values, types, software, rules)
    return pc.not_equal(verdicts.field("action"), ALLOW)


def _as_series(column: pa.Array, like: pd.Series) -> pd.Series:
    return pd.Series(column.to_pylist(), index=like.index, dtype=object)


def _as_frame(rows: pa.StructArray, like: pd.Series) -> pd.DataFrame:
    """Return fields as columns of objects: pandas has no null in a column of longs."""
    columns = {
        field.name: _as_series(rows.field(field.name), like) for field in rows.type
    }
    return pd.DataFrame(columns, index=like.index)
