"""From resolved quotas to rows of effective_quotas, and which of them are new."""

from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading.quota_brokers import CALLBACK, STATIC_DEFAULTS
from pipelines.reading.quota_clients import LIVE_INSTANCES, REPORT_COLUMNS
from pipelines.tables.cluster import EFFECTIVE_QUOTAS
from pipelines.tables.contract import IS_DELETED

KEY = EFFECTIVE_QUOTAS.merge_key
_AS_OF = "as_of"
_SHARING = "sharing"
SHARED = ("shared_high", "shared_low")
"""Digest of a cluster, a key and who shares it."""
PLACE = ("place_high", "place_low")
"""Digest of a row's key."""
_FEW = 1_000_000
"""Digests that each process holds, some 60 MB."""
_CONNECTION_KEY = "connection_creation_rate"
"""Of addresses: no plugin has a say in it, and an address shares it with itself."""
_DECIDED = ("limit", "level", "entity_path", "quota_id", "user_tag", "client_id_tag")
"""What is not known where a plugin decides."""


def with_reports(resolved: DataFrame) -> DataFrame:
    """Put what a client reports beside the key that it is about."""
    report = F.col("reports")[F.col("quota_key")]
    columns = {name: report.getField(name) for name in REPORT_COLUMNS}
    return resolved.withColumns(columns).drop("reports")


def with_plugins(resolved: DataFrame, plugins: DataFrame) -> DataFrame:
    """Take out what a plugin of the cluster's brokers decides; adds plugin_brokers.

    Args:
        plugins: From quota_brokers.select_quota_plugins.
    """
    is_decided = F.col("plugin_brokers").isNull()
    own = F.when(F.col("quota_key") != _CONNECTION_KEY, F.col("plugin_brokers"))
    columns = {name: F.when(is_decided, F.col(name)) for name in _DECIDED}
    return (
        resolved.join(F.broadcast(plugins), "cluster_id", "left")
        .withColumn("plugin_brokers", own)
        .withColumns(columns)
    )


def with_static_defaults(resolved: DataFrame, defaults: DataFrame) -> DataFrame:
    """Limit by a default of old brokers what no quota limits; adds static_default.

    Args:
        defaults: From quota_brokers.select_static_defaults.
    """
    is_open = F.col("level").isNull() & F.col("plugin_brokers").isNull()
    default = F.when(is_open, F.col("static_default"))
    return (
        resolved.join(F.broadcast(defaults), ["cluster_id", "quota_key"], "left")
        .withColumn("static_default", default)
        .withColumn("limit", F.coalesce("limit", "static_default"))
    )


def with_brokers(resolved: DataFrame, brokers: DataFrame) -> DataFrame:
    """Add live_brokers and cluster_limit.

    Args:
        brokers: From quota_brokers.count_live_brokers.
    """
    return resolved.join(F.broadcast(brokers), "cluster_id", "left").withColumn(
        "cluster_limit", F.col("limit") * F.col("live_brokers")
    )


def select_sharing(resolved: DataFrame) -> DataFrame:
    """Return who shares: quota-ids, or addresses, of several clients.

    Returns: SHARED, and shared_by (live client instances).
    Shape: Of a million clients most share with nobody, and are left out.
    """
    return (
        resolved.transform(_with_sharing)
        .where(F.col(_SHARING).isNotNull())
        .groupBy(*SHARED)
        .agg(
            F.sum(LIVE_INSTANCES).cast("int").alias("shared_by"),
            F.count("*").alias("clients"),
        )
        .where("clients > 1")
        .drop("clients")
    )


def with_sharing(resolved: DataFrame, shared: DataFrame) -> DataFrame:
    """Add shared_by: live client instances with the quota-id, or from the address.

    Args:
        shared: From select_sharing.
    Nulls: Where a plugin decides, who shares is not known.
    """
    count = F.when(F.col(_SHARING).isNotNull(), F.coalesce("shared_by", LIVE_INSTANCES))
    return (
        resolved.transform(_with_sharing)
        .join(shared, [*SHARED], "left")
        .withColumn("shared_by", count)
    )


