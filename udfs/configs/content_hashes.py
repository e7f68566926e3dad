"""A hash of each list of entries, whatever their order.

Strategy: entries are written one after the other by push and key, each length before
its text, so that no two different lists are written alike; each push is hashed once.
"""

import hashlib
import itertools

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from udfs.text_codes import CodedTexts, Codes, Mask

_HASH_BYTES = 16
_COLON, _END = pa.scalar(":", pa.large_string()), pa.scalar(";", pa.large_string())


def hash_entries(
    counts: Codes,
    keys: CodedTexts,
    values: pa.StringArray,
    type_names: CodedTexts,
    is_default: Mask,
) -> list[str]:
    """Hash the entries of each push.

    Args:
        counts: Entries of each push.
        keys: Keys of the entries, one push after the other; each key once in a push.
        values: string; same length.
        type_names: Names of ConfigDef.Type; same length.
        is_default: Same length.
    Returns: 32 hexadecimal digits for each push, by BLAKE2b.
    Shape: As many as counts; the order of entries in a push makes no difference.
    Nulls: A null value is not the empty one.
    """
    ranks = np.empty(len(keys.texts), np.int64)
    ranks[pc.sort_indices(keys.texts).to_numpy()] = np.arange(len(keys.texts))
    pushes = np.repeat(np.arange(len(counts)), counts)
    order = np.argsort(pushes * len(ranks) + ranks[keys.codes])
    # Lengths and flags repeat, so each different text in front of others is made once.
    key_texts = _with_length(keys.texts).take(pa.array(keys.codes[order]))
    values = _with_length(values.take(pa.array(order)))
    flags = type_names.codes * 2 + is_default
    names = type_names.texts.to_pylist()
    flag_texts = [f"{name}:{flag}" for name in names for flag in "01"]
    flag_column = pa.array(flag_texts, pa.large_string()).take(pa.array(flags[order]))
    written = pc.binary_join_element_wise(key_texts, values, flag_column, _END)
    _, offsets, data = written.buffers()
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    cuts = np.frombuffer(offsets, np.int64)[written.offset :][ends].tolist()
    view = memoryview(data if data is not None else b"")
    return [
        hashlib.blake2b(view[start:end], digest_size=_HASH_BYTES).hexdigest()
        for start, end in itertools.pairwise(cuts)
    ]


def _with_length(texts: pa.StringArray) -> pa.LargeStringArray:
    """Return texts with their lengths in front; "-" for a null."""
    large = texts.cast(pa.large_string())
    lengths = pc.binary_length(large).cast(pa.large_string())
    return pc.fill_null(pc.binary_join_element_wise(lengths, large, _COLON), "-")
