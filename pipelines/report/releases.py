"""What is known of releases of client software: of each its age, support and faults.

Source: conf/client_releases.csv and conf/client_faults.csv, as in the views
`client_software` and `known_faults`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pipelines.settings.client_releases import (
    METRICS_KIND,
    ClientFault,
    ClientRelease,
    load_client_faults,
    load_client_releases,
)

_LIBRDKAFKA, _JAVA = "librdkafka", "apache-kafka-java"
_PLATFORM = "confluent-platform"
_FAMILIES = {_JAVA: "java", _PLATFORM: "java", "kgo": "franz-go", "sarama": "sarama"}
_OWN = re.compile(r"v?(\d+(?:\.\d+)+)")
_INNER = re.compile(r"rdkafka-(\d+(?:\.\d+)+)")
_PLATFORM_BUILD = re.compile(r"v?(\d+\.\d+)[\d.]*-(?:ccs|ce)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One release, as far as it is known."""

    released: date | None
    """Null: not known."""
    support: str
    faults: str
    has_wrong_metrics: bool = False
    """Whether the metrics of its clients are known to be wrong."""


Releases = Mapping[tuple[str, str], Release]
"""By software and release."""


def load_releases(conf: Path) -> Releases:
    """Return what is known of each release.

    Raises: InvalidSetting, naming file and line.
    """
    faults = load_client_faults(conf)
    return {
        (one.software, one.release): Release(
            released=one.released_on,
            support=one.support.replace("_", " "),
            faults="; ".join(map(_tell, _find_faults(one, faults))),
            has_wrong_metrics=any(
                fault.kind == METRICS_KIND for fault in _find_faults(one, faults)
            ),
        )
        for one in load_client_releases(conf)
    }


def _find_faults(
    release: ClientRelease, faults: Sequence[ClientFault]
) -> list[ClientFault]:
    family = _FAMILIES.get(release.software, _LIBRDKAFKA)
    number = _number(release.core_release or release.release)
    return [
        one
        for one in faults
        if one.family == family
        and _number(one.from_release) <= number
        and not (one.fixed_in and _number(one.fixed_in) <= number)
    ]


def _number(release: str) -> tuple[int, ...]:
    """Return what orders releases; of no release what is before all."""
    parts = [int(one) for one in release.split(".")] if release else []
    return (*parts, 0, 0, 0)[:3]


def _tell(fault: ClientFault) -> str:
    whose = f"{fault.client_type}: " if fault.client_type else ""
    when = (
        f"with {fault.condition_key}={fault.condition_value}: "
        if fault.condition_key
        else ""
    )
    return f"{whose}{when}{fault.fault} ({fault.issue})"


def find_release(releases: Releases, software: str, version: str) -> Release | None:
    """Return what is known of a version that a client has told.

    A build of Confluent Platform is what its minor release is; a binding of librdkafka
    of which nothing is known is the librdkafka that is in it.
    """
    if software == _JAVA and (build := _PLATFORM_BUILD.match(version)):
        return releases.get((_PLATFORM, build[1]))
    own, inner = _OWN.match(version), _INNER.search(version)
    known = releases.get((software, own[1])) if own else None
    if known is None and inner:
        known = releases.get((_LIBRDKAFKA, inner[1]))
    if known is None and own and software == _JAVA:
        known = _find_line(releases, own[1])
    return known


def _find_line(releases: Releases, release: str) -> Release | None:
    """Return the support of the minor line of a Kafka release that is not listed."""
    line = _number(release)[:2]
    for (software, listed), one in releases.items():
        if software == _JAVA and one.support and _number(listed)[:2] == line:
            return Release(released=None, support=one.support, faults="")
    return None
