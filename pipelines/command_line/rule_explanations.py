"""What the rules for sensitive entries say of one, in words; never its value."""

from udfs.sensitive.config_key_names import NO_NAME
from udfs.sensitive.sensitive_key_rules import ALLOW, DROP, REDACT
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

_OUTCOMES = {
    REDACT: "the key is written, its value is not",
    DROP: "neither key nor value is written",
    ALLOW: "written as it is",
}
_NEITHER = "neither is written, for the key does not look like one"
_UNLESS_FOUND = "written, unless a rule for values finds something in its value"
_VALUE_NOT_GIVEN = "not looked at; --value - reads one"
_NO_RULE = "none matches"
_NO_CATALOG = "custom: no catalog of {software} has the key"


def explain_rule(
    rules: SensitiveKeyRules,
    *,
    key: str,
    value: str | None,
    type_name: str,
    software_name: str,
) -> str:
    """Return lines that say which rule decides an entry, why, and what then happens.

    Args:
        rules: Those in force.
        key: As a client would send it.
        value: The same; None where nobody gave one, and rules for values are not asked.
        type_name: One of CONFIG_TYPE_NAMES.
        software_name: client_software_name of the client.
    """
    key, value = _without_surrogates(key), value and _without_surrogates(value)
    explained = rules.explain(key, value or "", type_name, software_name)
    catalogued = rules.catalogued_types(key, software_name)
    verdict, shown = explained.verdict, rules.show_key(key)
    outcome = _OUTCOMES[verdict.action]
    if verdict.action == REDACT and shown == NO_NAME:
        outcome = _NEITHER
    elif verdict.action == ALLOW and value is None:
        outcome = _UNLESS_FOUND
    lines = {
        "key": shown,
        "type": type_name,
        "catalog": (
            _NO_CATALOG.format(software=software_name)
            if catalogued is None
            else f"{', '.join(sorted(catalogued))} for {software_name}"
        ),
        "value": _VALUE_NOT_GIVEN if value is None else f"{len(value)} characters",
        "rule": verdict.rule or _NO_RULE,
        "because": explained.reason or "-",
        "action": f"{verdict.action}: {outcome}",
    }
    return "\n".join(f"{name:<8}  {text}" for name, text in lines.items())


def _without_surrogates(text: str) -> str:
    """Return a text as the bridge reads it: what is no UTF-8 becomes U+FFFD."""
    return text.encode(errors="surrogateescape").decode(errors="replace")
