# Databricks notebook source
# MAGIC %md
# MAGIC # What do the brokers run, where do they drift, and what has changed?
# MAGIC Reads `brokers`, `broker_configs` and `cluster_changes`. Writes nothing. Logic
# MAGIC lives in `pipelines/` and `udfs/`.

# COMMAND ----------

dbutils.widgets.text("env", "")  # empty: base with a config, else local
dbutils.widgets.text("config", "")  # a settings file of your own
dbutils.widgets.text("set", "")  # settings, as a shell has them: section.key=value …
dbutils.widgets.text("cluster_id", "")  # where the tables hold several
dbutils.widgets.text("since", "7d")  # 90m, 24h, 7d, or 2026-03-01T06:00
dbutils.widgets.text("until", "")  # a moment; empty: now

# COMMAND ----------

import shlex
from datetime import UTC, datetime

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading import brokers, charts, chosen, views
from pipelines.settings import load_settings

settings = load_settings(
    dbutils.widgets.get("env"),
    shlex.split(dbutils.widgets.get("set")),
    own_file=dbutils.widgets.get("config") or None,
)
registered = views.register(
    spark, settings, views.find_names_in("brokers broker_configs cluster_changes")
)
picked = chosen.choose(
    now=datetime.now(tz=UTC),
    since=dbutils.widgets.get("since"),
    until=dbutils.widgets.get("until"),
)

cluster_id = dbutils.widgets.get("cluster_id")
is_meant = F.col("cluster_id") == cluster_id if cluster_id else F.lit(True)
live = spark.table("broker_configs").where(is_meant).where("state = 'live'")
drift = live.transform(brokers.select_drift).where(
    ~F.col("config_name").isin(*brokers.NAMES_BROKER)
)
changes = brokers.select_changes(
    picked.in_time(spark.table("cluster_changes").where(is_meant), "valid_from")
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Where live brokers differ
# MAGIC Static values beside what is in force. Configs that name a broker are left
# MAGIC out.

# COMMAND ----------

display(
    charts.grid_chart(
        brokers.select_drift_cells(drift).toPandas(),
        x="broker_id",
        y="config_name",
        value="value",
        title="Configs that live brokers do not agree on, by what is in force",
        unit="broker id",
        what="config",
    )
)

# COMMAND ----------

display(drift.orderBy("config_name", F.desc(F.size("brokers"))))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Brokers
# MAGIC One row a broker, by its newest registration.

# COMMAND ----------

display(
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

# COMMAND ----------

# MAGIC %md
# MAGIC ## Changes
# MAGIC What the cluster's log, or a look at the cluster, says of the time.

# COMMAND ----------

display(
    charts.column_chart(
        brokers.count_changes(changes).toPandas(),
        x="day",
        y="changes",
        by="record_type",
        window_s=86_400,
        title="Changes by type of record",
        unit="changes, number a day",
    )
)

# COMMAND ----------

display(changes)
