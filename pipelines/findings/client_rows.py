"""What rules see: one row a live client, made once and kept as long as they look.

`live` says who is there, `cfg` what they run with, `g` and `w` what their telemetry
said last and over a window; CLIENTS has all four in one row. Each client's
configuration is read where it stands, for only the keys that rules name: as the view
client_config_entries has it, without a row for every key.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading import views
from pipelines.reading.client_states import CONFIGS as CONFIGS_ALONE
from pipelines.reading.client_states import time_sql
from pipelines.reading.reported_metrics import (
    MIN_PUSHES,
    ReportWindow,
    select_points,
    select_quiet,
    select_reports,
    window_seconds_sql,
)
from pipelines.reading.views.active_clients import select_active_clients
from pipelines.reading.views.client_config_views import PUSHED
from pipelines.reading.views.client_software_views import FAMILY_SQL
from pipelines.reading.views.config_catalog_view import CONFIG_CATALOG
from pipelines.reading.views.known_defaults import (
    KIND,
    known_defaults_query,
    register_version_number,
)
from pipelines.reading.views.wire_config_views import SEEN, WIRE
from pipelines.settings.finding_rules import EITHER, FindingRule
from pipelines.settings.finding_settings import FindingSettings
from pipelines.settings.metric_semantics import FAMILIES
from pipelines.settings.records import Settings
from udfs.configs.known_values import list_names
from udfs.spark_configs import ValueWords, with_known_values, with_text_hash

from .absences import is_left_out, is_zero_if_left_out

CLIENTS = "finding_clients"
POINTS = "points"
_SOURCES = (
    *("client_instances", "client_pushes", "client_metrics"),
    *("client_configs", "config_defaults", "client_wire_configs"),
)
LIVE, CONFIGS, GAUGES, SUMS = "live", "cfg", "g", "w"
MEMBERSHIP = {
    "group_id": "group.id",
    "group_instance_id": "group.instance.id",
    "transactional_id": "transactional.id",
    "client_rack": "client.rack",
}
"""Column to the key that says it where telemetry does not."""
IDENTITY = (
    *("client_instance_id", "cluster_id", "logical_client", "client_id", "principal"),
    *("client_source_address", "client_type", *MEMBERSHIP, "client_software_name"),
    *("client_software_version", "family", "core_version", "is_vendor_build"),
    *("push_interval_ms", "first_seen", "last_push", "pushes", "window_pushes"),
    *("window_seconds", "window_from", "known_by"),
)
"""Columns of `live`."""
_WORDS = ValueWords(pushed=PUSHED, wire=WIRE, seen=SEEN)


def window_of(settings: FindingSettings, now: datetime) -> ReportWindow:
    """Return the times of an evaluation at a moment that knows its zone."""
    return ReportWindow(
        now=now,
        length=timedelta(minutes=settings.window_minutes),
        observed=timedelta(hours=settings.observed_hours),
    )


def times_of(window: ReportWindow) -> dict[str, str]:
    """Return what the SQL of rules may name as `$name`, as SQL."""
    return {
        "now": time_sql(window.now),
        "from": time_sql(window.start),
        "window_seconds": repr(window.length.total_seconds()),
    }


def open_clients(
    spark: SparkSession,
    rules: Sequence[FindingRule],
    window: ReportWindow,
    *,
    pushed_by: str = CONFIGS_ALONE,
) -> DataFrame:
    """Return CLIENTS, worked out, and register it and the other views.

    Args:
        spark: Has what register_sources registers.
        rules: Say which keys and metrics are looked for.
        pushed_by: What known_by says of a configuration without telemetry.
    Returns: IDENTITY, k, m, w, quiet and fresh_since.
    Shape: One row a client: an instance that is live by its telemetry; one that pushed
        its configuration alone; what the proxy alone has seen of one client id.
    """
    keys = _union((*MEMBERSHIP.values(), *(k for r in rules for k in r.config_keys)))
    metrics = _union(metric for rule in rules for metric in rule.metrics)
    points = select_points(spark, metrics, window)
    points.createOrReplaceTempView(POINTS)
    configured = _with_configs(_select_pool(spark, keys, window, pushed_by), keys)
    quiet = _select_quiet(spark, rules, window)
    made = _with_reports(configured, select_reports(points), quiet, metrics)
    clients = keep_rows(made)
    clients.createOrReplaceTempView(CLIENTS)
    for name, columns in (
        (LIVE, IDENTITY),
        (CONFIGS, ("client_instance_id", "k")),
        (GAUGES, ("client_instance_id", "m")),
        (SUMS, ("client_instance_id", "w")),
    ):
        clients.select(*columns).createOrReplaceTempView(name)
    return clients


def keep_rows(frame: DataFrame) -> DataFrame:
    """Work rows out, and return them as they are, without how they were made.

    What is asked of a frame that is only persisted has its whole plan to go through
    each time, which here takes longer than the rows.
    """
    return frame.localCheckpoint(eager=True, storageLevel=StorageLevel.MEMORY_AND_DISK)


def register_sources(
    spark: SparkSession, settings: Settings, rules: Sequence[FindingRule]
) -> None:
    """Register the tables and views that rules are asked of, and their functions.

    A table that is not there yet is an empty one.
    """
    named = views.find_names_in(" ".join(_list_sql_of(rules)))
    names = None
    if named is not None:
        names = {*named, *_SOURCES, CONFIG_CATALOG}
    views.register(spark, settings, names, is_snapshot=True)
    register_version_number(spark)


def _list_sql_of(rules: Sequence[FindingRule]) -> Iterator[str]:
    for one in rules:
        yield from (one.where, one.query, *one.evidence.values())
        yield from (*one.let.values(), *one.severity_when.values())


def _union(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _select_pool(
    spark: SparkSession, keys: Sequence[str], window: ReportWindow, pushed_by: str
) -> DataFrame:
    """Return who is there, with all that is known of their configurations."""
    names = list_names(keys)
    now, seconds = time_sql(window.now), window_seconds_sql(window.length)
    window_from = f"timestampadd(MICROSECOND, bigint(-1e6 * {seconds}), {now})"
    active = select_active_clients(
        spark,
        _SOURCES,
        now=now,
        expire_after_hours=round(window.observed / timedelta(hours=1)),
        since=time_sql(window.earliest),
        window_start=window_from,
        keys=names,
    )
    # Only configurations have the hash stored.
    named = active.transform(
        with_text_hash, "own_client", ("principal", "client_id", "client_type")
    ).withColumns(
        {
            "logical_client": F.coalesce("logical_client", "own_client"),
            "known_by": F.when(
                F.col("known_by") == CONFIGS_ALONE, F.lit(pushed_by)
            ).otherwise(F.col("known_by")),
            "window_seconds": F.expr(seconds),
            "window_from": F.expr(window_from),
            "core_version": F.expr(
                "IF(is_vendor_build, NULL, version_number(client_software_version))"
            ),
        }
    )
    return named.join(spark.sql(known_defaults_query(names)), [*KIND], "left")


def _with_configs(pool: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Put k beside clients, and complete by it what says who they are."""
    known = pool.transform(with_known_values, keys, _WORDS)
    fields = ", ".join(f"'{key}', known['{key}']" for key in keys)
    columns = {"cluster_id": "coalesce(cluster_id, '') AS cluster_id"} | {
        name: f"coalesce({name}, known['{key}'].text) AS {name}"
        for name, key in MEMBERSHIP.items()
    }
    return known.selectExpr(
        *(columns.get(one, one) for one in IDENTITY), f"named_struct({fields}) AS k"
    )


