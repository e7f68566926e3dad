"""Client ids as they may be written: judged as values, since clients choose them.

A stand-in takes the place of a client id that looks like a secret. It is the same for
all of them: a hash would confirm a guess.
"""

from .bounded_texts import bound_text
from .config_key_names import KEYS_SOFTWARE
from .sensitive_key_rules import ALLOW
from .sensitive_keys import SensitiveKeyRules

CLIENT_ID_KEY = "client.id"
"""The config that a client id comes from."""
HIDDEN_CLIENT_ID = "(redacted)"
"""Stands for a client id that may not be written."""
MAX_CHARACTERS = 1_024
"""Of a client id beyond ASCII that is judged: one of 32 kB took 59 ms to look through
its disguises, and nobody's other connections shall wait for that."""
TOO_LONG = "too-long-client-id"
"""In the place of a rule's name: a client id that may be a secret as it was said, and
is hidden without its disguises being looked through."""


def find_client_id_rule(client_id: str, rules: SensitiveKeyRules) -> str | None:
    """Return the rule that hides a client id, for what it looks like.

    Rules for keys alone are not asked: who hides what clients push as client.id still
    wants to know who they are.

    Args:
        client_id: As the header of a request has it.
        rules: From sensitive_keys.compile_rules.
    Returns: The name of a rule, or TOO_LONG.
    Nulls: None where it may be written, and for the stand-in.
    """
    if client_id == HIDDEN_CLIENT_ID:
        return None
    if _is_too_long(client_id):
        return TOO_LONG if rules.find_hiding((client_id,)) else None
    if not rules.may_hide((client_id,)):
        return None
    verdict = rules.judge_value(CLIENT_ID_KEY, client_id, "STRING", KEYS_SOFTWARE)
    return None if verdict.action == ALLOW else verdict.rule


def shorten_unseen(client_id: str) -> str:
    """Return a client id that no rule hides as it may be written.

    Args:
        client_id: As the header of a request has it.
    Returns: The same object; of one whose disguises were not looked through nothing but
        a hash, so that different ones stay different.
    """
    return bound_text(client_id, 0) if _is_too_long(client_id) else client_id


def _is_too_long(client_id: str) -> bool:
    """Return whether the disguises of a client id are not looked through."""
    return len(client_id) > MAX_CHARACTERS and not client_id.isascii()
