"""What quotas mean for the clients that were seen of late, as a table.

Computed anew from the tables, compared with the table, and changed where it differs:
a row of a client that is seen no more goes. Two that do this at once get in each
other's way and look again.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables import transactions
from pipelines.delta_tables.locations import has_table, identify_table
from pipelines.delta_tables.retry import (
    LostRace,
    is_lost_race,
    repeat_on_conflict,
)
from pipelines.delta_tables.setup import ensure_tables
from pipelines.delta_tables.states import StateTable
from pipelines.delta_tables.writers import TableWriter, open_writer
from pipelines.errors import MissingTable, TooManyConflicts
from pipelines.reading import views
from pipelines.reading.quota_brokers import (
    count_live_brokers,
    select_quota_plugins,
    select_static_defaults,
)
from pipelines.reading.quota_clients import CLIENT, select_quota_clients
from pipelines.reading.quota_use import (
    select_recent_traffic,
    select_traffic_clients,
    select_use,
    with_traffic_clients,
    with_use,
)
from pipelines.settings.records import Settings
from pipelines.tables.cluster import (
    BROKER_REGISTRATIONS,
    BROKER_STATIC_CONFIGS,
    CLIENT_QUOTAS,
    EFFECTIVE_QUOTAS,
)
from pipelines.tables.configs import CLIENT_CONFIGS
from pipelines.tables.contract import IS_DELETED, TableContract
from pipelines.tables.telemetry import CLIENT_METRICS, CLIENT_PUSHES
from pipelines.tables.traffic import CLIENT_TRAFFIC
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS
from udfs.quotas import QuotaSnapshot
from udfs.spark_quotas import explode_quotas, snapshots_of

from . import steps

JOB_NAME = "refresh_quotas"
SEEN_IN = (CLIENT_PUSHES, CLIENT_CONFIGS, CLIENT_WIRE_CONFIGS, CLIENT_TRAFFIC)
"""Where clients are seen."""
_READ_BESIDE = (CLIENT_METRICS, BROKER_REGISTRATIONS, BROKER_STATIC_CONFIGS)
_NO_BROKERS = "cluster_id STRING, live_brokers INT"
_NO_PLUGINS = "cluster_id STRING, plugin_brokers ARRAY<INT>"
_NO_DEFAULTS = "cluster_id STRING, quota_key STRING, static_default DOUBLE"
_NO_USE = (
    "cluster_id STRING, quota_key STRING, sharing_id STRING, used_rate DOUBLE, "
    "throttled_ms DOUBLE"
)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What one run has done."""

    changed: int
    """Rows that are new or other than they were."""
    gone: int
    """Rows of clients that were not seen of late."""


def open_tables(
    spark: SparkSession, settings: Settings, *, needs_clients: bool = True
) -> dict[str, DataFrame]:
    """Return the tables that quotas are worked out of, those that there are, by name.

    Args:
        needs_clients: Whether quotas alone say nothing.
    Raises: MissingTable where there is none of quotas, or none that clients are seen
        in and one is needed.
    """
    found = {}
    for contract in (CLIENT_QUOTAS, *SEEN_IN, *_READ_BESIDE):
        table = identify_table(spark, settings.tables, contract)
        if has_table(spark, table):
            found[contract.name] = spark.table(table)
    if CLIENT_QUOTAS.name not in found:
        raise MissingTable(views.explain_missing(CLIENT_QUOTAS.name, settings))
    if needs_clients and not found.keys() & {contract.name for contract in SEEN_IN}:
        raise MissingTable(views.explain_missing(CLIENT_PUSHES.name, settings))
    return found


def list_clusters(tables: Mapping[str, DataFrame]) -> tuple[str, ...]:
    """Return the ids of clusters that quotas were ever seen of, or brokers; sorted."""
    known = [tables[name].select("cluster_id") for name in _told_by(tables)]
    rows = {row["cluster_id"] for one in known for row in one.distinct().collect()}
    return tuple(sorted(rows))


def _told_by(tables: Mapping[str, DataFrame]) -> list[str]:
    named = (CLIENT_QUOTAS.name, BROKER_REGISTRATIONS.name)
    return [name for name in named if name in tables]


def select_clients(
    tables: Mapping[str, DataFrame], settings: Settings, now: datetime
) -> DataFrame:
    """Return the clients that were seen of late; see select_quota_clients."""
    since = now - timedelta(days=settings.effective_quotas.observed_days)
    expire_after = timedelta(hours=settings.findings.observed_hours)
    clusters = list_clusters(tables)
    seen = select_quota_clients(tables, clusters, since, now, expire_after)
    if CLIENT_TRAFFIC.name not in tables:
        return seen
    recent = tables[CLIENT_TRAFFIC.name].transform(select_recent_traffic, now)
    return seen.transform(with_traffic_clients, recent)


@contextmanager
def computed(
    tables: Mapping[str, DataFrame], clients: DataFrame, now: datetime
) -> Iterator[DataFrame]:
    """Yield rows of effective_quotas, which can be read as long as the block lasts.

    Args:
        tables: From open_tables.
        clients: From select_clients; persisted, for they are gone through twice.
        now: What as_of says.
    """
    quotas = snapshots_of(tables[CLIENT_QUOTAS.name].where("is_current"))
    nothing = clients.sparkSession.createDataFrame
    brokers, configs = (
        tables.get(contract.name)
        for contract in (BROKER_REGISTRATIONS, BROKER_STATIC_CONFIGS)
    )
    plugins, defaults = nothing([], _NO_PLUGINS), nothing([], _NO_DEFAULTS)
    if configs is not None:
        plugins = configs.transform(select_quota_plugins)
        defaults = configs.transform(select_static_defaults)
    live = nothing([], _NO_BROKERS)
    if brokers is not None:
        live = brokers.transform(count_live_brokers)
    sharing = (
        clients.drop("reports")
        .transform(explode_quotas, quotas)
        .transform(steps.with_plugins, plugins)
        .transform(steps.select_sharing)
    )
    with transactions.persisted(sharing) as shared:
        # Spark knows how small it is once it is there.
        shared.count()
        yield (
            clients.transform(explode_quotas, quotas)
            .transform(steps.with_reports)
            .transform(steps.with_plugins, plugins)
            .transform(steps.with_static_defaults, defaults)
            .transform(steps.with_brokers, live)
            .transform(steps.with_sharing, shared)
            .transform(with_use, _select_use(tables, quotas, now))
            .transform(steps.select_effective, now)
        )


