"""Typed values over whole columns.

Strategy: values and types repeat all over a batch, so each different pair of a type
that has to be parsed is parsed once, by config_values.parse_value; texts are trimmed by
Arrow, without a loop. The results are spread over the rows by index.
Source: as values.
"""

from collections.abc import Set as AbstractSet

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from udfs.sensitive.typed_values import (
    INVALID,
    PARSERS,
    SECRET_TYPES,
    TEXT_TYPES,
    parse_value,
)
from udfs.text_codes import CodedTexts, Codes, Mask, code_texts, combine_codes, texts_at

INVALID_VALUE = INVALID.value
VALUE_TYPE = pa.struct(
    [
        ("value_boolean", pa.bool_()),
        ("value_long", pa.int64()),
        ("value_double", pa.float64()),
        ("value_list", pa.list_(pa.string())),
        ("value_string", pa.string()),
        ("value_error", pa.string()),
    ]
)
"""One of the values is set, or none; value_error is null or INVALID_VALUE."""

_COLUMN_OF_TYPE = {
    "BOOLEAN": "value_boolean",
    "INT": "value_long",
    "SHORT": "value_long",
    "LONG": "value_long",
    "DOUBLE": "value_double",
    "LIST": "value_list",
}
_JAVA_TRIMS = "".join(map(chr, range(0x21)))


def type_values(
    values: pa.StringArray | pa.DictionaryArray | CodedTexts,
    type_names: pa.StringArray | pa.DictionaryArray | CodedTexts,
    is_there: Mask | None = None,
) -> pa.StructArray:
    """Parse values by their types, as Java's clients do.

    Args:
        values: string, as they were sent.
        type_names: string, names of ConfigDef.Type, same length; any other text, and
            null, for a type unknown.
        is_there: For each row whether its value counts; without it, nulls do not.
    Returns: VALUE_TYPE; value_long holds INT, SHORT and LONG, value_string the trimmed
        text of STRING and CLASS and the whole text of a type unknown.
    Shape: n rows in, n rows out, same order; columns may be dictionary-encoded.
    Nulls: A null value and every PASSWORD have nothing set and no error.
    Errors: value_error is INVALID_VALUE where the text does not fit its type; then
        nothing else is set. Never raises for data.
    Source: values.parse_value.
    """
    texts, types = code_texts(values), code_texts(type_names)
    names = types.texts.to_pylist()
    if is_there is None:
        is_there = _find_there(values)
    is_parsed = _mark(names, types.codes, PARSERS.keys()) & is_there
    rows = np.flatnonzero(is_parsed)
    first, places = combine_codes([types.take(rows), texts.take(rows)])
    columns = _parse_different(rows[first], types, texts)
    index = np.zeros(len(texts.codes), np.int64)
    index[rows] = places
    taken = pa.array(index, pa.int64(), mask=~is_parsed)
    columns = {name: column.take(taken) for name, column in columns.items()}
    columns["value_string"] = _take_texts(names, types.codes, texts, is_there)
    return pa.StructArray.from_arrays(
        [columns[field.name] for field in VALUE_TYPE], fields=list(VALUE_TYPE)
    )


def _find_there(values: pa.StringArray | pa.DictionaryArray | CodedTexts) -> Mask:
    if isinstance(values, CodedTexts):
        return np.ones(len(values.codes), np.bool_)
    return np.asarray(pc.is_valid(values).to_numpy(zero_copy_only=False), np.bool_)


def _parse_different(
    rows: Codes, types: CodedTexts, texts: CodedTexts
) -> dict[str, pa.Array]:
    """Parse what stands in these rows; each column has one value a row, or null."""
    parsed: dict[str, list[object]] = {
        field.name: [None] * len(rows) for field in VALUE_TYPE
    }
    for place, (type_name, text) in enumerate(texts_at(rows, [types, texts])):
        value = parse_value(type_name, text)
        if value is INVALID:
            parsed["value_error"][place] = INVALID_VALUE
        else:
            parsed[_COLUMN_OF_TYPE[type_name]][place] = value
    return {
        field.name: pa.array(parsed[field.name], field.type) for field in VALUE_TYPE
    }


def _take_texts(
    names: list[str], type_codes: Codes, texts: CodedTexts, is_there: Mask
) -> pa.StringArray:
    """Return trimmed texts for TEXT_TYPES, whole ones for a type unknown, else null."""
    trimmed = pc.utf8_trim(texts.texts, characters=_JAVA_TRIMS)
    both = pa.concat_arrays([texts.texts, trimmed])
    is_trimmed = _mark(names, type_codes, TEXT_TYPES)
    is_other = _mark(names, type_codes, PARSERS.keys() | SECRET_TYPES)
    index = texts.codes + is_trimmed * len(texts.texts)
    return both.take(pa.array(index, pa.int64(), mask=is_other | ~is_there))


def _mark(names: list[str], codes: Codes, wanted: AbstractSet[str]) -> Mask:
    return np.asarray([name in wanted for name in names], np.bool_)[codes]
