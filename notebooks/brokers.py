# Databricks notebook source
# MAGIC %md
# MAGIC # What do the brokers run, and what has changed?
# MAGIC Reads `brokers`, `broker_configs` and `cluster_changes`. Writes nothing.
# MAGIC Logic lives in `pipelines/` and `udfs/`.

# COMMAND ----------

dbutils.widgets.dropdown("env", "local", ["local", "cluster"])
dbutils.widgets.text("config", "")  # a settings file of your own
dbutils.widgets.text("set", "")  # settings, as a shell has them: section.key=value …
dbutils.widgets.text("cluster_id", "")  # where the tables hold several
dbutils.widgets.text("days", "7")

# COMMAND ----------

import shlex

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading import brokers, charts, views
from pipelines.settings import load_settings

overrides = shlex.split(dbutils.widgets.get("set"))
own_file = dbutils.widgets.get("config") or None
settings = load_settings(dbutils.widgets.get("env"), overrides, own_file=own_file)
views.register(spark, settings)

cluster_id = dbutils.widgets.get("cluster_id")
is_meant = F.col("cluster_id") == cluster_id if cluster_id else F.lit(True)
days = int(dbutils.widgets.get("days"))
is_recent = F.col("valid_from") >= F.current_timestamp() - F.expr(
    f"INTERVAL {days} DAYS"
)
live = spark.table("broker_configs").where(is_meant).where("state = 'live'")
changes = brokers.select_changes(
    spark.table("cluster_changes").where(is_meant).where(is_recent)
)

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
# MAGIC ## Where live brokers differ
# MAGIC Static values beside what is in force. Configs that name a broker are left out.

# COMMAND ----------

drift = live.transform(brokers.select_drift).where(
    ~F.col("config_name").isin(*brokers.NAMES_BROKER)
)
display(drift.orderBy("config_name", F.desc(F.size("brokers"))))

# COMMAND ----------

display(
    charts.grid_chart(
        brokers.select_drift_cells(drift).toPandas(),
        x="broker_id",
        y="config_name",
        value="value",
        title="Configs that differ, by what is in force",
        unit="broker",
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Changes
# MAGIC What the cluster's log, or a look at the cluster, says of the last days.

# COMMAND ----------

display(
    charts.line_chart(
        brokers.count_changes(changes).toPandas(),
        x="day",
        y="changes",
        by="record_type",
        title="Changes by type of record",
        unit="changes a day",
    )
)

# COMMAND ----------

display(changes)
