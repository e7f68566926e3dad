"""Which entries a client pushes, and which it keeps to itself.

Source: KIP-1324, "Sensitive Configuration".
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .config_key_names import show_key
from .configs_in_force import ConfigInForce
from .key_lists import RENAMED_KEYS
from .push_messages import ConfigEntry
from .sensitive_key_rules import ALLOW, CONFIG_TYPE_NAMES
from .sensitive_keys import SensitiveKeyRules

FindConfig = Callable[[str], ConfigInForce | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenEntries:
    """What is pushed of a configuration, and what the application is told."""

    entries: tuple[ConfigEntry, ...]
    warnings: tuple[str, ...]
    """One for each key that was asked for and is not sent; never with a value."""


def choose_entries(
    keys: Iterable[str],
    find_config: FindConfig,
    *,
    rules: SensitiveKeyRules,
    software_name: str,
    is_default_list: bool,
    first_config_type_id: int = 0,
) -> ChosenEntries:
    """Choose what is pushed.

    Args:
        keys: The keys asked for; doubles count once.
        find_config: Configs in force by key.
        software_name: client_software_name of the client.
        is_default_list: Whether the keys are those of KIP-1324; the client need not
            have all of these.
        first_config_type_id: What BOOLEAN is on the wire, 0 or 1.
    Shape: Entries and warnings keep the order of the keys.
    """
    entries, warnings = [], []
    for key in dict.fromkeys(RENAMED_KEYS.get(key, key) for key in keys):
        found = find_config(key)
        type_name = "" if found is None else found.type_name
        value = None if found is None else found.config_value
        verdict = rules.judge(key, type_name, software_name, value)
        if verdict.action != ALLOW:
            warnings.append(
                f"{show_key(key)} is sensitive ({verdict.rule}) and is not pushed"
            )
        elif found is not None:
            ordinal = CONFIG_TYPE_NAMES.index(found.type_name)
            type_id = first_config_type_id + ordinal
            entries.append(
                ConfigEntry(key, found.config_value, type_id, found.is_default)
            )
        elif not is_default_list:
            warnings.append(f"{show_key(key)} is no config of this client")
    return ChosenEntries(entries=tuple(entries), warnings=tuple(warnings))
