"""Sensitive entries of pushes, one row each: those of the job's rules and a bridge's.

Strategy: headers repeat all over a batch, so each different one is read once and its
entries are spread over the pushes by index. Pushes and keys together are texts, so that
a key that both have found is found by one look.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from udfs.sensitive.config_key_names import NO_NAME
from udfs.sensitive.redacted_keys import (
    DROPPED,
    REDACTED,
    RedactedKeys,
    read_redactions,
)
from udfs.sensitive.sensitive_key_rules import REDACT
from udfs.sensitive.sensitive_keys import SensitiveKeyRules
from udfs.text_codes import code_texts

BRIDGE, JOB = "bridge", "job"
_SPACE = "\n"

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
_NOTHING = RedactedKeys((), frozenset(), 0)
_NAMED_TYPE = pa.struct(list(VIOLATION_ROW_SCHEMA)[2:5])

Numbers = npt.NDArray[np.int64]


def list_violations(
    found: pa.ListArray, redactions: pa.StringArray, rules: SensitiveKeyRules
) -> pa.RecordBatch:
    """List what rules found, and what a bridge had hidden before.

    Args:
        found: list of VIOLATION_TYPE for each push.
        redactions: string, the header of each push, same length.
        rules: They say which keys may be shown.
    Returns: VIOLATION_ROW_SCHEMA; by push, a bridge's first, each in its order.
    Shape: A key that both have found is one row, the bridge's; entries whose keys may
        not be shown are a row each. Keys that a bridge has only counted are one
        row, whose key says how many.
    Nulls: rule is null in the row of keys that are only counted. A null header names
        nothing.
    """
    named, named_pushes = _read_headers(redactions, rules)
    own, own_pushes = found.flatten(), _parents(found)
    places = _places(named_pushes, named.field("config_key"))
    own_places = _places(own_pushes, own.field("config_key"))
    is_known = pc.is_in(own_places, places, skip_nulls=True)
    new = np.flatnonzero(pc.invert(is_known))
    is_new = pa.array(new)
    columns = [
        pa.array(np.concatenate([named_pushes, own_pushes[new]]), pa.int64()),
        _concat(named.field("config_key"), own.field("config_key").take(is_new)),
        _concat(named.field("rule"), own.field("rule").take(is_new)),
        _concat(named.field("action"), _actions(own).take(is_new)),
        pa.array([BRIDGE] * len(named) + [JOB] * len(new), pa.string()),
    ]
    order = np.argsort(columns[0].to_numpy(), kind="stable")
    sorted_pushes, *others = (one.take(pa.array(order)) for one in columns)
    indices = pa.array(_ranks(sorted_pushes.to_numpy()), pa.int32())
    return pa.RecordBatch.from_arrays(
        [sorted_pushes, indices, *others], schema=VIOLATION_ROW_SCHEMA
    )


def _read_headers(
    headers: pa.StringArray, rules: SensitiveKeyRules
) -> tuple[pa.StructArray, Numbers]:
    """Return what headers name, as it may be shown, and whose it is."""
    coded = code_texts(headers)
    read = [read_redactions(one) or _NOTHING for one in coded.texts.to_pylist()]
    # Anybody may have written a header, its rules as well.
    texts = {text for one in read for entry in one.violations for text in entry[:2]}
    shown = {
        text: text if text in rules.names else rules.show_key(text) for text in texts
    }
    named = [
        [(shown[key], shown[rule], action) for key, rule, action in one.violations]
        + ([(f"(and {one.more} more)", None, REDACTED)] if one.more else [])
        for one in read
    ]
    lists = pa.array(named, pa.list_(_NAMED_TYPE)).take(pa.array(coded.codes))
    return lists.flatten(), _parents(lists)


def _actions(own: pa.StructArray) -> pa.StringArray:
    """Return what becomes of entries: without a name that may be shown they go."""
    is_kept = pc.and_(
        pc.equal(own.field("action"), REDACT),
        pc.not_equal(own.field("config_key"), NO_NAME),
    )
    return pc.if_else(is_kept, REDACTED, DROPPED)


def _parents(lists: pa.ListArray) -> Numbers:
    parents: Numbers = pc.list_parent_indices(lists).to_numpy().astype(np.int64)
    return parents


def _places(pushes: Numbers, keys: pa.StringArray) -> pa.StringArray:
    """Return push and key of each as one text; null where the key is not known."""
    numbers = pa.array(pushes, pa.int64()).cast(pa.string())
    known = pc.if_else(pc.equal(keys, NO_NAME), pa.scalar(None, pa.string()), keys)
    return pc.binary_join_element_wise(numbers, known, _SPACE)


def _concat(first: pa.StringArray, second: pa.StringArray) -> pa.StringArray:
    return pa.concat_arrays([first.cast(pa.string()), second.cast(pa.string())])


def _ranks(pushes: Numbers) -> Numbers:
    """Return the place of each row among those of its push, from 0."""
    first = np.searchsorted(pushes, pushes)
    return np.arange(len(pushes)) - first
