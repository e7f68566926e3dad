"""Client ids of whole columns, as they may be written."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from udfs.text_codes import code_texts

from .client_ids import (
    CLIENT_ID_KEY,
    HIDDEN_CLIENT_ID,
    MAX_CHARACTERS,
    TOO_LONG,
    find_client_id_rule,
    shorten_unseen,
)
from .sensitive_key_columns import find_suspects
from .sensitive_key_rules import REDACT
from .sensitive_keys import SensitiveKeyRules


def find_client_id_rules(
    client_ids: pa.StringArray, rules: SensitiveKeyRules
) -> pa.StringArray:
    """Return the rule that hides each client id.

    Args:
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


def find_stored_client_id_rules(
    client_ids: pa.StringArray, rules: SensitiveKeyRules
) -> pa.StringArray:
    """Return the rule that hides each client id of a table.

    Args:
        rules: From sensitive_keys.compile_rules.
    Returns: As find_client_id_rules; TOO_LONG as well for what hide_client_ids leaves
        nothing of but a hash, since such a client id was stored before it did.
    Shape: n rows in, n rows out, same order.
    Nulls: As find_client_id_rules.
    """
    found = find_client_id_rules(client_ids, rules)
    is_changed = pc.not_equal(hide_client_ids(client_ids, found), client_ids)
    is_unseen = pc.and_(found.is_null(), is_changed.fill_null(False))
    return pc.if_else(is_unseen, TOO_LONG, found)


def hide_client_ids(
    client_ids: pa.StringArray, hiding_rules: pa.StringArray
) -> pa.StringArray:
    """Put stand-ins in the place of client ids that may not be written.

    Args:
        hiding_rules: From find_client_id_rules, same length.
    Shape: n rows in, n rows out, same order.
    """
    shown = pc.if_else(hiding_rules.is_null(), client_ids, HIDDEN_CLIENT_ID)
    is_long = pc.greater(pc.utf8_length(shown), MAX_CHARACTERS)
    if not pc.any(is_long).as_py():
        return shown
    shorter = [shorten_unseen(one) for one in shown.filter(is_long).to_pylist()]
    return pc.replace_with_mask(
        shown, is_long.fill_null(False), pa.array(shorter, pa.string())
    )


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


def hide_in_batch(
    batch: pa.RecordBatch, rules: SensitiveKeyRules
) -> tuple[pa.RecordBatch, pa.StringArray]:
    """Return a batch whose client_id may be written, and what hides the others.

    Args:
        rules: From sensitive_keys.compile_rules.
    """
    place = batch.schema.get_field_index("client_id")
    client_ids = batch.column(place)
    found = find_client_id_rules(client_ids, rules)
    return batch.set_column(
        place, "client_id", hide_client_ids(client_ids, found)
    ), found
