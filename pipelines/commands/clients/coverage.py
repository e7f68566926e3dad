"""clients coverage: the metrics of KIP-714, client by client, at a terminal."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.commands.configs.as_json import format_json
from pipelines.commands.configs.lines import find_near, show_client, show_time
from pipelines.errors import MissingTable, UnknownClient
from pipelines.reading import views
from pipelines.reading.text_tables import format_table, make_printable
from pipelines.reading.views.coverage_view import (
    DELIVERED,
    EMPTY,
    MISSING,
    NEVER_PUSHED,
    NEWEST_PUSHES,
    NOT_ASKED,
    WRONG_KIND,
)
from pipelines.settings.records import Settings

Say = Callable[[str], None]

_FAULTS = frozenset({MISSING, WRONG_KIND})
_TERMINATED = "terminated"
_STATES = {
    EMPTY: f"its last {NEWEST_PUSHES} pushes are empty",
    "idle": "idle",
    "expired": "expired",
    NEVER_PUSHED: "it has never pushed metrics",
    _TERMINATED: "terminated",
}
"""What is said of clients that are not just active."""
_NAMES = ("METRIC", "STATUS", "LAST-DELIVERED", "")
_COUNTED = (DELIVERED, MISSING, WRONG_KIND, NOT_ASKED)
_NEAR, _MOST_KNOWN = 5, 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageQuestion:
    """Which clients are meant, and how the answer is printed."""

    client_ids: tuple[str, ...] = ()
    client_instance_ids: tuple[str, ...] = ()
    cluster_id: str | None = None
    is_all: bool = False
    """Whether clients that have terminated are shown beside others."""
    is_json: bool = False

    def __str__(self) -> str:
        """Return whom it is about, as on the command line."""
        named = [f"client-id {one}" for one in self.client_ids]
        named += [f"client-instance-id {one}" for one in self.client_instance_ids]
        named += [f"cluster-id {self.cluster_id}"] if self.cluster_id else []
        return ", ".join(named) or "all clients"

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
    """Print the answer; return 1 where a client does not deliver what it is asked for.

    Raises: MissingTable, UnknownClient.
    """
    names = views.find_names_in(views.COVERAGE)
    if views.COVERAGE not in views.register(spark, settings, names):
        raise MissingTable(views.explain_missing(views.COVERAGE, settings))
    coverage = spark.table(views.COVERAGE)
    order = ("client_id", "client_instance_id", "metric")
    found = asked.filter(coverage).orderBy(*order).collect()
    if not found:
        raise UnknownClient(_explain_unknown(coverage, asked))
    shown = [row for row in found if row["client_state"] != _TERMINATED]
    rows = found if asked.is_all or not shown else shown
    if asked.is_json:
        say(format_json(rows))
    else:
        for line in describe_coverage(rows):
            say(line)
    return int(any(row["status"] in _FAULTS for row in rows))


def describe_coverage(rows: Sequence[Row]) -> Iterator[str]:
    """Return the lines of clients.

    Args:
        rows: Of client_metric_coverage, those of a client together.
    """
    clients: dict[str, list[Row]] = {}
    for row in rows:
        clients.setdefault(row["client_instance_id"], []).append(row)
    for of_client in clients.values():
        yield make_printable(_name_client(of_client[0]))
        cells = [
            (row["metric"], row["status"], _show_time(row), _show_note(row))
            for row in of_client
        ]
        yield format_table(_NAMES, cells)
        counts = Counter(row["status"] for row in of_client)
        told = [f"{counts[one]} {one}" for one in _COUNTED if counts[one]]
        yield f"{', '.join(told)} of {len(of_client)} metrics"
    at_fault = [
        name
        for name, of_client in clients.items()
        if any(row["status"] in _FAULTS for row in of_client)
    ]
    do = "does" if len(at_fault) == 1 else "do"
    yield (
        f"{len(at_fault)} of {len(clients)} clients {do} not deliver what KIP-714 asks "
        f"for and a subscription wants"
    )


def _name_client(row: Row) -> str:
    pushed = row["last_push"]
    said = [
        f"client-instance-id {row['client_instance_id']} ({show_client(row)}",
        *([f"cluster {row['cluster_id']}"] if row["cluster_id"] else []),
        *([f"last push {show_time(pushed)}"] if pushed else []),
        _STATES.get(row["client_state"], row["client_state"]),
    ]
    return f"{', '.join(said)}):"


def _show_time(row: Row) -> str:
    return show_time(row["last_delivered"]) if row["last_delivered"] else "never"


def _show_note(row: Row) -> str:
    notes = ["required"] if row["is_required"] else []
    if row["status"] == WRONG_KIND:
        notes.append(f"{row['delivered_kind']}, not {row['kind']}")
    return ", ".join(notes)


def _explain_unknown(coverage: DataFrame, asked: CoverageQuestion) -> str:
    known = coverage.select("client_id").distinct().limit(_MOST_KNOWN).collect()
    names = [row[0] for row in known if row[0] is not None]
    near = find_near(asked.client_ids, names)[:_NEAR]
    hint = f"; there is {', '.join(near)}" if near else ""
    return make_printable(
        f"{asked}: no producer or consumer that has pushed metrics, or its "
        f"configuration, is called so{hint}"
    )
