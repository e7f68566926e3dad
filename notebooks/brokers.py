# Databricks notebook source
# MAGIC %md
# MAGIC # Do the configs of the brokers differ, and what changed?
# MAGIC Reads `brokers`, `broker_configs` and the changes of the cluster. Writes
# MAGIC nothing.

# COMMAND ----------

dbutils.widgets.text("env", "")  # empty: base with a config, else local
dbutils.widgets.text("config", "")  # a settings file of your own
dbutils.widgets.text("set", "")  # settings, as a shell has them: section.key=value …
dbutils.widgets.text("cluster_id", "")  # empty: all clusters, each by itself
dbutils.widgets.text("since", "7d")  # 90m, 24h, 7d, or 2026-03-01T06:00
dbutils.widgets.text("until", "")  # a moment; empty: now

# COMMAND ----------

import shlex
from datetime import UTC, datetime
from functools import partial

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading import brokers, charts, chosen, naming, views
from pipelines.settings import load_settings

settings = load_settings(
    dbutils.widgets.get("env"),
    shlex.split(dbutils.widgets.get("set")),
    own_file=dbutils.widgets.get("config") or None,
)
views.register(
    spark, settings, views.find_names_in("brokers broker_configs cluster_changes")
)
picked = chosen.choose(
    now=datetime.now(tz=UTC),
    since=dbutils.widgets.get("since"),
    until=dbutils.widgets.get("until"),
)

cluster_id = dbutils.widgets.get("cluster_id")
is_meant = F.col("cluster_id") == cluster_id if cluster_id else F.lit(True)
clusters = spark.table("brokers").where(is_meant).select("cluster_id").distinct()
# Differences and changes may be those of one cluster out of several.
tell_clusters_apart = partial(
    naming.tell_clusters_apart, known=[row[0] for row in clusters.collect()]
)
live = spark.table("broker_configs").where(is_meant).where("state = 'live'")
drift = live.transform(brokers.select_drift).where(
    ~F.col("config_name").isin(*brokers.NAMES_BROKER)
)
history = picked.in_time(brokers.read_changes(spark).where(is_meant), "valid_from")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Differences between live brokers
# MAGIC The picture shows effective values. Each cluster is compared by itself, without
# MAGIC configs that name a broker.

# COMMAND ----------

display(
    charts.grid_chart(
        tell_clusters_apart(brokers.select_drift_cells(drift).toPandas(), "broker"),
        x="broker",
        y="config_name",
        value="value",
        title="Configs that differ between live brokers, by effective value",
        unit="broker ID",
        what="config",
    )
)

# COMMAND ----------

differing = drift.orderBy("cluster_id", "config_name", F.desc(F.size("brokers")))
display(tell_clusters_apart(differing.toPandas()))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Brokers
# MAGIC One row for each broker, by its newest registration.

# COMMAND ----------

listed = (
    spark.table("brokers")
    .where(is_meant)
    .orderBy("cluster_id", "broker_id")
    .select(
        "cluster_id",
        "broker_id",
        "state",
        "rack",
        "registered_at",
        "static_configs",
        "config_count",
    )
)
display(tell_clusters_apart(listed.toPandas()))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Changes
# MAGIC From the metadata log of the cluster, or from polls of the cluster.

# COMMAND ----------

display(
    charts.column_chart(
        brokers.count_changes(history).toPandas(),
        x="day",
        y="changes",
        by="record_type",
        window_s=86_400,
        title="Changes by type of record",
        unit="changes, number per day",
    )
)

# COMMAND ----------

display(tell_clusters_apart(history.toPandas()))
