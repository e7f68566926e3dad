"""What changed since a time: clients, configurations, findings, quotas and brokers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading import changes
from pipelines.reading.views.client_config_views import TIMELINE

from .asked import Asked
from .fleet import Change, Part
from .texts import name_client_id

_MOST = 50
OF_CLIENT = {
    "client_id": "client id",
    "principal": "principal",
    "cluster_id": "cluster",
    "client_type": "type",
}
_FINDINGS = "client_findings"
_AT = {"at": "when (UTC)"}
_SOFTWARE = _AT | OF_CLIENT | {"name": "software"}
_BEFORE = {"before": "before", "after": "now"}
_TOLD: Mapping[str, tuple[str, Mapping[str, str]]] = {
    changes.APPEARED: ("client{} appeared", _SOFTWARE),
    changes.LEFT: ("client{} left", _SOFTWARE | {"after": "state"}),
    changes.VERSION: ("client{} changed the version", _SOFTWARE | _BEFORE),
    changes.CONFIG: (
        "configured value{} changed",
        _AT | OF_CLIENT | {"name": "key"} | _BEFORE,
    ),
    changes.QUOTA: (
        "quota{} changed",
        _AT | {"cluster_id": "cluster", "name": "quota"} | _BEFORE,
    ),
    changes.BROKER: (
        "event{} of brokers",
        _AT | {"cluster_id": "cluster", "name": "broker", "after": "what"},
    ),
}
"""Kind of a change to its words, and to the columns of its table."""


def find_changes(asked: Asked) -> DataFrame:
    """Return all changes since then, worked out once."""
    names = [name for name in changes.SOURCE_NAMES if name in asked.names]
    tables = {name: asked.table(name) for name in names}
    found: DataFrame = changes.select_changes(tables, asked.since)
    return found.localCheckpoint()


def read_changes(asked: Asked, find: Callable[[], DataFrame]) -> list[Change]:
    """Return what changed since then, each with its rows.

    Args:
        find: Returns the rows of find_changes.
    """
    found = find()
    about = asked.of_principals(found.where(F.col("principal").isNotNull()))
    kept = about.unionByName(found.where(F.col("principal").isNull()))
    counts = {
        one["what"]: one["count"] for one in kept.groupBy("what").count().collect()
    }
    made = [_read_kind(asked, kept, what, counts.get(what, 0)) for what in _TOLD]
    return [one for one in (*made, _count_findings(asked, counts)) if one is not None]


def _read_kind(asked: Asked, found: DataFrame, what: str, number: int) -> Change | None:
    words, names = _TOLD[what]
    if what == changes.CONFIG and (missing := asked.explain_missing(TIMELINE)):
        return Change(what=f"configurations: {missing}", detail=Part(missing=missing))
    if what in {changes.QUOTA, changes.BROKER} and not number:
        return None
    told = words.format("" if number == 1 else "s")
    if not number:
        return Change(what=f"no {told}", detail=Part(names=tuple(names.values())))
    rows = found.where(F.col("what") == what).orderBy(
        F.desc("at"), "client_id", "principal", "name"
    )
    part = asked.ask_part(rows, names, _MOST)
    change = Change(what=f"{number:,} {told}", detail=part)
    return _with_moments(change) if what == changes.CONFIG else change


def _with_moments(change: Change) -> Change:
    """Return a change of configurations with the moments for the picture."""
    rows: Sequence[Any] = change.detail.rows
    moments = [
        (_know_zone(at), f"{name_client_id(client_id)}: {key}")
        for at, client_id, _, _, _, key, *_ in rows
    ]
    return replace(change, moments=moments)


def _know_zone(moment: datetime) -> datetime:
    """Return a moment of Spark, which has none, in UTC."""
    return moment.astimezone(UTC)


def _count_findings(asked: Asked, counts: Mapping[str, int]) -> Change:
    missing = asked.explain_missing(_FINDINGS)
    if missing:
        return Change(what=f"findings: {missing}", detail=Part(missing=missing))
    opened, closed = (counts.get(one, 0) for one in (changes.OPENED, changes.CLOSED))
    return Change(what=f"{opened:,} findings opened, {closed:,} closed", detail=Part())
