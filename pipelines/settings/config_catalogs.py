"""Catalogs of known configuration keys: CSV texts to keys and types."""

import csv
from collections.abc import Mapping

from pipelines.errors import InvalidSetting
from udfs.cluster.broker_catalog import BrokerCatalog, BrokerConfig
from udfs.sensitive.sensitive_keys import ANY_SOFTWARE

from .client_config_settings import SoftwareCatalogSettings

Catalog = Mapping[str, frozenset[str]]
"""Key to the types that its releases give it."""
Catalogs = Mapping[str, Catalog]
"""Catalog name to catalog."""

BROKER_CATALOG = "kafka"
"""Its files have the configs of a broker."""
_PLACE = "conf/config_catalog"
_APPLIES_TO = {
    "P": ("producer",),
    "C": ("consumer",),
    "*": ("producer", "consumer", "admin"),
}


def parse_catalogs(files: Mapping[str, str], place: str = _PLACE) -> Catalogs:
    """Return the catalogs of some files, the files of one catalog as one.

    Args:
        files: `<catalog>-<anything>` to CSV with the columns name and type.
        place: Their folder.
    Raises: InvalidSetting, naming the file.
    """
    catalogs: dict[str, dict[str, set[str]]] = {}
    for stem, text in files.items():
        reader = csv.DictReader(text.splitlines())
        catalog = catalogs.setdefault(stem.partition("-")[0], {})
        for row in reader:
            name, type_name = row.get("name"), row.get("type")
            if not name or not type_name:
                raise InvalidSetting(
                    f"{place}/{stem}.csv: line {reader.line_num}: has no name or type"
                )
            catalog.setdefault(name, set()).add(type_name)
    return {
        name: {key: frozenset(types) for key, types in catalog.items()}
        for name, catalog in catalogs.items()
    }


def parse_broker_configs(files: Mapping[str, str]) -> BrokerCatalog:
    """Return what the catalogs say of a broker's own configs, all releases as one.

    Args:
        files: Of them those that begin with `kafka-`: CSV with the columns name, type
            and validator, which is empty where there is none.
    """
    known: dict[str, BrokerConfig] = {}
    for stem, text in files.items():
        if stem.partition("-")[0] != BROKER_CATALOG:
            continue
        for row in csv.DictReader(text.splitlines()):
            before = known.get(row["name"], BrokerConfig(frozenset(), False))
            known[row["name"]] = BrokerConfig(
                before.type_names | {row["type"]},
                before.has_validator or bool(row["validator"]),
            )
    return known


def keys_by_client_type(files: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Return the keys that each type of client knows, over all files.

    Args:
        files: As parse_catalogs takes them. The last word of a name is the client type;
            a file without one has a column applies_to: P, C, or * for all of them.
    Raises: InvalidSetting, naming the file.
    """
    keys: dict[str, set[str]] = {}
    for stem, text in files.items():
        *_, last = stem.split("-")
        for row in csv.DictReader(text.splitlines()):
            applies_to = row.get("applies_to")
            if applies_to is not None and applies_to not in _APPLIES_TO:
                raise InvalidSetting(f"{_PLACE}/{stem}.csv: applies_to {applies_to!r}")
            types = (last,) if applies_to is None else _APPLIES_TO[applies_to]
            for client_type in types:
                keys.setdefault(client_type, set()).add(row["name"])
    return {name: frozenset(known) for name, known in keys.items()}


def catalogs_by_software(
    software: tuple[SoftwareCatalogSettings, ...],
    shared: tuple[str, ...],
    catalogs: Catalogs,
) -> Catalogs:
    """Return the keys of each client_software_name; several catalogs count together.

    Args:
        software: Names and their catalogs.
        shared: Names of the catalogs for ANY_SOFTWARE.
        catalogs: By name.
    Raises: InvalidSetting for a catalog that no file has, and a name stated twice.
    """
    known = {
        ANY_SOFTWARE: _merge(
            shared, catalogs, "conf/sensitive_keys.toml: shared_catalogs"
        )
    }
    for index, one in enumerate(software):
        place = f"conf/sensitive_keys.toml: software[{index}]"
        merged = _merge(one.catalogs, catalogs, place)
        for name in one.names:
            if name in known:
                raise InvalidSetting(f"{place}: {name} is there twice")
            known[name] = merged
    return known


def _merge(names: tuple[str, ...], catalogs: Catalogs, place: str) -> Catalog:
    """Return some catalogs as one. Raises: InvalidSetting."""
    if unknown := sorted(set(names) - catalogs.keys()):
        raise InvalidSetting(f"{place}: no catalog {', '.join(unknown)}")
    merged: dict[str, frozenset[str]] = {}
    for name in names:
        for config_key, types in catalogs[name].items():
            merged[config_key] = merged.get(config_key, frozenset()) | types
    return merged
