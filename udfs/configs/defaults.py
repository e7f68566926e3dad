"""Default values that are known of clients, ready to be looked up."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from udfs.sensitive.typed_values import is_same_value
from udfs.text_codes import CodedTexts, Mask, combine_codes, texts_at

DEFAULT_SCHEMA = pa.schema(
    [
        ("client_software_name", pa.string()),
        ("client_software_version", pa.string()),
        ("client_type", pa.string()),
        ("config_key", pa.string()),
        ("default_value", pa.string()),
    ]
)
"""One row for each key of a client type in a version of a software."""


@dataclass(frozen=True, slots=True)
class KnownDefaults:
    """Made by make_known_defaults."""

    by_key: Mapping[tuple[str, ...], str | None]
    """The columns of DEFAULT_SCHEMA but the last, to the last."""


def make_known_defaults(table: pa.Table) -> KnownDefaults:
    """Make a table of defaults ready to be looked up.

    Args:
        table: DEFAULT_SCHEMA; other columns are passed over. Where a key stands there
            more than once, its last row counts.
    Returns: The same; it can be sent to workers.
    Nulls: A null default is a key that is known and has none. Any other null is the
        empty text.
    """
    columns = [table.column(name).to_pylist() for name in DEFAULT_SCHEMA.names]
    return KnownDefaults(
        {
            tuple(text or "" for text in place): default
            for *place, default in zip(*columns, strict=True)
        }
    )


def compare_with_defaults(
    places: list[CodedTexts],
    type_names: CodedTexts,
    values: CodedTexts,
    defaults: KnownDefaults,
) -> tuple[Mask, Mask]:
    """Say which keys have a known default, and which values are the same as theirs.

    Args:
        places: The columns of DEFAULT_SCHEMA but the last.
        type_names: Names of ConfigDef.Type.
        values: As they were sent.
        defaults: From make_known_defaults.
    Returns: Two times bool for each row.
    Shape: n rows in, n rows out, same order.
    """
    first, at = combine_codes(places)
    looked_up = list(texts_at(first, places))
    is_known = np.array([one in defaults.by_key for one in looked_up], np.bool_)
    texts = [defaults.by_key.get(one) for one in looked_up]
    has_text = np.array([one is not None for one in texts], np.bool_)
    is_same = has_text[at]
    rows = np.flatnonzero(is_same)
    known = CodedTexts(at, pa.array([one or "" for one in texts] or [""], pa.string()))
    columns = [one.take(rows) for one in (type_names, values, known)]
    first, compared = combine_codes(columns)
    same = [is_same_value(*three) for three in texts_at(first, columns)]
    is_same[rows] = np.array(same, np.bool_)[compared]
    return is_known[at], is_same
