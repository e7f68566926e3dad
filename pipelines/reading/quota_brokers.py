"""What brokers add to the meaning of quotas: their number, a plugin, old defaults.

Reads only.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

CALLBACK = "client.quota.callback.class"
"""A class of the operator's that decides in the place of quotas that are set."""
STATIC_DEFAULTS = {
    "quota.producer.default": "producer_byte_rate",
    "quota.consumer.default": "consumer_byte_rate",
}
"""What brokers before 4.0 had for clients that no quota is set for, to its key."""
_UNLIMITED = 2**63 - 1


def count_live_brokers(broker_registrations: DataFrame) -> DataFrame:
    """Return cluster_id, live_brokers (int): those that clients are let to."""
    is_live = F.col("is_current") & ~F.coalesce("is_fenced", F.lit(False))
    return (
        broker_registrations.where("is_current")
        .groupBy("cluster_id")
        .agg(F.count_if(is_live).cast("int").alias("live_brokers"))
    )


def select_quota_plugins(broker_static_configs: DataFrame) -> DataFrame:
    """Return cluster_id, plugin_brokers (sorted ids) of clusters with a plugin.

    A config whose value was withheld is one, unless it is said to be the default.
    """
    value = F.coalesce("config_value", "effective_value")
    is_hidden = value.isNull() & ~F.coalesce("is_default", F.lit(True))
    is_set = (F.coalesce(value, F.lit("")) != "") | is_hidden
    return (
        broker_static_configs.where("is_current")
        .where((F.col("config_name") == CALLBACK) & is_set)
        .groupBy("cluster_id")
        .agg(F.sort_array(F.collect_set("broker_id")).alias("plugin_brokers"))
    )


def select_static_defaults(broker_static_configs: DataFrame) -> DataFrame:
    """Return cluster_id, quota_key, static_default: the least that brokers have.

    One that is as good as unlimited is left out.
    """
    keys = [F.lit(word) for pair in STATIC_DEFAULTS.items() for word in pair]
    value = F.coalesce("effective_value", "config_value")
    return (
        broker_static_configs.where("is_current")
        .where(F.col("config_name").isin(*STATIC_DEFAULTS))
        .withColumn("quota_key", F.create_map(*keys)[F.col("config_name")])
        .withColumn("value", value.try_cast("bigint"))
        .where(F.col("value") < _UNLIMITED)
        .groupBy("cluster_id", "quota_key")
        .agg(F.min("value").cast("double").alias("static_default"))
    )
