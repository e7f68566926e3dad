"""From resolved quotas to rows of effective_quotas, and which of them are new."""

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


def with_sharing(resolved: DataFrame) -> DataFrame:
    """Add shared_by: live client instances with the quota-id, or from the address.

    Nulls: Where a plugin decides, who shares is not known.
    """
    by_address = F.when(
        F.col("quota_key") == _CONNECTION_KEY, F.col("client_source_address")
    )
    named = resolved.withColumn(_SHARING, F.coalesce("quota_id", by_address))
    group = ["cluster_id", "quota_key", _SHARING]
    shared = (
        named.where(F.col(LIVE_INSTANCES) > 0)
        .groupBy(*group)
        .agg(F.sum(LIVE_INSTANCES).cast("int").alias("shared_by"))
    )
    # Nobody that lives is a number, too.
    count = F.when(F.col(_SHARING).isNotNull(), F.coalesce("shared_by", F.lit(0)))
    return named.join(shared, group, "left").withColumn("shared_by", count)


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


def filter_changed(rows: DataFrame, table: DataFrame) -> DataFrame:
    """Return the rows that the table has not, or has otherwise, and those to go.

    Args:
        rows: All that there are now; one a key.
        table: effective_quotas, with position.
    Returns: The contract's columns, position, and IS_DELETED: whether the client is
        seen no more.
    Shape: When rows were worked out is no difference.
    """
    compared = [
        name for name in EFFECTIVE_QUOTAS.column_names if name not in {*KEY, _AS_OF}
    ]
    old = table.select(
        *KEY,
        "position",
        F.xxhash64(*compared).alias("old"),
        F.lit(True).alias("is_old"),
    )
    new = rows.withColumn("new", F.xxhash64(*compared)).withColumn(
        "is_new", F.lit(True)
    )
    is_gone = F.col("is_new").isNull()
    is_same = F.coalesce(F.col("old") == F.col("new"), F.lit(False))
    return (
        new.join(old, [*KEY], "full")
        .where(~is_same)
        .select(*EFFECTIVE_QUOTAS.column_names, "position", is_gone.alias(IS_DELETED))
    )
