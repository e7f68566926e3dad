"""The keys that dynamic client configs may set: a TOML file, checked at the start.

Source: KIP-649; the types are those of Kafka's ConfigDef that hold no secret and name
no class.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.errors import InvalidSetting
from udfs.sensitive.config_key_names import KEYS_SOFTWARE
from udfs.sensitive.sensitive_key_rules import ALLOW
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .loading import DYNAMIC_KEYS_NAME, load_toml
from .places import CONF_PATH

SUPPORTED_CONFIGS = "supported.configs"
"""What a description calls the keys that clients can take; no key is called so."""
CLIENT_TYPES = ("producer", "consumer", "share_consumer", "admin", "streams")
WHOLE_RANGES = {
    "SHORT": (-(2**15), 2**15 - 1),
    "INT": (-(2**31), 2**31 - 1),
    "LONG": (-(2**63), 2**63 - 1),
}
DOUBLE, STRING, BOOLEAN, LIST = "DOUBLE", "STRING", "BOOLEAN", "LIST"
TYPES = (BOOLEAN, STRING, *WHOLE_RANGES, DOUBLE, LIST)
_NAME = re.compile(r"[a-zA-Z0-9._-]{1,255}")
_FIELDS = ("name", "client_types", "type", "low", "high", "words")


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicConfigKey:
    """One key, and the values that it takes."""

    name: str
    client_types: tuple[str, ...]
    type_name: str
    """One of TYPES."""
    low: float | None
    high: float | None
    """Smallest and largest number; None where any will do."""
    words: tuple[str, ...]
    """The only values; empty where any will do."""


DynamicConfigKeys = Mapping[str, DynamicConfigKey]
"""By name."""


def load_dynamic_config_keys(
    location: str, rules: SensitiveKeyRules, software: Iterable[str] = (KEYS_SOFTWARE,)
) -> DynamicConfigKeys:
    """Read the keys of one file.

    Args:
        location: Path; empty for the file of conf/.
        rules: What hides a key. One that no catalog has is a custom one, which a rule
            of the operator's own may allow.
        software: Names of clients that have catalogs.
    Raises: InvalidSetting, naming file and key.
    """
    path = Path(location) if location else CONF_PATH / f"{DYNAMIC_KEYS_NAME}.toml"
    place = location or f"conf/{path.name}"
    content = load_toml(path, place)
    tables = content.pop("keys", [])
    if content or not isinstance(tables, list):
        raise InvalidSetting(f"{place}: has [[keys]] tables, and nothing else")
    keys: dict[str, DynamicConfigKey] = {}
    for index, table in enumerate(tables):
        name = table.get("name") if isinstance(table, dict) else None
        label = f" ({name})" if isinstance(name, str) else ""
        try:
            one = _read_key(name, table)
            _check(one, keys, rules, software)
        except ValueError as error:
            raise InvalidSetting(f"{place}: keys[{index}]{label}: {error}") from None
        keys[one.name] = one
    return keys


def _check(
    one: DynamicConfigKey,
    known: DynamicConfigKeys,
    rules: SensitiveKeyRules,
    software: Iterable[str],
) -> None:
    """Refuse a second key of a name, and one that is hidden. Raises: ValueError."""
    if one.name in known:
        raise ValueError("name: is there twice")
    having = [
        name for name in software if rules.catalogued_types(one.name, name) is not None
    ]
    for name in having or (KEYS_SOFTWARE,):
        verdict = rules.judge(one.name, one.type_name, name)
        if verdict.action != ALLOW:
            raise ValueError(f"name: is hidden by the rule for secrets {verdict.rule}")


def _read_key(name: object, table: Any) -> DynamicConfigKey:
    """Read one table. Raises: ValueError, which says what of it is wrong."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError("name: expects 1 to 255 of letters, digits and ._-")
    if name == SUPPORTED_CONFIGS:
        raise ValueError("name: is what descriptions call the keys that clients take")
    if unknown := sorted(table.keys() - {*_FIELDS}):
        raise ValueError(f"{unknown[0]}: unknown; known are {', '.join(_FIELDS)}")
    client_types = _read_texts(table, "client_types")
    if not client_types or not set(client_types) <= set(CLIENT_TYPES):
        raise ValueError(f"client_types: expects some of {', '.join(CLIENT_TYPES)}")
    type_name = table.get("type")
    if type_name not in TYPES:
        raise ValueError(f"type: expects one of {', '.join(TYPES)}")
    words = _read_texts(table, "words") if "words" in table else ()
    if "words" in table and (not words or type_name != STRING):
        raise ValueError("words: is a list of at least one text, of a STRING alone")
    low, high = _read_range(table, type_name)
    return DynamicConfigKey(
        name=name,
        client_types=client_types,
        type_name=type_name,
        low=low,
        high=high,
        words=words,
    )


def _read_range(
    table: dict[str, Any], type_name: str
) -> tuple[float | None, float | None]:
    ends = {end: table[end] for end in ("low", "high") if end in table}
    if ends and type_name not in {*WHOLE_RANGES, DOUBLE}:
        raise ValueError(f"{next(iter(ends))}: a {type_name} has no range")
    kinds = (int, float) if type_name == DOUBLE else (int,)
    for end, value in ends.items():
        if not isinstance(value, kinds) or isinstance(value, bool) or value != value:  # noqa: PLR0124 - NaN alone is not itself
            raise ValueError(f"{end}: expects a number of type {type_name}")
    least, most = WHOLE_RANGES.get(type_name, (-math.inf, math.inf))
    low, high = ends.get("low", least), ends.get("high", most)
    if low < least or high > most or low > high:
        raise ValueError(f"low, high: no {type_name} is from {low} to {high}")
    return (
        None if math.isinf(low) else low,
        None if math.isinf(high) else high,
    )


def _read_texts(table: dict[str, Any], name: str) -> tuple[str, ...]:
    values = table.get(name)
    if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
        raise ValueError(f"{name}: expects a list of texts")
    return tuple(values)
