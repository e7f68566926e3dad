"""explain-rule: what the rules for sensitive entries say of one; never its value."""

import getpass
import sys
from typing import TYPE_CHECKING

from udfs.cluster.broker_catalog import (
    NEVER,
    NO_VALIDATOR,
    PASSWORD,
    REPORTED,
    UNKNOWN_KEY,
    judge_name,
)
from udfs.cluster.published_records import BROKER_SOFTWARE
from udfs.sensitive.config_key_names import NO_NAME
from udfs.sensitive.sensitive_key_rules import ALLOW, CONFIG_TYPE_NAMES, DROP, REDACT

from .call import Call
from .options import CONFIG, ENV, SET, Command, one_of, option

if TYPE_CHECKING:
    from udfs.cluster.broker_catalog import BrokerCatalog
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
_NO_CATALOG = "custom: no catalog for {software} has the key"
_STATIC = {
    REPORTED: "stored if the rule allows it",
    NO_VALIDATOR: (
        "stored from a broker's registration if the rule allows it; left out of what "
        "DescribeConfigs returns, and not counted as withheld"
    ),
    PASSWORD: "never stored",
    NEVER: "never stored",
    UNKNOWN_KEY: (
        "stored from a broker's registration if only a rule for custom keys hides it; "
        "withheld from what DescribeConfigs returns"
    ),
}
"""What becomes of a broker's static config (KIP-1326), by the verdict on its name."""
_IF_IT_FITS = "{rule}: allow, if {condition}"


def run(call: Call) -> int:
    """Read a value, if there is one, and print what is said."""
    from pipelines.settings.loading import load_broker_configs, load_config_catalogs
    from pipelines.settings.rules import make_sensitive_key_rules

    settings = call.read_settings()
    rules = make_sensitive_key_rules(settings.sensitive_keys, load_config_catalogs())
    value = None
    if call.arguments.value is not None:
        value = (
            getpass.getpass("value: ")
            if sys.stdin.isatty()
            else sys.stdin.buffer.read().decode(errors="replace").removesuffix("\n")
        )
    lines = explain_rule(
        rules,
        key=call.arguments.key,
        value=value,
        type_name=call.arguments.type,
        software_name=call.arguments.software,
    )
    if call.arguments.software == BROKER_SOFTWARE:
        lines = add_static_verdict(lines, load_broker_configs(), call.arguments.key)
    print("\n".join(f"{name:<8}  {text}" for name, text in lines.items()))
    return 0


def add_static_verdict(
    lines: dict[str, str], catalog: "BrokerCatalog", key: str
) -> dict[str, str]:
    """Add whether a config of a broker is stored, and a static one in particular.

    Args:
        lines: From explain_rule.
        catalog: From load_broker_configs.
        key: Name of the config.
    """
    verdict = judge_name(key, catalog)
    hidden = {
        "rule": "KIP-1326",
        "because": f"a broker never reports the config ({verdict})",
        "action": f"{REDACT}: {_OUTCOMES[REDACT]}",
    }
    is_hidden = verdict in {NEVER, PASSWORD} and lines["action"].startswith(ALLOW)
    static = {"static": f"{verdict}: {_STATIC[verdict]}"}
    return lines | (hidden if is_hidden else {}) | static


def explain_rule(
    rules: "SensitiveKeyRules",
    *,
    key: str,
    value: str | None,
    type_name: str,
    software_name: str,
) -> dict[str, str]:
    """Return lines that say which rule decides an entry, why, and what then happens.

    Args:
        rules: Those in force.
        key: As a client would send it.
        value: The same; None where nobody gave one, and rules for values are not asked.
        type_name: One of CONFIG_TYPE_NAMES.
        software_name: client_software_name of the client.
    """
    key, value = _without_surrogates(key), value and _without_surrogates(value)
    explained = rules.explain(key, value, type_name, software_name)
    catalogued = rules.catalogued_types(key, software_name)
    verdict, shown = explained.verdict, rules.show_key(key)
    outcome = _OUTCOMES[verdict.action]
    if verdict.action == REDACT and shown == NO_NAME:
        outcome = _NEITHER
    elif verdict.action == ALLOW and value is None:
        outcome = _UNLESS_FOUND
    by_value = rules.rules_on_value(key, type_name, software_name)
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
    if value is None and by_value:
        lines["unless"] = "; ".join(
            _IF_IT_FITS.format(rule=one.verdict.rule, condition=one.value_condition)
            for one in by_value
        )
    return lines


def _without_surrogates(text: str) -> str:
    """Return a text as the bridge reads it: what is no UTF-8 becomes U+FFFD."""
    return text.encode(errors="surrogateescape").decode(errors="replace")


COMMAND = Command(
    name="explain-rule",
    help="Print which rule decides a configuration entry, and why",
    takes_secrets=True,
    options=(
        option("--key", "Configuration key", required=True, metavar="KEY"),
        option(
            "--type",
            f"{'|'.join(CONFIG_TYPE_NAMES)} (default: STRING)",
            type=one_of(CONFIG_TYPE_NAMES),
            default="STRING",
            metavar="TYPE",
        ),
        option(
            "--value",
            "'-' reads a value from stdin; it is never printed",
            type=one_of(("-",)),
            metavar="-",
        ),
        option(
            "--software",
            "client_software_name of the client (default: apache-kafka-java)",
            default="apache-kafka-java",
            metavar="NAME",
        ),
        ENV,
        CONFIG,
        SET,
    ),
    run=run,
)
