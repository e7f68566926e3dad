# Strategy: there are few rows, since alterations are few: a loop over them.
"""Dynamic client configs in tables, as the rules for secrets now in force let them be.

Source: docs/operations/purge.md.
"""

from collections.abc import Sequence

import pyarrow as pa

from udfs.cluster.change_texts import HIDDEN, NOT_SET, is_cut, tell_change
from udfs.sensitive.config_key_names import KEYS_SOFTWARE, NO_NAME
from udfs.sensitive.sensitive_key_rules import ALLOW
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .histories import NO_KEYS, SUPPORTS
from .topic_records import REGISTRATION

_SET, _REMOVED, _BECAME = "set to ", " removed", " -> "
"""What tell_change puts beside values."""
_UNKNOWN_CONFIG_TYPE = ""


def is_hidden(
    key: str, value: str, rules: SensitiveKeyRules, software: Sequence[str]
) -> bool:
    """Return whether rules hide a config that is set.

    As bridges do, of a key that clients of several kinds have, by each of them.

    Args:
        software: Names of clients that have catalogs.
    """
    having = [one for one in software if rules.catalogued_types(key, one) is not None]
    entry = (key, value, _UNKNOWN_CONFIG_TYPE)
    return any(
        rules.judge_entry(*entry, one).action != ALLOW
        for one in having or (KEYS_SOFTWARE,)
    )


def show_stored_values(
    keys: pa.StringArray,
    values: pa.StringArray,
    rules: SensitiveKeyRules,
    software: Sequence[str],
) -> pa.StringArray:
    """Return the values of dynamic_client_configs that may be there.

    Shape: n rows in, n rows out, same order.
    Nulls: Null where the rules hide the config.
    """
    pairs = zip(keys.to_pylist(), values.to_pylist(), strict=True)
    shown = [None if is_hidden(*pair, rules, software) else pair[1] for pair in pairs]
    return pa.array(shown, pa.string())


def show_stored_keys(
    config_keys: pa.ListArray, rules: SensitiveKeyRules, software: Sequence[str]
) -> pa.ListArray:
    """Return the keys of client_supported_configs that a bridge would still take.

    Shape: n rows in, n rows out, same order.
    """
    shown = [_keep_shown(one, rules, software) for one in config_keys.to_pylist()]
    return pa.array(shown, pa.list_(pa.string()))


def show_stored_changes(
    record_types: pa.StringArray,
    changes: pa.StringArray,
    rules: SensitiveKeyRules,
    software: Sequence[str],
) -> pa.StringArray:
    """Return the lines of dynamic_client_config_changes as they may be there.

    A value or key that a line holds only in part is hidden too: nobody can judge it.

    Shape: n rows in, n rows out, same order; what comes out is the same a second time.
    Nulls: Null for a null.
    """
    shown = []
    for kind, change in zip(record_types.to_pylist(), changes.to_pylist(), strict=True):
        show = _show_registration if kind == REGISTRATION else _show_alteration
        shown.append(None if change is None else show(change, rules, software))
    return pa.array(shown, pa.string())


def _keep_shown(
    keys: Sequence[str], rules: SensitiveKeyRules, software: Sequence[str]
) -> list[str]:
    return [one for one in keys if not is_hidden(one, "", rules, software)]


def _show_registration(
    change: str, rules: SensitiveKeyRules, software: Sequence[str]
) -> str:
    head, supports, keys = change.rpartition(SUPPORTS)
    shown = _keep_shown(keys.split(", "), rules, software)
    return f"{head}{supports}{', '.join(shown) or NO_KEYS}"


def _show_alteration(
    change: str, rules: SensitiveKeyRules, software: Sequence[str]
) -> str:
    if change.startswith(NO_NAME):
        return change
    key, _, told = change.partition(" ")
    parts = told.split(_BECAME)
    # A value may hold such words itself: all that may be one is judged.
    texts = [_BECAME.join(parts[:place]) for place in range(1, len(parts))]
    texts += [_BECAME.join(parts[place:]) for place in range(1, len(parts))]
    is_set, is_removed = told.startswith(_SET), told.endswith(_REMOVED)
    texts += [told.removeprefix(_SET)] if is_set else []
    texts += [told.removesuffix(_REMOVED)] if is_removed else []
    if not any(
        text != HIDDEN and (is_cut(text) or is_hidden(key, text, rules, software))
        for text in texts or [told]
    ):
        return change
    before = NOT_SET if is_set else HIDDEN
    after = NOT_SET if is_removed and not is_set else HIDDEN
    return tell_change(rules.show_key(key), before, after)
