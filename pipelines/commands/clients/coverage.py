"""clients coverage: the KIP-714 metrics that clients lack, at a terminal."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.commands.configs.as_json import format_json
from pipelines.commands.configs.lines import find_near, show_client, show_time
from pipelines.errors import MissingTable, UnknownClient
from pipelines.reading import views
from pipelines.reading.client_states import EXPIRED, IDLE, TERMINATED
from pipelines.reading.text_tables import format_table, make_printable
from pipelines.reading.views.coverage_view import (
    DELIVERED,
    EMPTY,
    MISSING,
    NEVER_PUSHED,
    NEWEST_PUSHES,
    NOT_ASKED,
    NOT_SUPPORTED,
    NOTHING_HAPPENED,
    WRONG_KIND,
)
from pipelines.settings.records import Settings

Say = Callable[[str], None]

_FAULTS = (MISSING, WRONG_KIND)
_ENDED = (TERMINATED, EXPIRED)
_STATES = {
    EMPTY: f"its last {NEWEST_PUSHES} pushes are empty",
    IDLE: IDLE,
    EXPIRED: EXPIRED,
    NEVER_PUSHED: "it has never pushed metrics",
    TERMINATED: TERMINATED,
}
"""Descriptions of clients that are not just active."""
_NAMES = ("METRIC", "STATUS", "LAST-DELIVERED", "NOTE")
_CLIENT_NAMES = ("CLIENT-ID", "CLIENT-INSTANCE-ID", "TYPE", "STATE")
_COUNTED = (
    *(DELIVERED, NOTHING_HAPPENED, MISSING, WRONG_KIND, NOT_ASKED, NOT_SUPPORTED),
)
_ORDER = ("client_id", "client_instance_id", "metric")
_NEAR, _MOST_KNOWN = 5, 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageQuestion:
    """Which clients are meant, and how the answer is printed."""

    client_ids: tuple[str, ...] = ()
    client_instance_ids: tuple[str, ...] = ()
    cluster_id: str | None = None
    is_all: bool = False
    """Whether clients without a problem and ended clients are printed as well."""
    is_json: bool = False

    def __str__(self) -> str:
        """Return whom it is about, as on the command line."""
        named = [f"client-id {one}" for one in self.client_ids]
        named += [f"client-instance-id {one}" for one in self.client_instance_ids]
        named += [f"cluster-id {self.cluster_id}"] if self.cluster_id else []
        return ", ".join(named) or "all clients"

    @property
    def has_details(self) -> bool:
        """Whether each metric of each client is printed."""
        return bool(self.is_all or self.client_ids or self.client_instance_ids)

    def filter(self, rows: DataFrame) -> DataFrame:
        """Keep the rows of the clients that are meant."""
        named = F.col("client_id").isin(*self.client_ids) | F.col(
            "client_instance_id"
        ).isin(*self.client_instance_ids)
        if self.client_ids or self.client_instance_ids:
            rows = rows.where(named)
        if self.cluster_id:
            rows = rows.where(F.col("cluster_id") == self.cluster_id)
        return rows


def answer_coverage(
    spark: SparkSession, settings: Settings, asked: CoverageQuestion, say: Say
) -> int:
    """Print the answer; return 1 if a client lacks a metric that it is asked for.

    Raises: MissingTable, UnknownClient.
    """
    names = views.find_names_in(views.COVERAGE)
    if views.COVERAGE not in views.register(spark, settings, names):
        raise MissingTable(views.explain_missing(views.COVERAGE, settings))
    coverage = spark.table(views.COVERAGE)
    meant = asked.filter(coverage)
    if asked.is_json or asked.has_details:
        rows = _select_shown(meant.orderBy(*_ORDER).collect(), asked)
        lines = [format_json(rows)] if asked.is_json else describe_clients(rows)
        is_known, is_at_fault = bool(rows), any(r["status"] in _FAULTS for r in rows)
    else:
        groups = summarize(meant).collect()
        lines = describe_fleet(groups)
        is_known, is_at_fault = bool(groups), any(r["at_fault"] for r in groups)
    if not is_known:
        raise UnknownClient(_explain_unknown(coverage, asked))
    for line in lines:
        say(line)
    return int(is_at_fault)


def _select_shown(rows: Sequence[Row], asked: CoverageQuestion) -> Sequence[Row]:
    """Leave out ended clients if others remain."""
    shown = [row for row in rows if row["client_state"] not in _ENDED]
    return rows if asked.is_all or not shown else shown


def summarize(coverage: DataFrame) -> DataFrame:
    """Return counts, and the rows of metrics that are missing or of the wrong kind.

    Args:
        coverage: client_metric_coverage, or part of it.
    Returns: is_ended, clients, at_fault (clients), a count for each status, and faults
        (rows). Only faults grow with the fleet.
    Shape: A row for active clients, and a row for ended clients.
    """
    is_fault = F.col("status").isin(*_FAULTS)
    whole = F.struct(*coverage.columns)
    of_client = (
        coverage.withColumn("is_ended", F.col("client_state").isin(*_ENDED))
        .groupBy("is_ended", "client_instance_id")
        .agg(
            *(F.count_if(F.col("status") == one).alias(one) for one in _COUNTED),
            F.collect_list(F.when(is_fault, whole)).alias("faults"),
        )
    )
    return of_client.groupBy("is_ended").agg(
        F.count("*").alias("clients"),
        F.count_if(F.size("faults") > 0).alias("at_fault"),
        *(F.sum(one).alias(one) for one in _COUNTED),
        F.flatten(F.collect_list("faults")).alias("faults"),
    )


def describe_fleet(groups: Sequence[Row]) -> Iterator[str]:
    """Return the answer about many clients: counts, then what is at fault.

    Args:
        groups: As summarize returns them. Ended clients count if there are no others.
    """
    chosen, *others = sorted(groups, key=lambda row: bool(row["is_ended"]))
    yield _count_clients(chosen["at_fault"], chosen["clients"])
    yield _count_statuses({one: chosen[one] for one in _COUNTED})
    faults = sorted(chosen["faults"], key=_sort_key)
    if faults:
        cells = [
            (
                make_printable(row["client_id"] or "-"),
                make_printable(row["client_instance_id"]),
                *(row["client_type"], row["client_state"], *_show_metric(row)),
            )
            for row in faults
        ]
        yield format_table((*_CLIENT_NAMES, *_NAMES), cells)
    for one in others:
        yield f"ended clients are left out: {one['clients']}; --all includes them"


def describe_clients(rows: Sequence[Row]) -> Iterator[str]:
    """Return the answer about chosen clients, then each metric of each client.

    Args:
        rows: Of client_metric_coverage, sorted by client.
    """
    clients: dict[str, list[Row]] = {}
    for row in rows:
        clients.setdefault(row["client_instance_id"], []).append(row)
    at_fault = {r["client_instance_id"] for r in rows if r["status"] in _FAULTS}
    yield _count_clients(len(at_fault), len(clients))
    for of_client in clients.values():
        yield make_printable(_name_client(of_client[0]))
        yield format_table(_NAMES, [_show_metric(row) for row in of_client])
        yield _count_statuses(Counter(row["status"] for row in of_client))


def _count_clients(at_fault: int, clients: int) -> str:
    lack = "lacks" if at_fault == 1 else "lack"
    return (
        f"{at_fault} of {clients} clients {lack} a KIP-714 metric that a subscription "
        f"asks for"
    )


def _count_statuses(counts: Mapping[str, int]) -> str:
    told = [f"{counts[one]} {one}" for one in _COUNTED if counts[one]]
    return f"{', '.join(told)} of {sum(counts.values())} metrics"


def _sort_key(row: Row) -> list[str]:
    return [str(row[name] or "") for name in _ORDER]


def _name_client(row: Row) -> str:
    pushed = row["last_push"]
    said = [
        f"client-instance-id {row['client_instance_id']} ({show_client(row)}",
        *([f"cluster {row['cluster_id']}"] if row["cluster_id"] else []),
        *([f"last push {show_time(pushed)}"] if pushed else []),
        _STATES.get(row["client_state"], row["client_state"]),
    ]
    return f"{', '.join(said)}):"


def _show_metric(row: Row) -> tuple[str, str, str, str]:
    """Return the cells of _NAMES."""
    delivered = row["last_delivered"]
    notes = ["required" if row["is_required"] else "optional"]
    if row["status"] == WRONG_KIND:
        notes.append(f"{row['delivered_kind']}, not {row['kind']}")
    time = show_time(delivered) if delivered else "never"
    return row["metric"], row["status"], time, ", ".join(notes)


def _explain_unknown(coverage: DataFrame, asked: CoverageQuestion) -> str:
    known = coverage.select("client_id").distinct().limit(_MOST_KNOWN).collect()
    names = [row[0] for row in known if row[0] is not None]
    near = find_near(asked.client_ids, names)[:_NEAR]
    hint = f"; there is {', '.join(near)}" if near else ""
    return make_printable(
        f"{asked}: no producer or consumer that has pushed metrics, or its "
        f"configuration, is called so{hint}"
    )