def _with_sharing(resolved: DataFrame) -> DataFrame:
    """Add what is shared, and SHARED: numbers are quicker to group than texts."""
    is_address = F.col("quota_key") == _CONNECTION_KEY
    address = F.when(is_address, F.col("client_source_address"))
    named = resolved.withColumn(_SHARING, F.coalesce("quota_id", address))
    return named.withColumns(_digest(SHARED, "cluster_id", "quota_key", _SHARING))


def _digest(names: Sequence[str], *columns: str) -> dict[str, Column]:
    """Return 128 bits in the place of some texts, as columns of two names."""
    return {name: F.xxhash64(F.lit(seed), *columns) for seed, name in enumerate(names)}


def select_effective(resolved: DataFrame, now: datetime) -> DataFrame:
    """Return rows of effective_quotas, each with its reason in words."""
    return (
        resolved.withColumn("reason", _explain())
        .withColumn(_AS_OF, F.lit(now))
        .select(*EFFECTIVE_QUOTAS.column_names)
    )


def _explain() -> Column:
    of_key = {key: name for name, key in STATIC_DEFAULTS.items()}
    names = F.create_map(*(F.lit(one) for pair in of_key.items() for one in pair))
    brokers = F.array_join(F.col("plugin_brokers").cast("array<string>"), ", ")
    plugin = F.concat(
        F.lit("a plugin decides: "), F.lit(CALLBACK), F.lit(" of broker "), brokers
    )
    level = F.concat(
        F.lit("level "), F.col("level").cast("string"), F.lit(": "), "entity_path"
    )
    default = F.concat(
        F.lit("nothing is set; the last level is "),
        names[F.col("quota_key")],
        F.lit(" of the brokers"),
    )
    return (
        F.when(F.col("plugin_brokers").isNotNull(), plugin)
        .when(F.col("level").isNotNull(), level)
        .when(F.col("static_default").isNotNull(), default)
        .otherwise("unlimited: nothing is set")
    )


def find_differing(rows: DataFrame, table: DataFrame) -> DataFrame:
    """Return which rows the table has not, or has otherwise, and which are to go.

    Digests alone are compared: whole rows would take most of the time, and nearly all
    of them are as they were.

    Args:
        rows: All that there are now; one a key.
        table: effective_quotas.
    Returns: PLACE, and IS_DELETED: whether the client is seen no more.
    Shape: When rows were worked out is no difference.
    """
    compared = [
        name for name in EFFECTIVE_QUOTAS.column_names if name not in {*KEY, _AS_OF}
    ]
    content = F.xxhash64(*compared)
    place = [column.alias(name) for name, column in _digest(PLACE, *KEY).items()]
    new = rows.select(*place, content.alias("new"))
    old = table.select(*place, content.alias("old"))
    is_same = F.coalesce(F.col("old") == F.col("new"), F.lit(False))
    return (
        new.join(old, [*PLACE], "full")
        .where(~is_same)
        .select(*PLACE, F.col("new").isNull().alias(IS_DELETED))
    )


def select_changed(
    rows: DataFrame, table: DataFrame, differing: DataFrame, count: int
) -> DataFrame:
    """Return the rows that differ, whole.

    Args:
        differing: From find_differing, of the same rows and table.
        count: How many they are.
    Returns: The contract's columns and IS_DELETED; of a row that goes the key alone.
    """
    place = _digest(PLACE, *KEY)
    new = rows.withColumns(place)
    if count <= _FEW:
        # So that no others are sorted.
        new = new.join(F.broadcast(differing.select(*PLACE)), [*PLACE], "left_semi")
    come = new.join(differing.where(~F.col(IS_DELETED)), [*PLACE])
    gone = (
        table.select(*KEY)
        .withColumns(place)
        .join(differing.where(IS_DELETED), [*PLACE])
    )
    return come.unionByName(gone, allowMissingColumns=True).drop(*PLACE)
