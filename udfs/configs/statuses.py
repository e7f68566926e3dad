"""What an entry of a pushed configuration is: default, overridden, redacted and so on.

Strategy: what is decided by key, software or header is decided once for each different
combination; what is decided by row is a mask over the rows.
Source: KIP-1324; docs/decisions/0015.
"""

from dataclasses import dataclass

import numpy as np

from udfs.sensitive.sensitive_keys import SensitiveKeyRules
from udfs.text_codes import CodedTexts, Codes, Mask, combine_codes, texts_at

from .defaults import KnownDefaults, compare_with_defaults

STATUSES = (
    "default", "overridden", "set_to_default", "unknown_key", "invalid_value",
    "redacted",
)  # fmt: skip
_DEFAULT, _OVERRIDDEN, _SET_TO_DEFAULT, _UNKNOWN_KEY, _INVALID, _REDACTED = range(6)


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedEntries:
    """Stored entries of a batch, with the software of their pushes."""

    keys: CodedTexts
    values: CodedTexts
    type_names: CodedTexts
    """Names of ConfigDef.Type; the empty string for an unknown type."""
    is_default: Mask
    """Whether the client flags the value as a default."""
    places: list[CodedTexts]
    """Software name, version and client type."""


def find_statuses(
    entries: PushedEntries,
    is_redacted: Mask,
    is_invalid: Mask,
    rules: SensitiveKeyRules,
    defaults: KnownDefaults,
) -> Codes:
    """Say what each entry is.

    Args:
        entries: Of a batch of pushes.
        is_redacted: Whether rules, here or before, hide an entry.
        is_invalid: Whether its value does not fit its type.
        rules: They know which keys are catalogued.
        defaults: From make_known_defaults.
    Returns: An index in STATUSES for each entry. Redacted comes before invalid, that
        before default, where the client says so, and that before an unknown key: one
        that neither the catalogs nor the known defaults have.
    """
    statuses = np.full(len(is_redacted), _OVERRIDDEN)
    rows = np.flatnonzero(~(is_redacted | is_invalid | entries.is_default))
    columns = [one.take(rows) for one in (*entries.places, entries.keys)]
    has_default, is_same = compare_with_defaults(
        columns,
        entries.type_names.take(rows),
        entries.values.take(rows),
        defaults,
    )
    software_and_key = [columns[0], columns[-1]]
    first, places = combine_codes(software_and_key)
    is_catalogued = np.array(
        [
            rules.catalogued_types(key, software_name) is not None
            for software_name, key in texts_at(first, software_and_key)
        ],
        np.bool_,
    )[places]
    statuses[rows[is_same]] = _SET_TO_DEFAULT
    statuses[rows[~(is_catalogued | has_default)]] = _UNKNOWN_KEY
    statuses[entries.is_default] = _DEFAULT
    statuses[is_invalid] = _INVALID
    statuses[is_redacted] = _REDACTED
    return statuses
