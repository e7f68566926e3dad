"""Which versions of each API brokers of a release serve: conf/api_versions.csv."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipelines.errors import InvalidSetting

from .csv_files import name_file, read_columns, read_csv
from .places import CONF_PATH

FILE_NAME = "api_versions.csv"
_KEYS = {"api_key": re.compile(r"\d{1,5}"), "api_name": re.compile(r"[A-Za-z]+")}
_RELEASE = re.compile(r"\d+\.\d+")
_RANGE = re.compile(r"(|\d{1,5}-\d{1,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedApis:
    """What the file says."""

    names: Mapping[int, str]
    """API key to its name, of all releases."""
    releases: Mapping[str, Mapping[int, range]]
    """Release, the oldest first, to the versions of each API that it serves."""


def load_api_versions(conf_path: Path = CONF_PATH) -> ServedApis:
    """Read the file.

    Raises: InvalidSetting, naming file and line.
    """
    path = conf_path / FILE_NAME
    releases = read_columns(path)[len(_KEYS) :]
    if not releases or not all(map(_RELEASE.fullmatch, releases)):
        raise InvalidSetting(f"{name_file(path)}: its columns are no releases")
    names: dict[int, str] = {}
    served: dict[str, dict[int, range]] = {release: {} for release in releases}
    forms = {**_KEYS, **dict.fromkeys(releases, _RANGE)}
    for place, row in read_csv(path, forms):
        api_key = int(row["api_key"])
        if api_key in names:
            raise InvalidSetting(f"{place}: API key {api_key} is there twice")
        names[api_key] = row["api_name"]
        for release in releases:
            first, _, last = row[release].partition("-")
            if not first:
                continue
            versions = range(int(first), int(last) + 1)
            if not versions:
                raise InvalidSetting(f"{place}: {release} {row[release]!r}")
            served[release][api_key] = versions
    return ServedApis(names=names, releases=served)
