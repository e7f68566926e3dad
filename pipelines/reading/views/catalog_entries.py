"""What clients run with where nobody set anything: defaults of conf/config_catalog/.

`config_catalogs` reads which keys there are; this reads their defaults, by release and
type of client.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pipelines.errors import InvalidSetting
from pipelines.settings.loading import CATALOG_FOLDER
from pipelines.settings.places import CONF_PATH
from udfs.configs.key_lists import (
    CONSUMER,
    NOT_OF_SHARE_CONSUMERS,
    OF_SHARE_CONSUMERS_ONLY,
    SHARE_CONSUMER,
)

LIBRDKAFKA = "librdkafka"
_CLIENT_TYPES_OF_FILE: Mapping[str, tuple[str, ...]] = {
    # Java's share consumers are configured by the class of its consumers.
    CONSUMER: (CONSUMER, SHARE_CONSUMER),
}
_LIBRDKAFKA_LETTERS: Mapping[str, str] = {
    "producer": "P",
    CONSUMER: "C",
    SHARE_CONSUMER: "C",
    # To librdkafka, an admin client is a producer.
    "admin": "P",
}
_STEM = re.compile(r"(?P<catalog>[^-]+)-(?P<version>[0-9.]+)(?:-(?P<client_type>\w+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEntry:
    """The default of one key in one release of the clients of one type."""

    catalog: str
    version: str
    client_type: str
    """As in the tables: producer, consumer, share_consumer, admin or streams."""
    config_key: str
    config_type: str
    """Name of a ConfigDef.Type."""
    default_value: str
    """Empty where it is empty or null; the catalogs do not tell these apart."""
    other_names: tuple[str, ...]
    """What clients may call the same config when they push it."""


def load_catalog_entries() -> list[CatalogEntry]:
    """Read the defaults of all files of conf/config_catalog/.

    Raises: InvalidSetting, naming the file.
    """
    paths = sorted((CONF_PATH / CATALOG_FOLDER).glob("*.csv"))
    texts = {path.stem: path.read_text("utf-8") for path in paths}
    return [entry for stem, text in texts.items() for entry in parse_file(stem, text)]


def parse_file(stem: str, text: str) -> Iterator[CatalogEntry]:
    """Return the defaults of one file; keys without a default have no entry.

    Args:
        stem: `<catalog>-<version>[-<client type>]`.
        text: CSV, as conf/config_catalog/README.md describes it.
    Raises: InvalidSetting, naming the file.
    """
    found = _STEM.fullmatch(stem)
    if found is None:
        raise InvalidSetting(
            f"conf/{CATALOG_FOLDER}/{stem}.csv: a file is named "
            f"<catalog>-<version>[-<client type>].csv"
        )
    catalog, version, client_type = found.group("catalog", "version", "client_type")
    rows = list(csv.DictReader(text.splitlines()))
    if catalog == LIBRDKAFKA:
        yield from _parse_librdkafka(version, rows)
        return
    for row in rows:
        if row["has_default"] != "true":
            continue
        for one in _CLIENT_TYPES_OF_FILE.get(client_type, (client_type,)):
            if not _has_key(one, row["name"]):
                continue
            yield CatalogEntry(
                catalog=catalog,
                version=version,
                client_type=one,
                config_key=row["name"],
                config_type=row["type"],
                default_value=row["default"],
                other_names=(),
            )


def _parse_librdkafka(
    version: str, rows: list[dict[str, str]]
) -> Iterator[CatalogEntry]:
    """Return an entry for each property and client type; of two scopes the global."""
    # All of confluent_kafka, a tenth of a second that few queries need.
    from pipelines.clients.catalogs import LIBRDKAFKA_TYPES  # noqa: PLC0415 - see above
    from pipelines.clients.key_lists import COUNTERPARTS  # noqa: PLC0415 - see above

    aliases: dict[str, list[str]] = {}
    properties: dict[str, dict[str, str]] = {}
    for row in rows:
        if row["alias_for"]:
            aliases.setdefault(row["alias_for"], []).append(row["name"])
        else:
            properties.setdefault(row["name"], row)
    for client_type, letter in _LIBRDKAFKA_LETTERS.items():
        counterparts = COUNTERPARTS[client_type.replace("_", "-")]
        for name, row in properties.items():
            if row["applies_to"] not in {"*", letter} or not _has_key(
                client_type, name
            ):
                continue
            others = aliases.get(name, [])
            names = {name, *others}
            java = [key for key, one in counterparts.items() if one.name in names]
            yield CatalogEntry(
                catalog=LIBRDKAFKA,
                version=version,
                client_type=client_type,
                config_key=name,
                config_type=LIBRDKAFKA_TYPES[row["type"]],
                default_value=row["default"],
                other_names=tuple(sorted({*others, *java} - {name})),
            )


def _has_key(client_type: str, key: str) -> bool:
    """Return whether a type of client takes a key that the catalog lists for it.

    Catalogs list consumers and share consumers together.
    """
    if client_type == SHARE_CONSUMER:
        return key not in NOT_OF_SHARE_CONSUMERS
    return client_type != CONSUMER or not key.startswith(OF_SHARE_CONSUMERS_ONLY)
