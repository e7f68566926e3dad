"""quotas explain, what-if, history, plan and top, at a terminal."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.commands.configs.as_json import format_json
from pipelines.delta_tables.transactions import persisted
from pipelines.errors import NothingToDo, PipelineError
from pipelines.jobs.quotas import job
from pipelines.reading.quota_brokers import count_live_brokers
from pipelines.reading.quota_clients import CLIENT, REPORT_COLUMNS
from pipelines.reading.quota_overview import (
    select_last_counts,
    select_quota_changes,
    select_top,
)
from pipelines.reading.quota_use import select_quota_use
from pipelines.settings.records import Settings
from pipelines.tables.cluster import BROKER_REGISTRATIONS, CLIENT_QUOTAS
from udfs.quotas import CONNECTION_KEY, Alteration, list_levels

from . import EXPLAIN, HISTORY, PLAN, TOP, WHAT_IF, lines
from .comparisons import Comparison, compare
from .plan_files import read_plan
from .plans import list_differences
from .questions import QuotaQuestion
from .tops import describe_top

Say = Callable[[str], None]
_PRINCIPAL_TYPE = "User:"
_DIFFERENT = 1
"""Exit code of a plan that is not what is."""


class UnclearCluster(PipelineError):
    """Raised when there are several clusters, and nobody says which is meant."""

    exit_code = 2


class QuotaCommand:
    """Answers questions in one session."""

    def __init__(
        self, spark: SparkSession, settings: Settings, now: datetime, say: Say
    ) -> None:
        """Take the tables that there are.

        Args:
            now: The moment that the answers are about where none was named.
            say: Prints.
        Raises: MissingTable, with the job that makes it.
        """
        self._spark, self._settings, self._now, self._say = spark, settings, now, say
        # What is set can be told before any client was seen.
        self._tables = job.open_tables(spark, settings, needs_clients=False)
        self._clusters = job.list_clusters(self._tables)

    def answer(self, asked: QuotaQuestion) -> int:
        """Print the answer; return the exit code.

        Raises: UnclearCluster, NothingToDo, InvalidPlan.
        """
        answers = {
            EXPLAIN: self.explain,
            WHAT_IF: self.what_if,
            HISTORY: self.history,
            PLAN: self.plan,
            TOP: self.top,
        }
        return answers[asked.action](asked)

    def explain(self, asked: QuotaQuestion) -> int:
        """Print what applies to a client, level by level."""
        cluster_id, now = self._find_cluster(asked), asked.at or self._now
        tables = {**self._tables, CLIENT_QUOTAS.name: self._quotas_at(cluster_id, now)}
        principal = f"{_PRINCIPAL_TYPE}{asked.user}"
        is_asked = (F.col("principal") == principal) & (
            F.col("client_id") == asked.client_id
        )
        with (
            persisted(self._with_asked(asked, cluster_id, now)) as clients,
            job.computed(tables, clients, now) as rows,
        ):
            found = rows.where(is_asked).collect()
        values = {
            (row["entity_path"], row["quota_key"]): row["quota_value"]
            for row in tables[CLIENT_QUOTAS.name].collect()
        }
        explained = [
            row
            for key in asked.keys
            for row in _sum_up([one for one in found if one["quota_key"] == key], asked)
        ]
        if asked.is_json:
            self._print_json(explained)
            return 0
        for row in explained:
            address, key = row["client_source_address"], row["quota_key"]
            paths = [
                one.path
                for one in list_levels(asked.user, asked.client_id, address, key)
            ]
            levels = [(path, values.get((path, key))) for path in paths]
            if row["level"] is not None:
                # Of an address in another spelling the path is another, too.
                applies = row["level"] - 1
                levels[applies] = (row["entity_path"], row["limit"])
            name = asked.client_id or asked.user or address
            for line in lines.explain_key(row.asDict(), levels, name):
                self._say(line)
        return 0

    def what_if(self, asked: QuotaQuestion) -> int:
        """Print which clients a change would concern, and how."""
        compared = self._compare(asked, asked.alterations)
        changed = list(compared.changes)
        if asked.is_json:
            self._print_json(changed)
            return 0
        if changed:
            names = ("PRINCIPAL", "CLIENT-ID", "KEY", "NOW", "THEN")
            cells = [
                (
                    row["principal"],
                    row["client_id"],
                    row["quota_key"],
                    lines.show_limit(row["limit_now"], row["entity_path_now"]),
                    lines.show_limit(row["limit_then"], row["entity_path_then"]),
                )
                for row in changed
            ]
            for line in lines.format_columns(names, cells):
                self._say(line)
        clients = {(row["principal"], row["client_id"]) for row in changed}
        self._say(
            lines.sum_up_changes(len(clients), compared.observed, compared.throttled)
        )
        return 0

    def history(self, asked: QuotaQuestion) -> int:
        """Print what was set, changed and removed, and when."""
        rows = self._quotas_of(self._find_cluster(asked))
        rows = rows.where(F.col("quota_key").isin(*asked.keys))
        if asked.entity is not None:
            rows = rows.where(F.col("entity_path") == asked.entity)
        changes = rows.transform(select_quota_changes).collect()
        if not changes:
            raise NothingToDo(f"no quota of {asked.entity or 'anybody'} was ever seen")
        events = sorted(
            (one for one in changes if _is_within(one["at"], asked)),
            key=lambda one: (one["at"], one["entity_path"], one["quota_key"]),
        )
        if asked.is_json:
            self._print_json(events)
            return 0
        for one in events:
            self._say(lines.describe_event(one.asDict()))
        return 0

    def top(self, asked: QuotaQuestion) -> int:
        """Print the limits that clients use most."""
        cluster_id = self._find_cluster(asked)
        seen = job.select_clients(self._tables, self._settings, self._now)
        own = seen.where(F.col("cluster_id") == cluster_id)
        with (
            persisted(own) as clients,
            job.computed(self._tables, clients, self._now) as effective,
        ):
            rows = (
                effective.transform(select_quota_use)
                .transform(select_top, asked.keys)
                .collect()
            )
        if asked.is_json:
            self._print_json(rows)
            return 0
        for line in describe_top(rows, self._find_last_count(cluster_id)):
            self._say(line)
        return 0

    def _find_last_count(self, cluster_id: str) -> datetime | None:
        traffic = self._tables.get("client_traffic")
        if traffic is None:
            return None
        of_cluster = traffic.where(F.col("cluster_id") == cluster_id)
        found = of_cluster.transform(select_last_counts).collect()
        return found[0]["counted_until"] if found else None

    def plan(self, asked: QuotaQuestion) -> int:
        """Print how a file and the cluster differ."""
        assert asked.file is not None  # noqa: S101 - read_question asks for it
        wanted = [one for one in read_plan(asked.file) if one.quota_key in asked.keys]
        current = self._quotas_of(self._find_cluster(asked)).where("is_current")
        found = current.where(F.col("quota_key").isin(*asked.keys)).collect()
        there = {
            (row["entity_path"], row["quota_key"]): row["quota_value"] for row in found
        }
        differences = list_differences(there, wanted)
        compared = self._compare(asked, [one.alteration for one in differences])
        rows = [
            Row(
                change=one.kind,
                entity_path=one.path,
                quota_key=one.alteration.quota_key,
                before=one.before,
                after=one.alteration.quota_value,
                clients=compared.list_concerned(one.path, one.alteration.quota_key),
            )
            for one in differences
        ]
        if asked.is_json:
            self._print_json(rows)
        else:
            self._print_plan(rows)
        return _DIFFERENT if rows else 0

    def _print_plan(self, rows: Sequence[Row]) -> None:
        cells = [
            [
                *lines.describe_difference(
                    *(row["change"], row["entity_path"], row["quota_key"]),
                    *(row["before"], row["after"]),
                ),
                lines.list_concerned(row["clients"]),
            ]
            for row in rows
        ]
        if cells:
            for line in lines.format_columns(
                ("ENTITY", "KEY", "CHANGE", "CONCERNS"), cells
            ):
                self._say(line)
        self._say(lines.sum_up_plan([row["change"] for row in rows]))

    def _compare(
        self, asked: QuotaQuestion, alterations: Sequence[Alteration]
    ) -> Comparison:
        cluster_id = self._find_cluster(asked)
        clients = job.select_clients(self._tables, self._settings, self._now)
        current = self._quotas_of(cluster_id).where("is_current")
        own = clients.where(F.col("cluster_id") == cluster_id)
        brokers = self._count_live_brokers(cluster_id)
        return compare(own, current, alterations, asked.keys, brokers)

    def _count_live_brokers(self, cluster_id: str) -> int | None:
        registrations = self._tables.get(BROKER_REGISTRATIONS.name)
        if registrations is None:
            return None
        of_cluster = registrations.where(F.col("cluster_id") == cluster_id)
        found = of_cluster.transform(count_live_brokers).collect()
        return found[0]["live_brokers"] if found else None

    def _find_cluster(self, asked: QuotaQuestion) -> str:
        known = self._clusters
        if asked.cluster_id is not None:
            if asked.cluster_id not in known:
                raise NothingToDo(f"nothing is known of a cluster {asked.cluster_id}")
            return asked.cluster_id
        if len(known) > 1:
            raise UnclearCluster(
                f"there are several clusters: {', '.join(known)}; --cluster-id says "
                f"which"
            )
        return known[0] if known else ""

    def _quotas_of(self, cluster_id: str) -> DataFrame:
        quotas = self._tables[CLIENT_QUOTAS.name]
        return quotas.where(F.col("cluster_id") == cluster_id)

    def _quotas_at(self, cluster_id: str, at: datetime) -> DataFrame:
        """Return the quotas of a moment as if they were the current ones."""
        is_over = F.coalesce(F.col("valid_to") <= F.lit(at), F.lit(False))
        return (
            self._quotas_of(cluster_id)
            .where((F.col("valid_from") <= F.lit(at)) & ~is_over)
            .withColumn("is_current", F.lit(True))
        )

    def _with_asked(
        self, asked: QuotaQuestion, cluster_id: str, now: datetime
    ) -> DataFrame:
        """Return the clients that were seen, and the one that is asked about."""
        clients = job.select_clients(self._tables, self._settings, now)
        own = clients.where(F.col("cluster_id") == cluster_id)
        named = (cluster_id, f"{_PRINCIPAL_TYPE}{asked.user}", asked.client_id)
        one = self._spark.createDataFrame([(*named, asked.address or "")], [*CLIENT])
        is_new = one.join(own, [*CLIENT], "left_anti")
        blank = {
            name: F.lit(0 if name == "live_instances" else None).cast(kind)
            for name, kind in own.dtypes
            if name not in CLIENT
        }
        return own.unionByName(is_new.withColumns(blank))

    def _print_json(self, rows: Sequence[Row]) -> None:
        self._say(format_json(rows))


def _sum_up(rows: Sequence[Row], asked: QuotaQuestion) -> list[Row]:
    """Return the rows that are told: one a key, of addresses one each."""
    seen = [row for row in rows if row["client_source_address"]]
    if rows and rows[0]["quota_key"] == CONNECTION_KEY:
        if asked.address is not None:
            return [r for r in seen if r["client_source_address"] == asked.address]
        return sorted(seen, key=lambda row: str(row["client_source_address"]))
    if not rows:
        return []
    told = (rows[0] if not seen else seen[0]).asDict()
    how: Mapping[str, Callable[[Sequence[float]], float]] = dict(
        zip(REPORT_COLUMNS, (_mean, max, sum), strict=True)
    )
    for name, combine in how.items():
        known = [row[name] for row in rows if row[name] is not None]
        told[name] = combine(known) if known else None
    return [Row(**told)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _is_within(at: datetime, asked: QuotaQuestion) -> bool:
    moment = at.astimezone(asked.start.tzinfo if asked.start else None)
    begun = asked.start is None or moment >= asked.start
    return begun and (asked.end is None or at.astimezone(asked.end.tzinfo) < asked.end)
