"""The known configs of clients: librdkafka's properties, and those of the Java clients.

Source: conf/config_catalog/, of which this package holds a link or a copy.
"""

import csv
import functools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from .key_lists import SHARE_CONSUMER
from .sensitive_key_rules import SensitiveKeyRule
from .sensitive_keys import ANY_SOFTWARE, SensitiveKeyRules, compile_rules

JAVA_VERSION = "4.4.0"
LIBRDKAFKA_FILE = "librdkafka-2.16.csv"
LIBRDKAFKA_TYPES = {
    "boolean": "BOOLEAN",
    "float": "DOUBLE",
    "integer": "INT",
    "string": "STRING",
    "enum value": "STRING",
    "CSV flags": "LIST",
    "pattern list": "LIST",
    # Functions and objects of the application.
    "see dedicated API": "CLASS",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """One known config."""

    name: str
    type_name: str
    """Name of a ConfigDef.Type."""
    default: str
    """Empty also where it is null."""
    client_types: str = "*"
    """librdkafka: P for producers, C for consumers, * for both."""
    words: tuple[str, ...] = ()
    """librdkafka: what may be said where that is a few words; empty for anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LibrdkafkaCatalog:
    """librdkafka's properties."""

    configs: Mapping[str, Config]
    """By name, aliases not among them."""
    aliases: Mapping[str, str]
    """Alias to name."""


@functools.cache
def load_librdkafka_catalog() -> LibrdkafkaCatalog:
    """Read librdkafka's properties; of a global and a topic's one the global counts."""
    configs: dict[str, Config] = {}
    aliases: dict[str, str] = {}
    for row in _read_rows(_catalog_folder() / LIBRDKAFKA_FILE):
        if row["alias_for"]:
            aliases.setdefault(row["name"], row["alias_for"])
            continue
        config = Config(
            name=row["name"],
            type_name=LIBRDKAFKA_TYPES[row["type"]],
            default=row["default"],
            client_types=row["applies_to"],
            words=_read_words(row),
        )
        configs.setdefault(config.name, config)
    # A topic's alias of something that is a global property of its own.
    own = {name: target for name, target in aliases.items() if name not in configs}
    return LibrdkafkaCatalog(configs=configs, aliases=own)


def _read_words(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(row["range"].split(", ")) if row["type"] == "enum value" else ()


@functools.cache
def load_java_catalog(client_type: str) -> Mapping[str, Config]:
    """Read the configs of the newest Java client of a type."""
    kind = "consumer" if client_type == SHARE_CONSUMER else client_type
    rows = _read_rows(_catalog_folder() / f"java-{JAVA_VERSION}-{kind}.csv")
    return {
        row["name"]: Config(
            name=row["name"], type_name=row["type"], default=row["default"]
        )
        for row in rows
    }


@functools.cache
def load_rules() -> SensitiveKeyRules:
    """Compile the product's rules for sensitive keys over all catalogs.

    Those for values need RE2, which applications do not have; the bridge asks them.
    """
    place = resources.files(__package__) / "sensitive_keys.toml"
    document = tomllib.loads(place.read_text(encoding="utf-8"))
    rules = [
        _read_rule(rule) for rule in document["rules"] if "value_patterns" not in rule
    ]
    catalogs: dict[str, dict[str, frozenset[str]]] = {}
    for file in _catalog_folder().iterdir():
        if not file.name.endswith(".csv"):
            continue
        catalog = catalogs.setdefault(file.name.partition("-")[0], {})
        for row in _read_rows(file):
            known = catalog.get(row["name"], frozenset())
            catalog[row["name"]] = known | {row["type"]}
    by_software: dict[str, dict[str, frozenset[str]]] = {}
    shared = {"names": [ANY_SOFTWARE], "catalogs": document["shared_catalogs"]}
    for software in [shared, *document["software"]]:
        if not catalogs.keys() >= set(software["catalogs"]):
            continue  # Of brokers, whose catalogs applications do not have.
        merged: dict[str, frozenset[str]] = {}
        for name in software["catalogs"]:
            for key, types in catalogs[name].items():
                merged[key] = merged.get(key, frozenset()) | types
        by_software |= dict.fromkeys(software["names"], merged)
    return compile_rules(rules, by_software)


def _read_rule(table: dict[str, Any]) -> SensitiveKeyRule:
    made: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in table.items()
    }
    return SensitiveKeyRule(**made)


def _catalog_folder() -> Traversable:
    return resources.files(__package__) / "config_catalog"


def _read_rows(file: Traversable) -> Iterator[dict[str, str]]:
    yield from csv.DictReader(file.read_text(encoding="utf-8").splitlines())
