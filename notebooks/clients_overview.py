# Databricks notebook source
# MAGIC %md
# MAGIC # Which clients use this cluster, and how do they perform?
# MAGIC Reads `clients`, `newest_values` and the data points of clients. Writes nothing.
# MAGIC Logic is in `pipelines/reading/`.

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

from pipelines.reading import charts, chosen, latency, overview, rollups, views
from pipelines.reading.naming import tell_clusters_apart
from pipelines.reading.points import choose_metrics, read_points
from pipelines.settings import load_settings

settings = load_settings(
    dbutils.widgets.get("env"),
    shlex.split(dbutils.widgets.get("set")),
    own_file=dbutils.widgets.get("config") or None,
)
views.register(spark, settings, views.find_names_in("clients newest_values"))
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
points = read_points(spark, picked)
window_s = picked.window_of(points)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Who is connected
# MAGIC Client instances by software, version and state: `active` (a push within three
# MAGIC push intervals), `idle`, `terminated` or `expired` (no push for a day).

# COMMAND ----------

display(
    charts.bar_chart(
        overview.select_software(clients).toPandas(),
        x="software",
        y="clients",
        by="state",
        title="Clients by software and version, and how many of them are active",
        unit="clients, number of instances",
        what="software and version",
    )
)

# COMMAND ----------

rows = overview.select_clients(clients, points).limit(1_000)
display(tell_clusters_apart(rows.toPandas()))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Request latency
# MAGIC The mean duration of a request, as the client reports it
# MAGIC (`request.latency.avg`). Consumers report it for each broker only
# MAGIC (`node.request.latency.avg`); their line is the mean over brokers, weighted by
# MAGIC requests, and includes fetches that wait for records. Pushes without a request
# MAGIC are left out. The column `latency_ms` of the table is the newest value. If
# MAGIC instances share a client ID, the beginning of the instance ID follows it.

# COMMAND ----------

over_time = latency.select_latency_over_time(points).toPandas()
display(
    charts.line_chart(
        tell_clusters_apart(over_time, "client"),
        x="at",
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

rates = overview.select_point_rate_over_time(points, window_s=window_s).toPandas()
display(
    charts.line_chart(
        tell_clusters_apart(rates, "client"),
        x="window_start",
        y="points_s",
        by="client",
        title="Data points per client",
        unit="data points, 1/s",
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## One metric over all clients
# MAGIC The metric of the widget over time, combined by its meaning
# MAGIC (`conf/metric_semantics.csv`): a rate is the sum of all clients, a lag the
# MAGIC maximum. The value of a sum is its growth per second; `amount` is the growth.

# COMMAND ----------

values = points.transform(choose_metrics, [metric]).transform(
    rollups.roll_up, by=["cluster_id"], window_s=window_s
)
display(
    tell_clusters_apart(
        values.orderBy("window_start")
        .select(
            *("cluster_id", "window_start", "value", "unit", "amount"),
            *("instances", "points"),
        )
        .toPandas()
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Newest values
# MAGIC The newest value of each client instance, metric, broker, topic and partition.
# MAGIC If releases of clients are known to report wrong metrics, the first table lists
# MAGIC these clients: do not trust their values.

# COMMAND ----------

wrong = views.select_wrong_metrics(points).toPandas()
if not wrong.empty:
    display(tell_clusters_apart(wrong))

# COMMAND ----------

newest = views.select_newest_values(points).orderBy(
    "client_id", "metric", "node_id", "topic_name", "topic_partition"
)
shown = newest.select(
    *("client_id", "metric", "value", "unit", "node_id", "topic_name"),
    *("topic_partition", "received_at", "cluster_id"),
)
display(tell_clusters_apart(shown.limit(1_000).toPandas()))