def _select_quiet(
    spark: SparkSession, rules: Sequence[FindingRule], window: ReportWindow
) -> DataFrame:
    """Return which metrics clients leave out because nothing happened."""
    groups = (one.split(EITHER) for rule in rules for one in rule.needs_metrics)
    needed = _union(one for group in groups for one in group)
    by_family = {
        family: [one for one in needed if is_left_out(one, family)]
        for family in FAMILIES
    }
    families = [family for family, metrics in by_family.items() if metrics]
    left_out = _union(one for metrics in by_family.values() for one in metrics)
    is_meant = f"{FAMILY_SQL} IN ({_list_sql(families or [''])})"
    return select_quiet(spark, left_out, is_meant, window)


def _with_reports(
    clients: DataFrame, reports: DataFrame, quiet: DataFrame, metrics: Sequence[str]
) -> DataFrame:
    """Put m, w, quiet and fresh_since beside clients."""
    since = "timestampadd(MILLISECOND, -2 * bigint(push_interval_ms), last_push)"
    never = "named_struct('nothing', CAST(NULL AS DOUBLE))"
    gauges = ", ".join(
        f"'{one}', IF(told['{one}'].at >= fresh_since, told['{one}'].newest, NULL)"
        for one in metrics
    )
    sums = ", ".join(f"'{one}', {_report_sql(one)}" for one in metrics)
    return (
        clients.join(reports, "client_instance_id", "left")
        .join(quiet, "client_instance_id", "left")
        .withColumn("fresh_since", F.expr(since))
        .selectExpr(
            *IDENTITY,
            "k",
            f"named_struct({gauges}) AS m" if metrics else f"{never} AS m",
            f"named_struct({sums}) AS w" if metrics else f"{never} AS w",
            f"IF(window_pushes >= {MIN_PUSHES}, quiet, NULL) AS quiet",
            "fresh_since",
        )
    )


def _report_sql(metric: str) -> str:
    """Return SQL for what a client said of a metric: zeros if nothing happened."""
    told = f"told['{metric}']"
    if not is_zero_if_left_out(metric):
        return told
    zeros = (
        "named_struct('reported_at', last_push, 'at', last_push, 'newest', 0D, "
        "'total', 0D, 'pushes', window_pushes, 'positive', 0L, 'first', 0D, "
        "'last', 0D, 'min', 0D, 'max', 0D)"
    )
    return (
        f"coalesce({told}, IF(window_pushes >= {MIN_PUSHES} "
        f"AND array_contains(quiet, '{metric}'), {zeros}, NULL))"
    )


def _list_sql(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
