"""Client ids of whole columns, as they may be written."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .client_ids import (
    CLIENT_ID_KEY,
    HIDDEN_CLIENT_ID,
    MAX_CHARACTERS,
    find_client_id_rule,
)
from .sensitive_key_columns import find_suspects
from .sensitive_key_rules import REDACT
from .sensitive_keys import SensitiveKeyRules
from .text_codes import code_texts


def find_client_id_rules(
    client_ids: pa.StringArray, rules: SensitiveKeyRules
) -> pa.StringArray:
    """Return the rule that hides each client id.

    Args:
        client_ids: string.
        rules: From sensitive_keys.compile_rules.
    Shape: n rows in, n rows out, same order; each different one is judged once.
    Nulls: Null where it may be written, and for a null.
    """
    coded = code_texts(client_ids)
    is_long = pc.greater(pc.utf8_length(coded.texts), MAX_CHARACTERS).to_numpy(False)
    judged = np.flatnonzero(find_suspects(coded.texts, rules) | is_long)
    found: list[str | None] = [None] * len(coded.texts)
    for place in judged.tolist():
        found[place] = find_client_id_rule(coded.texts[place].as_py(), rules)
    verdicts = pa.array(found, pa.string()).take(pa.array(coded.codes))
    return pc.if_else(client_ids.is_valid(), verdicts, pa.scalar(None, pa.string()))


def hide_client_ids(
    client_ids: pa.StringArray, hiding_rules: pa.StringArray
) -> pa.StringArray:
    """Put the stand-in in the place of client ids that may not be written.

    Args:
        client_ids: string.
        hiding_rules: From find_client_id_rules, same length.
    Shape: n rows in, n rows out, same order.
    """
    return pc.if_else(hiding_rules.is_null(), client_ids, HIDDEN_CLIENT_ID)


def add_client_id_hits(
    found: pa.ListArray, hiding_rules: pa.StringArray
) -> pa.ListArray:
    """Count a hidden client id among what rules have found in a push.

    Args:
        found: list of config_entries.VIOLATION_TYPE for each push.
        hiding_rules: From find_client_id_rules, same length.
    Shape: A push that has its client id among its entries, too, has one of it.
    """
    if hiding_rules.null_count == len(hiding_rules):
        return found
    lists = found.to_pylist()
    for hits, rule in zip(lists, hiding_rules.to_pylist(), strict=True):
        is_known = any(hit["config_key"] == CLIENT_ID_KEY for hit in hits)
        if rule is not None and not is_known:
            hit = {"config_key": CLIENT_ID_KEY, "rule": rule, "action": REDACT}
            hits.append(hit)
    return pa.array(lists, found.type)
