"""What a pushed configuration says: entries with types and statuses, and violations.

Strategy: bodies become columns (config_pushes), the rules for sensitive entries decide
them again (sensitive_key_columns), what is left is typed (config_value_columns) and
compared with the known defaults (config_defaults). All of it is done over a whole
batch, and each different combination is looked at once. Nothing raises for data.
A value that the rules hide is in no column that comes back.
Source: KIP-1324; docs/decisions/0015.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from udfs.sensitive.config_key_names import NO_NAME
from udfs.sensitive.sensitive_key_columns import judge_coded
from udfs.sensitive.sensitive_key_rules import ALLOW, REDACT
from udfs.sensitive.sensitive_keys import SensitiveKeyRules
from udfs.text_codes import CodedTexts, Codes, Mask, code_texts

from .content_hashes import hash_entries
from .defaults import KnownDefaults
from .pushes import OK, DecodedConfigs, decode_config_pushes
from .statuses import STATUSES, PushedEntries, find_redacted, find_statuses
from .value_columns import VALUE_TYPE, type_values

ENTRY_TYPE = pa.struct(
    [
        ("config_key", pa.string()),
        ("config_value", pa.string()),
        ("config_type", pa.string()),
        ("is_default", pa.bool_()),
        ("status", pa.string()),
        *(field for field in VALUE_TYPE if field.name != "value_error"),
    ]
)
"""One entry; config_value is the text as it was sent."""
VIOLATION_TYPE = pa.struct(
    [("config_key", pa.string()), ("rule", pa.string()), ("action", pa.string())]
)
"""One sensitive entry; never its value. The key may be NO_NAME."""
CONFIG_PUSH_SCHEMA = pa.schema(
    [
        ("decode_status", pa.string()),
        ("content_hash", pa.string()),
        ("configs", pa.list_(ENTRY_TYPE)),
        ("violations", pa.list_(VIOLATION_TYPE)),
    ]
)
CONTEXT_COLUMNS = (
    "client_software_name", "client_software_version", "client_type", "redacted_keys",
)  # fmt: skip
"""What is known of a push beside its body."""


def decode_configs(
    bodies: pa.BinaryArray | pa.LargeBinaryArray,
    context: pa.RecordBatch,
    *,
    rules: SensitiveKeyRules,
    defaults: KnownDefaults,
    max_bytes: int,
) -> pa.RecordBatch:
    """Decode pushes, hide what is sensitive in them, and say what each entry is.

    Args:
        bodies: binary, the values of records of the topic of configurations.
        context: CONTEXT_COLUMNS, string, same length; redacted_keys as in the header.
        rules: From sensitive_keys.compile_rules.
        defaults: From config_defaults.make_known_defaults.
        max_bytes: The largest body that is read.
    Returns: CONFIG_PUSH_SCHEMA.
    Shape: One row a push, same order; entries keep theirs. An entry that is dropped by
        a rule, or is hidden and has no name that may be shown, is a violation only.
    Nulls: A redacted entry has no config_value and nothing typed; a type unknown has no
        config_type; a push with an error no content_hash. Nulls in context are empty.
    Errors: decode_status is OK or one of those of pushes; never raises for data.
    """
    decoded = decode_config_pushes(bodies, max_bytes=max_bytes)
    entries = _with_context(decoded, context)
    verdicts, which = judge_coded(
        decoded.keys,
        entries.values,
        decoded.type_names,
        entries.places[0],
        rules=rules,
    )
    is_hidden = np.array([one.action != ALLOW for one in verdicts], np.bool_)[which]
    is_redacted = np.array([one.action == REDACT for one in verdicts], np.bool_)[which]
    shown = pa.array([rules.show_key(key) for key in decoded.keys.texts.to_pylist()])
    has_name = pc.not_equal(shown, NO_NAME).to_numpy(zero_copy_only=False)
    is_kept = ~is_hidden | (is_redacted & has_name[decoded.keys.codes])
    is_redacted |= find_redacted(entries)
    configs = make_entries(entries, is_redacted, rules, defaults)
    hidden = np.flatnonzero(is_hidden)
    violations = pa.StructArray.from_arrays(
        [
            shown.take(pa.array(decoded.keys.codes[hidden])),
            _take([one.rule for one in verdicts], which[hidden]),
            _take([one.action for one in verdicts], which[hidden]),
        ],
        fields=list(VIOLATION_TYPE),
    )
    kept = np.flatnonzero(is_kept)
    configs = configs.take(pa.array(kept))
    columns = [
        decoded.statuses,
        _hash_configs(decoded, kept, configs),
        _list_by_push(configs, decoded.pushes[kept], len(bodies)),
        _list_by_push(violations, decoded.pushes[hidden], len(bodies)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=CONFIG_PUSH_SCHEMA)


def _with_context(decoded: DecodedConfigs, context: pa.RecordBatch) -> PushedEntries:
    columns = []
    for name in CONTEXT_COLUMNS:
        coded = code_texts(context.column(name))
        columns.append(CodedTexts(coded.codes[decoded.pushes], coded.texts))
    *places, redacted_keys = columns
    return PushedEntries(
        decoded=decoded,
        values=code_texts(decoded.values),
        places=places,
        redacted_keys=redacted_keys,
    )


def make_entries(
    entries: PushedEntries,
    is_redacted: Mask,
    rules: SensitiveKeyRules,
    defaults: KnownDefaults,
) -> pa.StructArray:
    """Say what each entry is.

    Args:
        entries: Of a batch of pushes.
        is_redacted: Whether the value of an entry is hidden.
        rules: They know which keys are catalogued.
        defaults: From config_defaults.make_known_defaults.
    Returns: ENTRY_TYPE.
    Shape: One row an entry, same order.
    """
    decoded = entries.decoded
    typed = type_values(entries.values, decoded.type_names, ~is_redacted)
    error = typed.field("value_error")
    is_invalid = error.is_valid().to_numpy(zero_copy_only=False)
    statuses = find_statuses(entries, is_redacted, is_invalid, rules, defaults)
    values = {field.name: typed.field(field.name) for field in VALUE_TYPE}
    values["config_key"] = decoded.keys.texts.take(pa.array(decoded.keys.codes))
    values["config_value"] = entries.values.texts.take(
        pa.array(entries.values.codes, mask=is_redacted)
    )
    type_texts = decoded.type_names.texts
    type_texts = pc.if_else(pc.equal(type_texts, ""), None, type_texts)
    values["config_type"] = type_texts.take(pa.array(decoded.type_names.codes))
    values["is_default"] = pa.array(decoded.is_default)
    values["status"] = _take(list(STATUSES), statuses)
    return pa.StructArray.from_arrays(
        [values[field.name] for field in ENTRY_TYPE], fields=list(ENTRY_TYPE)
    )


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
