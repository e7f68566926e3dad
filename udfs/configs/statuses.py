"""What an entry of a pushed configuration is: default, overridden, redacted and so on.

Strategy: what is decided by key, software or header is decided once for each different
combination; what is decided by row is a mask over the rows.
Source: KIP-1324; docs/decisions/0015.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from udfs.sensitive.redacted_keys import read_redactions
from udfs.sensitive.sensitive_keys import SensitiveKeyRules
from udfs.text_codes import CodedTexts, Codes, Mask, combine_codes, texts_at

from .defaults import KnownDefaults, compare_with_defaults
from .pushes import DecodedConfigs

STATUSES = (
    "default", "overridden", "set_to_default", "unknown_key", "invalid_value",
    "redacted",
)  # fmt: skip
_DEFAULT, _OVERRIDDEN, _SET_TO_DEFAULT, _UNKNOWN_KEY, _INVALID, _REDACTED = range(6)


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedEntries:
    """Entries of a batch, with what their pushes say of them."""

    decoded: DecodedConfigs
    values: CodedTexts
    places: list[CodedTexts]
    """Software name, version and client type."""
    redacted_keys: CodedTexts


def find_redacted(entries: PushedEntries) -> Mask:
    """Say which entries lost their value before they were written.

    Args:
        entries: As the topic has them.
    Returns: bool for each: its value is empty, and the header names its key as
        redacted. A header may say that there are more than it has room to name;
        then any empty value may have been something.
    """
    keys, headers = entries.decoded.keys, entries.redacted_keys
    is_empty = pc.equal(entries.values.texts, "").to_numpy(zero_copy_only=False)
    has_header = pc.not_equal(headers.texts, "").to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(is_empty[entries.values.codes] & has_header[headers.codes])
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


def find_statuses(
    entries: PushedEntries,
    is_redacted: Mask,
    is_invalid: Mask,
    rules: SensitiveKeyRules,
    defaults: KnownDefaults,
) -> Codes:
    """Say what each entry is.

    Args:
        entries: As the topic has them.
        is_redacted: Whether rules, here or before, hide an entry.
        is_invalid: Whether its value does not fit its type.
        rules: They know which keys are catalogued.
        defaults: From make_known_defaults.
    Returns: An index in STATUSES for each entry. Redacted comes before invalid, that
        before default, where the client says so, and that before an unknown key: one
        that neither the catalogs nor the known defaults have.
    """
    decoded = entries.decoded
    statuses = np.full(len(decoded.pushes), _OVERRIDDEN)
    rows = np.flatnonzero(~(is_redacted | is_invalid | decoded.is_default))
    columns = [one.take(rows) for one in (*entries.places, decoded.keys)]
    has_default, is_same = compare_with_defaults(
        columns,
        decoded.type_names.take(rows),
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
    statuses[decoded.is_default] = _DEFAULT
    statuses[is_invalid] = _INVALID
    statuses[is_redacted] = _REDACTED
    return statuses
