"""Verdicts on pushed client configurations: what may be written, and what is said.

Strategy: every entry is judged by the rules for sensitive keys. Their patterns for
values are searched for once in the whole push; only where that finds something is each
value looked at. What is left of an entry is decided here, once, and everything behind
(policy, record, answer) sees only that.
Answers and headers name keys, as far as they look like keys, and rules; no value ever.
Source: KIP-1324; docs/decisions/0015.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from pipelines.bridge.protocol.push_config import ClientConfig
from udfs.sensitive.config_key_names import NO_NAME
from udfs.sensitive.redacted_keys import DROPPED, REDACTED, Violation
from udfs.sensitive.sensitive_key_rules import ALLOW, CONFIG_TYPE_NAMES, REDACT
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

NO_TYPE = ""
"""Name of a ConfigType that is none."""
NO_TYPE_ID = -1
REDACTED_VALUE = ""
MAX_NAMED_KEYS = 20
"""Keys named in one answer; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedConfigs:
    """What the rules left of one push; ConfigType as ordinal of ConfigDef.Type."""

    stored: tuple[ClientConfig, ...]
    """Entries as they may be written: allowed ones, and redacted ones without value."""
    allowed: tuple[ClientConfig, ...]
    """Entries that keep their values."""
    violations: tuple[Violation, ...]
    """One a sensitive entry, in their order."""


def type_name(type_id: int) -> str:
    """Return the name of a ConfigDef.Type by its ordinal, or NO_TYPE."""
    is_known = 0 <= type_id < len(CONFIG_TYPE_NAMES)
    return CONFIG_TYPE_NAMES[type_id] if is_known else NO_TYPE


def judge_configs(
    configs: Collection[ClientConfig],
    *,
    software_name: str,
    rules: SensitiveKeyRules,
    first_config_type_id: int,
) -> JudgedConfigs:
    """Decide every entry of one push.

    Args:
        configs: As they were sent; gone through more than once.
        software_name: client_software_name of the connection.
        first_config_type_id: What BOOLEAN is on the wire.
    Shape: Entries keep their order. A dropped one is gone; so is a redacted one whose
        key does not look like a key, since the key might be what is secret.
    """
    stored, allowed, violations = [], [], []
    has_suspect = rules.may_hide([one.config_value for one in configs])
    for one in configs:
        type_id = one.config_type - first_config_type_id
        name = type_name(type_id)
        if name == NO_TYPE:
            type_id = NO_TYPE_ID
        verdict = (
            rules.judge_entry(one.config_key, one.config_value, name, software_name)
            if has_suspect
            else rules.judge(one.config_key, name, software_name, one.config_value)
        )
        if verdict.action == ALLOW:
            entry = (
                one if type_id == one.config_type else one._replace(config_type=type_id)
            )
            stored.append(entry)
            allowed.append(entry)
            continue
        shown = rules.show_key(one.config_key)
        if verdict.action == REDACT and shown != NO_NAME:
            violations.append(Violation(shown, verdict.rule, REDACTED))
            stored.append(
                ClientConfig(one.config_key, REDACTED_VALUE, type_id, one.is_default)
            )
        else:
            violations.append(Violation(shown, verdict.rule, DROPPED))
    return JudgedConfigs(
        stored=tuple(stored), allowed=tuple(allowed), violations=tuple(violations)
    )


def add_violations(
    judged: JudgedConfigs, violations: Collection[Violation]
) -> JudgedConfigs:
    """Add what was found beside the entries, unless an entry of that key was, too."""
    known = {one.key for one in judged.violations}
    new = [one for one in violations if one.key not in known]
    return replace(judged, violations=(*new, *judged.violations))


def describe_violations(violations: Iterable[Violation], outcome: str) -> str:
    """Return what a client is told about its sensitive keys.

    Args:
        violations: At least one.
        outcome: What became of them, as in "was not stored".
    """
    texts = _bounded(f"{one.key} ({one.rule})" for one in violations)
    return f"sensitive configuration {outcome}: {', '.join(texts)}"


def _bounded(texts: Iterable[str]) -> list[str]:
    different = list(dict.fromkeys(texts))
    more = len(different) - MAX_NAMED_KEYS
    return different[:MAX_NAMED_KEYS] + ([f"and {more} more"] if more > 0 else [])
