"""clients stale and clients upgrade: what clients run, and what they use."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.commands.configs.as_json import format_json
from pipelines.commands.configs.lines import show_time
from pipelines.counted import counted
from pipelines.errors import MissingTable, UnknownClient
from pipelines.reading import client_software, views
from pipelines.reading.client_software import BREAKS, NOT_SEEN
from pipelines.reading.text_tables import MAX_WIDTH, format_table, make_printable
from pipelines.settings.api_versions import load_api_versions
from pipelines.settings.client_releases import ADVISED_AGAINST, ENDED
from pipelines.settings.records import Settings

Say = Callable[[str], None]

_SINCE = timedelta(days=7)
_ERROR, _UNKNOWN = "error", "unknown"
_STALE_NAMES = (
    *("CLIENT-ID", "SOFTWARE", "VERSION", "RELEASED", "DAYS", "SUPPORT", "NEWEST"),
)
_UPGRADE_NAMES = ("CLIENT-ID", "SOFTWARE", "VERSION", "API", "USES", "SERVED", "LAST")
_IS_TOLD = frozenset({ENDED, ADVISED_AGAINST})


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftwareQuestion:
    """Which clients are meant, and how the answer is printed."""

    principals: tuple[str, ...] = ()
    client_ids: tuple[str, ...] = ()
    cluster_id: str | None = None
    since: datetime | None = None
    is_all: bool = False
    is_json: bool = False

    def start(self, now: datetime) -> datetime:
        """Return from when on clients count."""
        return self.since or now - _SINCE

    def filter(self, rows: DataFrame) -> DataFrame:
        """Keep the rows of the clients that are meant."""
        if self.principals:
            rows = rows.where(F.col("principal").isin(*self.principals))
        if self.client_ids:
            rows = rows.where(F.col("client_id").isin(*self.client_ids))
        if self.cluster_id:
            rows = rows.where(F.col("cluster_id") == self.cluster_id)
        return rows


def answer_stale(
    spark: SparkSession, settings: Settings, asked: SoftwareQuestion, say: Say
) -> int:
    """Print clients with old or faulty software; 1 where one surely has an error.

    Raises: MissingTable, UnknownClient.
    """
    _register(spark, settings, f"{views.CLIENT_SOFTWARE} {views.KNOWN_FAULTS}")
    now = datetime.now(UTC)
    found = client_software.select_stale(
        asked.filter(spark.table(views.CLIENT_SOFTWARE)),
        spark.table(views.KNOWN_FAULTS),
        asked.start(now),
    )
    rows = _collect(found, asked, now)
    shown = [row for row in rows if asked.is_all or _is_stale(row)]
    if asked.is_json:
        say(format_json([_with_days(row, now.date()) for row in shown]))
    else:
        for line in describe_stale(shown, now.date(), clients=len(rows)):
            say(line)
    faults = itertools.chain.from_iterable(row["faults"] for row in shown)
    return int(any(one["severity"] == _ERROR and one["is_sure"] for one in faults))


def answer_upgrade(
    spark: SparkSession,
    settings: Settings,
    asked: SoftwareQuestion,
    release: str,
    say: Say,
) -> int:
    """Print clients that a release of brokers breaks; 1 where there is one.

    Args:
        release: One of api_versions.csv.
    Raises: MissingTable, UnknownClient.
    """
    _register(spark, settings, f"client_traffic {views.CLIENT_SOFTWARE}")
    apis, now = load_api_versions(), datetime.now(UTC)
    found = client_software.select_upgrade(
        asked.filter(client_software.read_traffic(spark)),
        asked.filter(spark.table(views.CLIENT_SOFTWARE)),
        apis.releases[release],
        apis.names,
        asked.start(now),
    )
    rows = _collect(found, asked, now)
    broken = [row for row in rows if row["verdict"] == BREAKS]
    if asked.is_json:
        shown = rows if asked.is_all else [r for r in rows if r["verdict"] != "works"]
        say(format_json(shown))
    else:
        for line in describe_upgrade(rows, release, is_all=asked.is_all):
            say(line)
    return int(bool(broken))


def _register(spark: SparkSession, settings: Settings, names: str) -> None:
    registered = views.register(spark, settings, views.find_names_in(names))
    for name in names.split():
        if name not in registered:
            raise MissingTable(views.explain_missing(name, settings))


def _collect(rows: DataFrame, asked: SoftwareQuestion, now: datetime) -> list[Row]:
    order = ("principal", "client_id", "client_software_name")
    found = rows.orderBy(*order, "client_software_version").collect()
    if not found:
        since = show_time(asked.start(now).replace(microsecond=0))
        raise UnknownClient(f"no such client was seen since {since}")
    return found


def _is_stale(row: Row) -> bool:
    is_unknown = row["client_software_name"] == _UNKNOWN
    return bool(is_unknown or row["faults"] or row["support"] in _IS_TOLD)


def _with_days(row: Row, today: date) -> Row:
    released, said = row["released_on"], row.asDict()
    days = None if released is None else (today - released).days
    said["released_on"] = None if released is None else released.isoformat()
    return Row(**said, released_days_ago=days)


def describe_stale(rows: Sequence[Row], today: date, *, clients: int) -> Iterator[str]:
    """Return the lines of clients, by principal.

    Args:
        rows: From select_stale, those of a principal together.
        today: For ages.
        clients: How many there are in all.
    """
    for principal, of_principal in _by_principal(rows):
        yield make_printable(f"{principal}:")
        yield format_table(
            _STALE_NAMES,
            [_stale_cells(_with_days(row, today)) for row in of_principal],
            max_width=MAX_WIDTH,
        )
        faults: dict[str, list[str]] = {}
        for row in of_principal:
            for one in row["faults"]:
                faults.setdefault(_show_fault(one, row), []).append(_name(row))
        for text, names in faults.items():
            yield make_printable(f"{text}: {', '.join(dict.fromkeys(names))}")
    yield (
        f"{len(rows)} of {counted(clients, 'client')} "
        f"{'has' if len(rows) == 1 else 'have'} software that is out of support, not "
        "known or has known faults"
    )


def _stale_cells(row: Row) -> tuple[object, ...]:
    return (
        _name(row),
        row["client_software_name"],
        row["client_software_version"],
        row["released_on"],
        row["released_days_ago"],
        row["support"],
        row["newest_core_release"],
    )


def _show_fault(fault: Row, row: Row) -> str:
    may = "" if fault["is_sure"] else "may have: "
    with_key = ""
    if fault["condition_key"]:
        with_key = f" (with {fault['condition_key']}={fault['condition_value']})"
    fixed = f", fixed in {fault['fixed_in']}" if fault["fixed_in"] else ""
    core = f"{row['family']} {row['core_release']}"
    return (
        f"{fault['severity']}: {core} {may}{fault['fault']}{with_key}"
        f" [{fault['issue']}{fixed}]"
    )


def describe_upgrade(
    rows: Sequence[Row], release: str, *, is_all: bool
) -> Iterator[str]:
    """Return the lines of clients, by principal: those that break first.

    Args:
        rows: From select_upgrade.
        release: Of the brokers.
        is_all: Whether those that work are shown as well.
    """
    broken = [row for row in rows if row["verdict"] == BREAKS]
    for principal, of_principal in _by_principal(broken):
        yield make_printable(f"{principal} breaks with brokers {release}:")
        yield format_table(
            _UPGRADE_NAMES,
            [cells for row in of_principal for cells in _lost_cells(row)],
            max_width=MAX_WIDTH,
        )
    others = [row for row in rows if is_all and row["verdict"] == "works"]
    for principal, of_principal in _by_principal(others):
        names = ", ".join(
            f"{_name(row)} ({_show_software(row)})" for row in of_principal
        )
        yield make_printable(f"{principal} works with brokers {release}: {names}")
    unseen = [row for row in rows if row["verdict"] == NOT_SEEN]
    for principal, of_principal in _by_principal(unseen):
        names = ", ".join(
            f"{_name(row)} ({_show_software(row)})" for row in of_principal
        )
        yield make_printable(f"{principal}, not seen by the proxy: {names}")
    judged = len(rows) - len(unseen)
    yield (
        f"{len(broken)} of {counted(judged, 'client')} "
        f"{'uses' if len(broken) == 1 else 'use'} API versions that brokers {release} "
        f"do not serve"
        + (f"; of {counted(len(unseen), 'other')} nothing is known" if unseen else "")
    )


def _lost_cells(row: Row) -> Iterator[tuple[object, ...]]:
    for one in row["lost"]:
        first = one["first_version"]
        yield (
            _name(row),
            row["client_software_name"],
            row["client_software_version"],
            one["api_name"],
            one["api_version"],
            "none" if first is None else f"from {first}",
            show_time(one["last_used"].replace(microsecond=0)),
        )


def _by_principal(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    for principal, group in itertools.groupby(rows, key=lambda row: row["principal"]):
        yield principal, list(group)


def _name(row: Row) -> str:
    return row["client_id"] or "(no client-id)"


def _show_software(row: Row) -> str:
    return f"{row['client_software_name']} {row['client_software_version']}"
