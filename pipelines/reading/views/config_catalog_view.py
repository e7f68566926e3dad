"""The view `config_catalog`: defaults that the catalogs state, as rows for SQL.

Of a release that no file is about, the nearest one counts; whoever reads is told which
that is. Keys that the rules for sensitive entries hide are left out: that a client did
not push them says nothing about them.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import DataFrame

from pipelines.settings.loading import load_config_catalogs
from pipelines.settings.records import Settings
from pipelines.settings.rules import make_sensitive_key_rules

from .catalog_entries import CatalogEntry, load_catalog_entries
from .view import Sources, View

CONFIG_CATALOG = "config_catalog"
RELEASES = "config_catalog_releases"
"""One row a software and client type, with all its releases: what a join needs."""

NAMES = "config_catalog_names"
"""One row a software, client type and name of a config that has other names as well
(`other_names`) or that the rules hide (`is_hidden`)."""
ALWAYS_SET = frozenset({"bootstrap.servers", "metadata.broker.list", "client.id"})
"""Keys that every client sets itself, whatever the catalog says."""
_ENTRIES = (
    "ARRAY<STRUCT<config_key: STRING, config_value: STRING, config_type: STRING, "
    "other_names: ARRAY<STRING>>>"
)
_RELEASES_SCHEMA = (
    "client_software_name STRING, client_type STRING, releases ARRAY<STRUCT<"
    f"number: BIGINT, catalog_version: STRING, entries: {_ENTRIES}>>"
)
_NAMES_SCHEMA = (
    "client_software_name STRING, client_type STRING, config_key STRING, "
    "other_names ARRAY<STRING>, is_hidden BOOLEAN"
)
_NUMBER = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?")
_PLACE = 1_000_000
"""More than any part of a version number: a version is one number by it."""
_CATALOG_SQL = """
SELECT client_software_name, release.catalog_version, client_type, entry.config_key,
  entry.config_value AS default_value, entry.config_type, entry.other_names
FROM (
  SELECT client_software_name, client_type, release, explode(release.entries) AS entry
  FROM (SELECT *, explode(releases) AS release FROM config_catalog_releases)
)
"""

_Entry = tuple[str, str, str, list[str]]
_Release = tuple[int, str, list[_Entry]]
_Name = tuple[str, str, str, list[str], bool]
_Entries = Mapping[str, Sequence[CatalogEntry]]
"""Release to what it has."""


def _make_releases(sources: Sources) -> DataFrame:
    rows = list(list_releases(sources.settings))
    return sources.spark.createDataFrame(rows, _RELEASES_SCHEMA)


def _make_names(sources: Sources) -> DataFrame:
    rows = list(list_names(sources.settings))
    return sources.spark.createDataFrame(rows, _NAMES_SCHEMA)


def list_releases(settings: Settings) -> Iterator[tuple[str, str, list[_Release]]]:
    """Return each client software and type with its catalogued releases."""
    rules = make_sensitive_key_rules(settings.sensitive_keys, load_config_catalogs())
    for name, client_type, releases in _list_software(settings):
        made = [
            (
                number_version(version),
                version,
                [
                    _as_row(one)
                    for one in entries
                    if one.config_key not in ALWAYS_SET
                    and rules.may_allow(one.config_key, one.config_type, name)
                ],
            )
            for version, entries in releases.items()
        ]
        yield name, client_type, made


def list_names(settings: Settings) -> Iterator[_Name]:
    """Return what special names configs have, as the rows of NAMES.

    A name that two configs of one client have goes with the other names of both.
    """
    rules = make_sensitive_key_rules(settings.sensitive_keys, load_config_catalogs())
    for software, client_type, releases in _list_software(settings):
        others: dict[str, set[str]] = {}
        hidden: set[str] = set()
        for entry in itertools.chain.from_iterable(releases.values()):
            names = {entry.config_key, *entry.other_names}
            for name in names:
                others.setdefault(name, set()).update(names - {name})
                if not rules.may_allow(name, entry.config_type, software):
                    hidden.add(name)
        for name, more in sorted(others.items()):
            if more or name in hidden:
                yield software, client_type, name, sorted(more), name in hidden


def _list_software(settings: Settings) -> Iterator[tuple[str, str, _Entries]]:
    """Return each client software and type with what its catalog has."""
    catalogs: dict[str, dict[str, dict[str, list[CatalogEntry]]]] = {}
    for entry in load_catalog_entries():
        types = catalogs.setdefault(entry.catalog, {})
        types.setdefault(entry.client_type, {}).setdefault(entry.version, []).append(
            entry
        )
    for software in settings.sensitive_keys.software:
        # The others hold names that its clients may push as well.
        own = catalogs.get(software.catalogs[0], {}) if software.catalogs else {}
        for name in software.names:
            for client_type, releases in own.items():
                yield name, client_type, releases


def number_version(version: str) -> int:
    """Return a version as one number, so that the difference of two is a distance."""
    found = _NUMBER.match(version)
    parts = found.groups(default="0") if found else ("0", "0", "0")
    major, minor, patch = map(int, parts)
    return (major * _PLACE + minor) * _PLACE + patch


def version_number_sql(column: str) -> str:
    """Return SQL for the number of a client_software_version; null where it has none.

    Bindings of librdkafka name their own version first, and librdkafka's behind it.
    """
    pattern = r"^(?:.*rdkafka-)?v?(\\d+)(?:\\.(\\d+))?(?:\\.(\\d+))?"
    major, minor, patch = (
        f"coalesce(try_cast(regexp_extract({column}, '{pattern}', {group}) AS BIGINT)"
        f", {default})"
        for group, default in ((1, "NULL"), (2, "0"), (3, "0"))
    )
    return f"(({major} * {_PLACE} + {minor}) * {_PLACE} + {patch})"


def _as_row(entry: CatalogEntry) -> _Entry:
    return (
        entry.config_key,
        entry.default_value,
        entry.config_type,
        list(entry.other_names),
    )


_JOB = "client_configs_to_delta"
CATALOG_VIEWS = (
    View(name=RELEASES, sql=_make_releases, made_by=_JOB),
    View(name=NAMES, sql=_make_names, made_by=_JOB),
    View(
        name=CONFIG_CATALOG,
        row="The default of a key in a release and client type, as "
        "`conf/config_catalog/` has it.",
        sql=_CATALOG_SQL,
        needs=(RELEASES,),
        made_by=_JOB,
    ),
)
