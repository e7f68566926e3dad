# Databricks notebook source
# MAGIC %md
# MAGIC # Which clients use this cluster, and how do they perform?
# MAGIC Reads `clients`, `client_pushes` and `client_metrics`. Writes nothing. Logic
# MAGIC lives in `pipelines/` and `udfs/`.

# COMMAND ----------

dbutils.widgets.text("env", "")  # empty: base with a config, else local
dbutils.widgets.text("config", "")  # a settings file of your own
dbutils.widgets.text("set", "")  # settings, as a shell has them: section.key=value …
dbutils.widgets.text("client", "")  # a client id or client instance id; empty: all
dbutils.widgets.text("principal", "")  # empty: all
dbutils.widgets.text("since", "24h")  # 90m, 24h, 7d, or 2026-03-01T06:00
dbutils.widgets.text("until", "")  # a moment; empty: now
dbutils.widgets.text("metric", "org.apache.kafka.producer.connection.creation.total")

# COMMAND ----------

import shlex
from datetime import UTC, datetime

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading import charts, chosen, overview, rollups, views
from pipelines.settings import load_settings

settings = load_settings(
    dbutils.widgets.get("env"),
    shlex.split(dbutils.widgets.get("set")),
    own_file=dbutils.widgets.get("config") or None,
)
views.register(
    spark, settings, views.find_names_in("clients client_pushes client_metrics")
)
picked = chosen.choose(
    now=datetime.now(tz=UTC),
    since=dbutils.widgets.get("since"),
    until=dbutils.widgets.get("until"),
    client=dbutils.widgets.get("client"),
    principal=dbutils.widgets.get("principal"),
)
picked.check(spark.table("clients"))

metric = dbutils.widgets.get("metric")
clients = spark.table("clients").transform(picked.of_clients)
client_pushes = spark.table("client_pushes").transform(picked.select)
client_metrics = spark.table("client_metrics").transform(picked.select)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Who is connected
# MAGIC Client instances by software, version and state: `live`, `silent` (no push for
# MAGIC three of its push intervals) or `terminated`.

# COMMAND ----------

display(
    charts.bar_chart(
        overview.select_software(clients).toPandas(),
        x="software",
        y="clients",
        by="state",
        title="Clients by software and version, and how many of them live",
        unit="clients, number of instances",
        what="software and version",
    )
)

# COMMAND ----------

display(overview.select_clients(clients, client_metrics))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Request latency
# MAGIC The mean time of a request since the push before, as the client reports it
# MAGIC (`request.latency.avg`), or the mean over its brokers
# MAGIC (`node.request.latency.avg`) where it does not, as with consumers, whose
# MAGIC requests to brokers include fetches that wait for records. Fetch latency is
# MAGIC left out, and so are pushes without a request. `latency_ms` above is the last
# MAGIC of it. Instances that share a client id are told apart by the beginning of
# MAGIC their ids.

# COMMAND ----------

display(
    charts.line_chart(
        overview.select_latency_over_time(client_metrics).toPandas(),
        x="received_at",
        y="latency_ms",
        by="client",
        title="Request latency per client",
        unit="mean of a request, ms",
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Data points
# MAGIC What each client reported.

# COMMAND ----------

points = overview.select_point_rate_over_time(
    client_pushes, window_s=picked.window_of(client_pushes)
)
display(
    charts.line_chart(
        points.toPandas(),
        x="window_start",
        y="points_s",
        by="client",
        title="Data points per client",
        unit="data points, 1/s",
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Minute by minute
# MAGIC The metric of the widget over all clients: how many reported it, mean,
# MAGIC extremes, and, of a sum, its rate per second.

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
# MAGIC If releases of clients are known to report wrong metrics, the first table lists
# MAGIC these clients: do not trust their values.

# COMMAND ----------

wrong = views.select_wrong_metrics(client_metrics).toPandas()
if not wrong.empty:
    display(wrong)

# COMMAND ----------

display(
    overview.select_newest_values(client_metrics)
    .orderBy("client_id", "metric")
    .select("client_id", "metric", "value", "received_at")
)
