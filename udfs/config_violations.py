"""Sensitive entries of pushes, one row each: those of the job's rules and a bridge's.

Strategy: the lists of all pushes are one column of keys; pushes and keys together are
texts, so that a key that a bridge has named is found by one look.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .sensitive_key_rules import REDACT
from .sensitive_keys import SensitiveKeyRules
from .text_codes import code_texts

BRIDGE, JOB = "bridge", "job"
REDACTED, DROPPED = "redacted", "dropped"
_SEPARATOR, _SPACE = ",", "\n"
_MORE = r"\Aand [0-9]{1,9} more\z"
"""What a header says of keys that it does not name."""

VIOLATION_ROW_SCHEMA = pa.schema(
    [
        ("push", pa.int64()),
        ("entry_index", pa.int32()),
        ("config_key", pa.string()),
        ("rule", pa.string()),
        ("action", pa.string()),
        ("found_by", pa.string()),
    ]
)
"""One sensitive entry; push is the place of its push."""


def list_violations(
    found: pa.ListArray, redacted_keys: pa.StringArray, rules: SensitiveKeyRules
) -> pa.RecordBatch:
    """List what rules found, and what a bridge had redacted before.

    Args:
        found: list of VIOLATION_TYPE for each push.
        redacted_keys: string, the header of each push, same length.
        rules: They say which keys may be shown.
    Returns: VIOLATION_ROW_SCHEMA; by push, a bridge's first, each in its order.
    Shape: A key that a bridge has redacted is one row: the rules find it again.
    Nulls: rule is null for a bridge's. A null header names nothing.
    """
    named = pc.split_pattern(pc.fill_null(redacted_keys, ""), _SEPARATOR)
    pushes, keys = _without_empty(named)
    own_pushes = pc.list_parent_indices(found).to_numpy()
    own = found.flatten()
    is_known = pc.is_in(
        _places(own_pushes, own.field("config_key")), _places(pushes, keys)
    )
    is_new = pc.invert(is_known)
    own, own_pushes = own.filter(is_new), own_pushes[is_new.to_numpy(False)]
    count, own_count = len(keys), len(own)
    actions = pc.if_else(pc.equal(own.field("action"), REDACT), REDACTED, DROPPED)
    columns = [
        pa.array(np.concatenate([pushes, own_pushes]), pa.int64()),
        _concat(_shown(keys, rules), own.field("config_key")),
        _concat(pa.nulls(count, pa.string()), own.field("rule")),
        _concat(pa.array([REDACTED] * count, pa.string()), actions),
        pa.array([BRIDGE] * count + [JOB] * own_count, pa.string()),
    ]
    order = np.argsort(columns[0].to_numpy(), kind="stable")
    sorted_pushes, *others = (one.take(pa.array(order)) for one in columns)
    indices = pa.array(_ranks(sorted_pushes.to_numpy()), pa.int32())
    return pa.RecordBatch.from_arrays(
        [sorted_pushes, indices, *others], schema=VIOLATION_ROW_SCHEMA
    )


def _without_empty(
    lists: pa.ListArray,
) -> tuple[npt.NDArray[np.int64], pa.StringArray]:
    """Return the texts of lists that are not empty, and whose they are."""
    texts = lists.flatten()
    is_text = pc.not_equal(texts, "")
    pushes = pc.list_parent_indices(lists).filter(is_text)
    return pushes.to_numpy(), texts.filter(is_text)


def _places(pushes: npt.NDArray[np.int64], keys: pa.StringArray) -> pa.StringArray:
    numbers = pa.array(pushes, pa.int64()).cast(pa.string())
    return pc.binary_join_element_wise(numbers, keys, _SPACE)


def _shown(keys: pa.StringArray, rules: SensitiveKeyRules) -> pa.StringArray:
    """Return keys of headers as they may be shown; anybody may have written them."""
    coded = code_texts(keys)
    is_more = pc.match_substring_regex(coded.texts, _MORE)
    shown = [rules.show_key(one) for one in coded.texts.to_pylist()]
    counted = pc.binary_join_element_wise("(", coded.texts, ")", "")
    texts = pc.if_else(is_more, counted, pa.array(shown, pa.string()))
    return texts.take(pa.array(coded.codes))


def _concat(first: pa.StringArray, second: pa.StringArray) -> pa.StringArray:
    return pa.concat_arrays([first.cast(pa.string()), second.cast(pa.string())])


def _ranks(pushes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the place of each row among those of its push, from 0."""
    first = np.searchsorted(pushes, pushes)
    return np.arange(len(pushes)) - first
