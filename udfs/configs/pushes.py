"""Bodies of PushConfig, as in the topic of configurations, to columns of entries.

Strategy: push_walk finds where entries stand; keys and values are copied into
Arrow's columns once, and Arrow says whether they are UTF-8. Only where it says no are
they read one by one, to find whose they are. Nothing raises for data.
What comes back when bytes are short or bad: a status for the push, and no entries.
Source: KIP-1324, PushConfigRequest.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from udfs.sensitive.sensitive_key_rules import CONFIG_TYPE_NAMES
from udfs.text_codes import CodedTexts, code_texts

from . import push_walk as w

OK = "ok"
NULL_VALUE = "null_value"
TOO_LARGE = "too_large"
TRUNCATED_PUSH_CONFIG = "truncated_push_config"
MALFORMED_PUSH_CONFIG = "malformed_push_config"
INVALID_UTF8 = "invalid_utf8"

Numbers = npt.NDArray[np.int64]

_STATUS_NAMES = {
    w.OK: OK,
    w.TRUNCATED: TRUNCATED_PUSH_CONFIG,
    w.MALFORMED: MALFORMED_PUSH_CONFIG,
    w.TOO_LARGE: TOO_LARGE,
    w.NULL: NULL_VALUE,
}
_BAD_TEXT = len(_STATUS_NAMES)
_STATUSES = pa.array([*_STATUS_NAMES.values(), INVALID_UTF8])
_TYPES = pa.array([*CONFIG_TYPE_NAMES, ""])
_NO_TYPE = len(CONFIG_TYPE_NAMES)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedConfigs:
    """Entries of many pushes, side by side."""

    statuses: pa.StringArray
    """Of each push: OK, or what is wrong with it."""
    pushes: Numbers
    """For each entry the index of its push; ascending."""
    keys: CodedTexts
    values: pa.StringArray
    type_names: CodedTexts
    """Names of ConfigDef.Type; empty for a number that is none."""
    is_default: npt.NDArray[np.bool_]


def decode_config_pushes(
    bodies: pa.BinaryArray | pa.LargeBinaryArray, *, max_bytes: int
) -> DecodedConfigs:
    """Decode the bodies of many pushes.

    Args:
        bodies: binary, the values of records of the topic of configurations.
        max_bytes: The largest body that is read.
    Returns: Entries, and one status for each push.
    Shape: Pushes keep their order, and entries theirs. Where a push has a key more than
        once, its last entry is the one that counts; the others are left out.
    Nulls: A null body is a push with the status NULL_VALUE.
    Errors: NULL_VALUE, TOO_LARGE, TRUNCATED_PUSH_CONFIG, MALFORMED_PUSH_CONFIG (null
        keys and values, and trailing bytes, too) and INVALID_UTF8. Such a push has no
        entries and does not touch its neighbours. Never raises for data.
    """
    data, offsets = _bytes_of(bodies)
    is_null = pc.is_null(bodies).to_numpy(zero_copy_only=False).astype(np.uint8)
    counts = np.zeros(len(bodies), np.int64)
    statuses = np.zeros(len(bodies), np.int64)
    entries = np.zeros((w.ENTRY_ROWS, 0), np.int64)
    total = w.walk_pushes(data, offsets, is_null, max_bytes, entries, counts, statuses)
    entries = np.zeros((w.ENTRY_ROWS, total), np.int64)
    w.walk_pushes(data, offsets, is_null, max_bytes, entries, counts, statuses)
    pushes = np.repeat(np.arange(len(bodies)), counts)
    keys = _texts(data, entries[w.KEY_AT], entries[w.KEY_BYTES])
    values = _texts(data, entries[w.VALUE_AT], entries[w.VALUE_BYTES])
    is_bad = _find_bad_texts(keys) | _find_bad_texts(values)
    if is_bad.any():
        statuses[pushes[is_bad]] = _BAD_TEXT
        kept = np.flatnonzero(statuses[pushes] == w.OK)
        pushes, entries = pushes[kept], entries[:, kept]
        keys, values = keys.take(pa.array(kept)), values.take(pa.array(kept))
    coded = code_texts(keys.cast(pa.string()))
    last = _find_last(pushes, coded)
    if last is not None:
        pushes, entries, values = (
            pushes[last],
            entries[:, last],
            values.take(pa.array(last)),
        )
        coded = CodedTexts(coded.codes[last], coded.texts)
    type_ids = entries[w.TYPE_ID]
    is_type = (type_ids >= 0) & (type_ids < _NO_TYPE)
    return DecodedConfigs(
        statuses=_STATUSES.take(pa.array(statuses)),
        pushes=pushes,
        keys=coded,
        values=values.cast(pa.string()),
        type_names=CodedTexts(np.where(is_type, type_ids, _NO_TYPE), _TYPES),
        is_default=entries[w.IS_DEFAULT] != 0,
    )


def _bytes_of(
    bodies: pa.BinaryArray | pa.LargeBinaryArray,
) -> tuple[npt.NDArray[np.uint8], Numbers]:
    """Return the bytes of all bodies, and where each begins and the last one ends."""
    is_large = pa.types.is_large_binary(bodies.type)
    _, offsets, data = bodies.buffers()
    if offsets is None or offsets.size == 0:
        return np.zeros(0, np.uint8), np.zeros(1, np.int64)
    numbers = np.frombuffer(offsets, np.int64 if is_large else np.int32)
    shown = numbers[bodies.offset : bodies.offset + len(bodies) + 1].astype(np.int64)
    return np.frombuffer(data if data is not None else b"", np.uint8), shown


def _texts(
    data: npt.NDArray[np.uint8], starts: Numbers, lengths: Numbers
) -> pa.LargeBinaryArray:
    """Return texts of the data as a column, not yet known to be UTF-8."""
    ends = np.cumsum(lengths)
    out = np.zeros(ends[-1] if len(ends) else 0, np.uint8)
    w.copy_texts(data, np.ascontiguousarray(starts), ends, out)
    offsets = np.concatenate([np.zeros(1, np.int64), ends])
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(starts), [None, pa.py_buffer(offsets), pa.py_buffer(out)]
    )


def _find_bad_texts(texts: pa.LargeBinaryArray) -> npt.NDArray[np.bool_]:
    """Say which texts are not UTF-8."""
    try:
        texts.view(pa.large_string()).validate(full=True)
    except pa.ArrowInvalid:
        return np.array([not _is_utf8(one) for one in texts.to_pylist()], np.bool_)
    return np.zeros(len(texts), np.bool_)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _find_last(pushes: Numbers, keys: CodedTexts) -> Numbers | None:
    """Return the last entry of each key of each push; None where all are."""
    codes = pushes * len(keys.texts) + keys.codes
    if pc.count_distinct(pa.array(codes)).as_py() == len(codes):
        return None
    backwards = codes[::-1]
    _, first = np.unique(backwards, return_index=True)
    return np.sort(len(codes) - 1 - first)
