# Databricks notebook source
# MAGIC %md
# MAGIC # Which clients use this cluster, and how do they perform?
# MAGIC Reads `clients`, `client_pushes` and `client_metrics`. Writes nothing.
# MAGIC Logic lives in `pipelines/` and `udfs/`.

# COMMAND ----------

dbutils.widgets.dropdown("env", "local", ["local", "cluster"])
dbutils.widgets.text("config", "")  # a settings file of your own
dbutils.widgets.text("set", "")  # settings, as a shell has them: section.key=value …
dbutils.widgets.text("hours", "24")
dbutils.widgets.text("metric", "org.apache.kafka.producer.connection.creation.total")

# COMMAND ----------

import shlex

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading import charts, overview, rollups, views
from pipelines.settings import load_settings

overrides = shlex.split(dbutils.widgets.get("set"))
own_file = dbutils.widgets.get("config") or None
settings = load_settings(dbutils.widgets.get("env"), overrides, own_file=own_file)
views.register(spark, settings)

hours = int(dbutils.widgets.get("hours"))
is_recent = F.col("received_at") >= F.current_timestamp() - F.expr(
    f"INTERVAL {hours} HOURS"
)
metric = dbutils.widgets.get("metric")
client_pushes = spark.table("client_pushes").where(is_recent)
client_metrics = spark.table("client_metrics").where(is_recent)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Who is connected
# MAGIC One row per client instance. `silent`: no push for three of its push intervals.

# COMMAND ----------

display(overview.select_clients(spark.table("clients"), client_metrics))

# COMMAND ----------

software = (
    spark.table("clients")
    .groupBy(
        F.concat_ws(" ", "client_software_name", "client_software_version").alias(
            "software"
        )
    )
    .agg(F.count("*").alias("clients"))
    .orderBy(F.desc("clients"))
)
display(
    charts.bar_chart(
        software.toPandas(),
        x="software",
        y="clients",
        title="Client instances by software and version",
        unit="client instances",
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Request latency
# MAGIC The mean time of a request since the push before, as the client reports it
# MAGIC (`request.latency.avg`), or the mean over its brokers
# MAGIC (`node.request.latency.avg`) where it does not, as with consumers, whose
# MAGIC requests to brokers include fetches that wait for records. Fetch latency is left
# MAGIC out, and so are pushes without a request. `latency_ms` above is the last of it.
# MAGIC Instances that share a client id are told apart by the beginning of their ids.

# COMMAND ----------

display(
    charts.line_chart(
        overview.select_latency_over_time(client_metrics).toPandas(),
        x="received_at",
        y="latency_ms",
        by="client",
        title="Request latency per client",
        unit="ms",
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Data points
# MAGIC What each client reported, in windows of ten seconds.

# COMMAND ----------

display(
    charts.line_chart(
        overview.select_point_rate_over_time(client_pushes).toPandas(),
        x="window_start",
        y="points",
        by="client",
        title="Data points per client",
        unit="points in 10 s",
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Minute by minute
# MAGIC The metric of the widget over all clients: how many reported it, mean, extremes,
# MAGIC and, of a sum, its rate per second.

# COMMAND ----------

display(
    rollups.select_rollups(client_metrics.where(F.col("metric") == metric)).select(
        "window_start",
        "kind",
        "clients",
        "points",
        "avg",
        "min",
        "max",
        "last",
        "rate",
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Newest values
# MAGIC The newest value of each client and metric.

# COMMAND ----------

display(
    overview.select_newest_values(client_metrics)
    .orderBy("client_id", "metric")
    .select("client_id", "metric", "value", "received_at")
)
