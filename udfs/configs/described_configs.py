"""Stored entries of pushes with what they are: typed values and statuses.

What an entry is depends on the defaults that are known, and these on other pushes. So
it is said of what is stored, whenever that is looked at, and not when a push is read.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from udfs.sensitive.sensitive_keys import SensitiveKeyRules
from udfs.text_codes import CodedTexts, Codes, Mask, code_texts, combine_codes, texts_at

from .defaults import KnownDefaults
from .entries import PUSHED_ENTRY_TYPE
from .statuses import STATUSES, PushedEntries, find_statuses
from .value_columns import VALUE_TYPE, type_values

ENTRY_TYPE = pa.struct(
    [
        *PUSHED_ENTRY_TYPE,
        ("status", pa.string()),
        *(field for field in VALUE_TYPE if field.name != "value_error"),
    ]
)
"""One entry; config_value is the text as it was sent."""
PLACE_COLUMNS = ("client_software_name", "client_software_version", "client_type")
_DEFAULT = "default"
_VALUES = tuple(
    field.name
    for field in ENTRY_TYPE
    if field.name == "config_value" or field.name.startswith("value_")
)


def resolve_config_defaults(
    configs: pa.ListArray,
    places: pa.RecordBatch,
    *,
    rules: SensitiveKeyRules,
    defaults: KnownDefaults,
    has_references: bool,
) -> pa.ListArray:
    """Resolve stored entries against the known defaults: statuses and typed values.

    Args:
        configs: list of PUSHED_ENTRY_TYPE, one a push; config_value is null where it
            was redacted.
        places: PLACE_COLUMNS, string, same length.
        rules: They know which keys are catalogued.
        defaults: From config_defaults.make_known_defaults.
        has_references: Whether an entry that its client calls a default, and that is
            the known default, goes without its value. One that does not fit its type
            keeps it: no view would fill it in.
    Returns: list of ENTRY_TYPE.
    Shape: One list a push, same order; entries keep theirs.
    Nulls: A redacted entry has nothing typed. Nulls in places are empty.
    Errors: status is one of statuses.STATUSES; never raises for data.
    """
    pushes = pc.list_parent_indices(configs).to_numpy()
    flat = configs.flatten()
    values = flat.field("config_value")
    is_redacted = values.is_null().to_numpy(zero_copy_only=False)
    is_default = flat.field("is_default").fill_null(False)
    entries = PushedEntries(
        keys=code_texts(flat.field("config_key")),
        values=code_texts(values),
        type_names=code_texts(flat.field("config_type")),
        is_default=is_default.to_numpy(zero_copy_only=False),
        places=[_spread(places.column(name), pushes) for name in PLACE_COLUMNS],
    )
    made = _make_entries(entries, is_redacted, rules, defaults)
    if has_references:
        is_plain = pc.equal(made.field("status"), _DEFAULT)
        is_plain = is_plain.to_numpy(zero_copy_only=False)
        made = _without_values(made, _find_references(entries, is_plain, defaults))
    counts = pc.fill_null(pc.list_value_length(configs), 0).to_numpy()
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), made)


def _make_entries(
    entries: PushedEntries,
    is_redacted: Mask,
    rules: SensitiveKeyRules,
    defaults: KnownDefaults,
) -> pa.StructArray:
    """Return entries as ENTRY_TYPE, in the same order."""
    typed = type_values(entries.values, entries.type_names, ~is_redacted)
    error = typed.field("value_error")
    is_invalid = error.is_valid().to_numpy(zero_copy_only=False)
    statuses = find_statuses(entries, is_redacted, is_invalid, rules, defaults)
    values = {field.name: typed.field(field.name) for field in VALUE_TYPE}
    values["config_key"] = entries.keys.texts.take(pa.array(entries.keys.codes))
    values["config_value"] = entries.values.texts.take(
        pa.array(entries.values.codes, mask=is_redacted)
    )
    type_texts = entries.type_names.texts
    type_texts = pc.if_else(pc.equal(type_texts, ""), None, type_texts)
    values["config_type"] = type_texts.take(pa.array(entries.type_names.codes))
    values["is_default"] = pa.array(entries.is_default)
    values["status"] = pa.array(STATUSES).take(pa.array(statuses))
    return pa.StructArray.from_arrays(
        [values[field.name] for field in ENTRY_TYPE], fields=list(ENTRY_TYPE)
    )


def _spread(texts: pa.StringArray, pushes: Codes) -> CodedTexts:
    coded = code_texts(texts)
    return CodedTexts(coded.codes[pushes], coded.texts)


def _find_references(
    entries: PushedEntries, is_plain: Mask, defaults: KnownDefaults
) -> Mask:
    """Say which entries are, letter by letter, the default that is known.

    Args:
        entries: Of a batch of pushes.
        is_plain: Whether the status of an entry is that of a default.
        defaults: From config_defaults.make_known_defaults.
    """
    rows = np.flatnonzero(is_plain)
    columns = [
        one.take(rows) for one in (*entries.places, entries.keys, entries.values)
    ]
    first, at = combine_codes(columns)
    is_known = np.array(
        [
            defaults.by_key.get(tuple(place)) == value
            for *place, value in texts_at(first, columns)
        ],
        np.bool_,
    )
    found = np.zeros(len(is_plain), np.bool_)
    found[rows] = is_known[at]
    return found


def _without_values(entries: pa.StructArray, is_reference: Mask) -> pa.StructArray:
    kept = pa.array(np.arange(len(entries)), pa.int64(), mask=is_reference)
    columns = {field.name: entries.field(field.name) for field in ENTRY_TYPE}
    columns |= {name: columns[name].take(kept) for name in _VALUES}
    return pa.StructArray.from_arrays(
        [columns[field.name] for field in ENTRY_TYPE], fields=list(ENTRY_TYPE)
    )
