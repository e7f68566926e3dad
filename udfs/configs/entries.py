"""Decoded entries after the rules for sensitive keys: stored entries and violations.

Strategy: the rules decide each different entry of a batch once. A value that the rules
hide is in no column that comes back. Nothing raises for data.
Source: KIP-1324; docs/decisions/0015.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from udfs.sensitive.config_key_names import NO_NAME
from udfs.sensitive.redacted_keys import read_redactions
from udfs.sensitive.sensitive_key_columns import judge_coded
from udfs.sensitive.sensitive_key_rules import ALLOW, REDACT
from udfs.sensitive.sensitive_keys import SensitiveKeyRules
from udfs.text_codes import CodedTexts, Codes, Mask, code_texts, combine_codes, texts_at

from .content_hashes import hash_entries
from .pushes import OK, DecodedConfigs

PUSHED_ENTRY_TYPE = pa.struct(
    [
        ("config_key", pa.string()),
        ("config_value", pa.string()),
        ("config_type", pa.string()),
        ("is_default", pa.bool_()),
    ]
)
"""One stored entry; config_value is the text as it was sent."""
VIOLATION_TYPE = pa.struct(
    [("config_key", pa.string()), ("rule", pa.string()), ("action", pa.string())]
)
"""One sensitive entry; never its value. The key may be NO_NAME."""
CONFIG_PUSH_SCHEMA = pa.schema(
    [
        ("decode_status", pa.string()),
        ("content_hash", pa.string()),
        ("configs", pa.list_(PUSHED_ENTRY_TYPE)),
        ("violations", pa.list_(VIOLATION_TYPE)),
    ]
)
CONTEXT_COLUMNS = ("client_software_name", "redactions")
"""Columns of a push, besides its body, that decide about its entries."""


def judge_config_entries(
    decoded: DecodedConfigs, context: pa.RecordBatch, *, rules: SensitiveKeyRules
) -> pa.RecordBatch:
    """Apply the rules for sensitive keys to the entries of pushes.

    Args:
        decoded: From decode_config_pushes.
        context: CONTEXT_COLUMNS, string, a row for each push; redactions as in the
            header. A null is the empty string.
        rules: From sensitive_keys.compile_rules.
    Returns: CONFIG_PUSH_SCHEMA, a row for each push. An entry that a rule drops, or
        that is hidden and has no name that may be shown, is a violation only. A
        redacted entry has no config_value, an unknown type no config_type, and a push
        that could not be decoded no content_hash.
    """
    values = code_texts(decoded.values)
    software, headers = (
        _spread(context.column(name), decoded.pushes) for name in CONTEXT_COLUMNS
    )
    verdicts, which = judge_coded(
        decoded.keys, values, decoded.type_names, software, rules=rules
    )
    is_hidden = np.array([one.action != ALLOW for one in verdicts], np.bool_)[which]
    is_redacted = np.array([one.action == REDACT for one in verdicts], np.bool_)[which]
    shown = pa.array([rules.show_key(key) for key in decoded.keys.texts.to_pylist()])
    has_name = pc.not_equal(shown, NO_NAME).to_numpy(zero_copy_only=False)
    is_kept = ~is_hidden | (is_redacted & has_name[decoded.keys.codes])
    is_redacted |= find_redacted(decoded.keys, values, headers)
    hidden, kept = np.flatnonzero(is_hidden), np.flatnonzero(is_kept)
    violations = pa.StructArray.from_arrays(
        [
            shown.take(pa.array(decoded.keys.codes[hidden])),
            _take([one.rule for one in verdicts], which[hidden]),
            _take([one.action for one in verdicts], which[hidden]),
        ],
        fields=list(VIOLATION_TYPE),
    )
    configs = _select_stored(decoded, values, is_redacted).take(pa.array(kept))
    columns = [
        decoded.statuses,
        _hash_configs(decoded, kept, configs),
        _list_by_push(configs, decoded.pushes[kept], len(decoded.statuses)),
        _list_by_push(violations, decoded.pushes[hidden], len(decoded.statuses)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=CONFIG_PUSH_SCHEMA)


def find_redacted(keys: CodedTexts, values: CodedTexts, headers: CodedTexts) -> Mask:
    """Return which entries lost their value before they were written.

    Args:
        keys: Keys of entries.
        values: Their values, as the topic has them.
        headers: The headers of their pushes.
    Returns: True for an entry whose value is empty and whose key the header lists. A
        header may state that it omits some keys; then any empty value counts.
    """
    is_empty = pc.equal(values.texts, "").to_numpy(zero_copy_only=False)
    has_header = pc.not_equal(headers.texts, "").to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(is_empty[values.codes] & has_header[headers.codes])
    columns = [headers.take(rows), keys.take(rows)]
    first, places = combine_codes(columns)
    is_named = np.array(
        [_names_key(header, key) for header, key in texts_at(first, columns)], np.bool_
    )
    found = np.zeros(len(keys.codes), np.bool_)
    found[rows] = is_named[places]
    return found


def _names_key(header: str, key: str) -> bool:
    read = read_redactions(header)
    return read is not None and (read.more > 0 or key in read.redacted)


def _spread(texts: pa.StringArray, pushes: Codes) -> CodedTexts:
    coded = code_texts(texts)
    return CodedTexts(coded.codes[pushes], coded.texts)


def _select_stored(
    decoded: DecodedConfigs, values: CodedTexts, is_redacted: Mask
) -> pa.StructArray:
    """Return entries as PUSHED_ENTRY_TYPE."""
    types = decoded.type_names.texts
    types = pc.if_else(pc.equal(types, ""), pa.scalar(None, pa.string()), types)
    columns = [
        decoded.keys.texts.take(pa.array(decoded.keys.codes)),
        values.texts.take(pa.array(values.codes, mask=is_redacted)),
        types.take(pa.array(decoded.type_names.codes)),
        pa.array(decoded.is_default),
    ]
    return pa.StructArray.from_arrays(columns, fields=list(PUSHED_ENTRY_TYPE))


def _hash_configs(
    decoded: DecodedConfigs, kept: Codes, configs: pa.StructArray
) -> pa.StringArray:
    """Return the content hash of each push; null for one that is bad."""
    hashes = hash_entries(
        np.bincount(decoded.pushes[kept], minlength=len(decoded.statuses)),
        decoded.keys.take(kept),
        configs.field("config_value"),
        decoded.type_names.take(kept),
        decoded.is_default[kept],
    )
    is_ok = pc.equal(decoded.statuses, OK)
    return pc.if_else(is_ok, pa.array(hashes, pa.string()), None)


def _take(texts: list[str], codes: Codes) -> pa.StringArray:
    return pa.array(texts, pa.string()).take(pa.array(codes, pa.int64()))


def _list_by_push(items: pa.StructArray, pushes: Codes, count: int) -> pa.ListArray:
    counts = np.bincount(pushes, minlength=count)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items)
