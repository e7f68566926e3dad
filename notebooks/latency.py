# Databricks notebook source
# MAGIC %md
# MAGIC # How long do clients wait, and which broker lets them?
# MAGIC What clients report of their own requests; a client counts by the mean of its
# MAGIC pushes. Reads the data points of clients. Writes nothing.

# COMMAND ----------

dbutils.widgets.text("env", "")  # empty: base with a config, else local
dbutils.widgets.text("config", "")  # a settings file of your own
dbutils.widgets.text("set", "")  # settings, as a shell has them: section.key=value …
dbutils.widgets.text("client", "")  # a client id or client instance id; empty: all
dbutils.widgets.text("principal", "")  # empty: all
dbutils.widgets.text("since", "24h")  # 90m, 24h, 7d, or 2026-03-01T06:00
dbutils.widgets.text("until", "")  # a moment; empty: now

# COMMAND ----------

import shlex
from datetime import UTC, datetime

from pipelines.reading import charts, chosen, latency, views
from pipelines.reading.naming import tell_clusters_apart
from pipelines.reading.points import read_points
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

points = read_points(spark, picked)
window_s = picked.window_of(points)

# COMMAND ----------

# MAGIC %md
# MAGIC ## How long clients wait
# MAGIC A line is the longest mean of a request among so many of the clients.

# COMMAND ----------

bands = latency.select_latency_bands(points, window_s=window_s).toPandas()
display(
    charts.line_chart(
        tell_clusters_apart(bands, "clients_within"),
        x="window_start",
        y="latency_ms",
        by="clients_within",
        title="How long clients wait for an answer",
        unit="mean of a request, ms",
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Clients whose metrics are wrong
# MAGIC Do not trust the values of these clients: their releases are known to
# MAGIC report wrong metrics (`conf/client_faults.csv`).

# COMMAND ----------

display(tell_clusters_apart(views.select_wrong_metrics(points).toPandas()))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Which broker is slow
# MAGIC The mean over clients of the request latency that each reports for a broker
# MAGIC (`node.request.latency.avg`), weighted by requests. For consumers it includes
# MAGIC fetches that wait for records. Requests to a broker as group coordinator are
# MAGIC apart, because they wait for other members of the group.

# COMMAND ----------

by_broker = tell_clusters_apart(
    latency.select_latency_by_broker(points).toPandas(), "name"
)
display(
    charts.bar_chart(
        by_broker,
        x="name",
        y="latency_ms",
        title="Request latency by broker",
        unit="mean of a request over clients, ms",
        what="broker ID",
        adds_up=False,
    )
)

# COMMAND ----------

display(by_broker.drop(columns="name"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Which clients are slow

# COMMAND ----------

over_time = latency.select_latency_over_time(points).toPandas()
display(
    charts.line_chart(
        tell_clusters_apart(over_time, "client"),
        x="at",
        y="latency_ms",
        by="client",
        title="Request latency of each client",
        unit="mean of a request, ms",
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## What they wait for
# MAGIC Means over the time: requests, records that wait in the producer, throttles,
# MAGIC fetches (which wait for records, too) and commits.

# COMMAND ----------

waits = tell_clusters_apart(latency.select_waits(points).toPandas(), "name")
display(
    charts.bar_chart(
        waits,
        x="name",
        y="wait_ms",
        title="What clients wait for longest",
        unit="mean, ms",
        what="client ID and what it waits for",
        adds_up=False,
    )
)

# COMMAND ----------

display(waits.drop(columns="name"))