def _select_use(
    tables: Mapping[str, DataFrame],
    quotas: Mapping[str, QuotaSnapshot],
    now: datetime,
) -> DataFrame:
    """Return what is used of limits, whoever was seen otherwise; see select_use."""
    traffic = tables.get(CLIENT_TRAFFIC.name)
    if traffic is None:
        return tables[CLIENT_QUOTAS.name].sparkSession.createDataFrame([], _NO_USE)
    recent = traffic.transform(select_recent_traffic, now)
    resolved = recent.transform(select_traffic_clients).transform(
        explode_quotas, quotas
    )
    return resolved.transform(select_use, recent)


def refresh(spark: SparkSession, settings: Settings, now: datetime) -> Refreshed:
    """Bring effective_quotas up to date.

    Args:
        now: The moment that the rows are about; knows its zone.
    Raises: MissingTable, as open_tables; TooManyConflicts.
    """
    tables = open_tables(spark, settings)
    ensure_tables(spark, settings.tables, [EFFECTIVE_QUOTAS])
    writer = open_writer(spark, settings.tables, [EFFECTIVE_QUOTAS])
    seen = select_clients(tables, settings, now)
    with (
        transactions.persisted(seen) as clients,
        computed(
            tables, clients.select(*CLIENT, "live_instances", "reports"), now
        ) as rows,
    ):
        done = repeat_on_conflict(
            lambda: _write(spark, writer, EFFECTIVE_QUOTAS, rows),
            what=EFFECTIVE_QUOTAS.name,
            advice="run it again when nothing else refreshes it",
            is_expected=is_lost_race,
        )
    _logger.info("%s: %d rows changed, %d gone", JOB_NAME, done.changed, done.gone)
    return done


def _write(
    spark: SparkSession, writer: TableWriter, contract: TableContract, rows: DataFrame
) -> Refreshed:
    # Each commit makes a version, so that no two writes have one number.
    transaction = transactions.Transaction(
        query_id=JOB_NAME, batch_id=writer.read_version(spark, contract)
    )
    state = writer.open_state(spark, contract, transaction)
    table = state.read()
    if table.isEmpty():
        with transactions.persisted(rows) as kept:
            count = kept.count()
            _merge(state, kept, count)
        return Refreshed(changed=count, gone=0)
    with transactions.persisted(rows.transform(steps.find_differing, table)) as found:
        counts = found.agg(
            F.count("*").alias("all"), F.count_if(IS_DELETED).alias("gone")
        )
        ((count, gone),) = counts.collect()
        changed = rows.transform(steps.select_changed, table, found, count)
        with transactions.persisted(changed) as kept:
            _merge(state, kept, count, IS_DELETED)
    return Refreshed(changed=count - gone, gone=gone)


def _merge(
    state: StateTable, rows: DataFrame, count: int, is_gone: str | None = None
) -> None:
    """Write rows; of two runs that read one version, Delta skips the second.

    Raises:
        LostRace: for the second run, which reads the table again.
    """
    if not state.merge(rows, count, is_gone=is_gone):
        raise LostRace(EFFECTIVE_QUOTAS.name)


class PacedRefresh:
    """Refreshes when it is told that quotas have changed, but not too often.

    What is told between two refreshes is done by the next call that comes after the
    interval, whether that one has changed something or not.
    """

    def __init__(
        self,
        refresh_now: Callable[[SparkSession], object],
        clock: Callable[[], datetime],
        interval: timedelta,
    ) -> None:
        """Have done nothing yet.

        Args:
            refresh_now: Does it; `refresh` with settings and the clock's time.
            clock: Says what time it is.
            interval: From the end of one refresh to the next, at least.
        """
        self._refresh, self._clock, self._interval = refresh_now, clock, interval
        self._done_at: datetime | None = None
        self._is_due = False

    def after_batch(self, spark: SparkSession, *, has_changed: bool) -> bool:
        """Note the end of a micro-batch; return whether it was refreshed.

        Args:
            has_changed: Whether the micro-batch has changed quotas.
        """
        self._is_due |= has_changed
        now = self._clock()
        is_early = self._done_at is not None and now < self._done_at + self._interval
        if not self._is_due or is_early:
            return False
        self._refresh(spark)
        self._is_due, self._done_at = False, self._clock()
        return True


def paced(settings: Settings, clock: Callable[[], datetime]) -> PacedRefresh:
    """Return what a job over the cluster's topic calls after each micro-batch.

    A job that knows no other is handed its `after_batch` by its command.
    """

    def refresh_now(spark: SparkSession) -> None:
        try:
            refresh(spark, settings, clock())
        except (MissingTable, TooManyConflicts) as error:
            # The other job goes on; the next change, or cron, does it.
            _logger.warning("%s: %s", JOB_NAME, error)

    interval = timedelta(milliseconds=settings.effective_quotas.interval_ms)
    return PacedRefresh(refresh_now, clock, interval)
