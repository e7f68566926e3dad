"""Stored entries of client configurations, judged again by the rules now in force.

Strategy: as config_entries decides entries before they are stored, by the same rules
and with the same outcome: a hidden entry loses its value, or is gone where its rule
drops it or its key may not be shown either.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from udfs.sensitive.config_key_names import NO_NAME
from udfs.sensitive.sensitive_key_columns import judge_coded
from udfs.sensitive.sensitive_key_rules import ALLOW, DROP, REDACT, Verdict
from udfs.sensitive.sensitive_keys import SensitiveKeyRules
from udfs.text_codes import CodedTexts, Codes, code_texts

from .content_hashes import hash_entries

STORED_ENTRY_TYPE = pa.struct(
    [
        ("config_key", pa.string()),
        ("config_value", pa.string()),
        ("config_type", pa.string()),
        ("is_default", pa.bool_()),
    ]
)
"""One entry as the tables have it; a null value was hidden before."""
PURGE_TYPE = pa.struct(
    [
        (
            "verdicts",
            pa.list_(
                pa.struct(
                    [
                        ("rule", pa.string()),
                        ("action", pa.string()),
                        ("shown_key", pa.string()),
                    ]
                )
            ),
        ),
        ("content_hash", pa.string()),
    ]
)
"""A verdict for each entry, and the hash of what is left of them."""


def judge_stored_entries(
    software_names: pa.StringArray, entries: pa.ListArray, rules: SensitiveKeyRules
) -> pa.StructArray:
    """Decide entries that are stored.

    Args:
        software_names: string, client_software_name.
        entries: Lists of STORED_ENTRY_TYPE, same length; each key once in a list where
            the hash matters.
        rules: From sensitive_keys.compile_rules.
    Returns: PURGE_TYPE. Actions are those of the rules, but drop as well where a value
        is hidden and its key may not be shown; shown_key is the key, or NO_NAME. The
        hash is that of config_entries, over the entries that are left.
    Shape: n rows in, n rows out, same order; a verdict for each entry, in its order.
    Nulls: A null list is an empty one; null texts are judged as the empty one.
    """
    parents = pc.list_parent_indices(entries).to_numpy().astype(np.int64)
    stored = entries.flatten()
    names = code_texts(software_names.cast(pa.string()))
    keys, types = (
        code_texts(stored.field(one)) for one in ("config_key", "config_type")
    )
    verdicts, which = judge_coded(
        keys,
        code_texts(stored.field("config_value")),
        types,
        CodedTexts(names.codes[parents], names.texts),
        rules=rules,
    )
    judged = _spread(verdicts, which, keys, rules)
    actions = judged.field("action")
    kept = np.flatnonzero(pc.not_equal(actions, DROP).to_numpy(zero_copy_only=False))
    left = pc.if_else(pc.equal(actions, ALLOW), stored.field("config_value"), None)
    is_default = pc.fill_null(stored.field("is_default"), fill_value=False)
    hashes = hash_entries(
        np.bincount(parents[kept], minlength=len(entries)),
        keys.take(kept),
        left.take(pa.array(kept)),
        types.take(kept),
        is_default.to_numpy(zero_copy_only=False)[kept],
    )
    counts = np.bincount(parents, minlength=len(entries))
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), judged)
    return pa.StructArray.from_arrays(
        [lists, pa.array(hashes, pa.string())], fields=list(PURGE_TYPE)
    )


def _spread(
    verdicts: list[Verdict], which: Codes, keys: CodedTexts, rules: SensitiveKeyRules
) -> pa.StructArray:
    """Return rule, action and shown_key of each entry."""
    places = pa.array(which, pa.int64())
    shown = pa.array([rules.show_key(key) for key in keys.texts.to_pylist()])
    shown_keys = shown.take(pa.array(keys.codes))
    actions = pa.array([one.action for one in verdicts], pa.string()).take(places)
    is_nameless = pc.and_(pc.equal(actions, REDACT), pc.equal(shown_keys, NO_NAME))
    names = pa.array([one.rule for one in verdicts], pa.string()).take(places)
    return pa.StructArray.from_arrays(
        [names, pc.if_else(is_nameless, DROP, actions), shown_keys],
        names=["rule", "action", "shown_key"],
    )
