"""Releases of clients, and what is wrong with them: two files of conf/.

A fault is of a range of releases, so that it stands in a file of its own, once; the
bindings of librdkafka have those of the librdkafka that is in them.
"""

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pipelines.errors import InvalidSetting

from .csv_files import name_file, read_csv
from .places import CONF_PATH

RELEASES_NAME, FAULTS_NAME = "client_releases.csv", "client_faults.csv"
SUPPORTED, ENDED, ADVISED_AGAINST = "supported", "ended", "advised_against"
FAMILIES = ("java", "librdkafka", "franz-go", "sarama")
METRICS_KIND = "metrics"
"""Kind of a fault that makes the values of a client's metrics wrong."""
SEVERITIES = ("error", "warning", "advice")
_NO_DATE = ""
_SUPPORT = f"(|{SUPPORTED}|{ENDED}|{ADVISED_AGAINST})"
_SOME, _ANY = re.compile(r".*\S.*"), re.compile(".*")
_RELEASE = re.compile(r"\d{1,6}(\.\d{1,6}){1,2}")
_NO_OR_RELEASE = re.compile(f"(|{_RELEASE.pattern})")
_RELEASE_FORMS = {
    "software": re.compile(r"[a-z][a-z0-9-]*"),
    "release": _RELEASE,
    "released_on": re.compile(r"(|\d{4}-\d\d-\d\d)"),
    "core_release": _NO_OR_RELEASE,
    "support": re.compile(_SUPPORT),
    "note": _ANY,
}
_FAULT_FORMS = {
    "family": re.compile("|".join(FAMILIES)),
    "client_type": re.compile(r"(|producer|consumer|share_consumer|admin|streams)"),
    "from_release": _NO_OR_RELEASE,
    "fixed_in": _NO_OR_RELEASE,
    "severity": re.compile("|".join(SEVERITIES)),
    "issue": _SOME,
    "fault": _SOME,
    "kind": re.compile(f"(|{METRICS_KIND})"),
    "condition_key": re.compile(r"[a-z.]*"),
    "condition_value": _ANY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRelease:
    """One release of one client software; empty or None is not known."""

    software: str
    """ClientSoftwareName, or `confluent-platform` for its builds of the Java client."""
    release: str
    released_on: date | None
    core_release: str
    """Of what is in it: librdkafka in its bindings, Kafka in Confluent Platform."""
    support: str
    """supported, ended, advised_against or empty."""
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFault:
    """One fault of some releases; where a text is empty: all, the first one, none."""

    family: str
    client_type: str
    from_release: str
    fixed_in: str
    severity: str
    issue: str
    """Its key, by which the reader finds it."""
    fault: str
    kind: str
    """METRICS_KIND or empty."""
    condition_key: str
    """The client has it only with this configuration; in the names of Java's client."""
    condition_value: str
    """One of the values of that key, which may be a list."""


def load_client_releases(conf_path: Path = CONF_PATH) -> list[ClientRelease]:
    """Read the file, in its order.

    Raises: InvalidSetting, naming file and line.
    """
    found: dict[tuple[str, str], ClientRelease] = {}
    for place, row in read_csv(conf_path / RELEASES_NAME, _RELEASE_FORMS):
        one = ClientRelease(**{**row, "released_on": _read_date(row, place)})  # type: ignore[arg-type]
        if found.setdefault((one.software, one.release), one) is not one:
            raise InvalidSetting(
                f"{place}: {one.software} {one.release} is there twice"
            )
    return list(found.values())


def load_client_faults(conf_path: Path = CONF_PATH) -> list[ClientFault]:
    """Read the file, in its order.

    Raises: InvalidSetting, naming file and line.
    """
    faults = []
    for place, row in read_csv(conf_path / FAULTS_NAME, _FAULT_FORMS):
        if bool(row["condition_key"]) != bool(row["condition_value"]):
            raise InvalidSetting(f"{place}: condition_key without condition_value")
        faults.append(ClientFault(**row))
    if not faults:
        raise InvalidSetting(f"{name_file(conf_path / FAULTS_NAME)}: has no rows")
    return faults


def _read_date(row: dict[str, str], place: str) -> date | None:
    text = row["released_on"]
    try:
        return date.fromisoformat(text) if text != _NO_DATE else None
    except ValueError:
        raise InvalidSetting(f"{place}: released_on {text!r}") from None
