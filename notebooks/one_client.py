# Databricks notebook source
# MAGIC %md
# MAGIC # How is this client, and what happened to it?
# MAGIC One client in depth: what it did, its configuration, its quotas and what
# MAGIC changed. Without a name in the widget it is the client that pushed most. Reads
# MAGIC `clients`, `newest_values`, the data points of the client and, if they exist,
# MAGIC `client_config_entries`, `client_config_timeline` and `client_quota_use`.
# MAGIC Writes nothing.

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
from dataclasses import replace
from datetime import UTC, datetime

from pipelines.reading import (
    charts,
    chosen,
    config_overview,
    one_client,
    overview,
    views,
)
from pipelines.reading.naming import tell_clusters_apart
from pipelines.reading.points import read_points
from pipelines.settings import load_settings

settings = load_settings(
    dbutils.widgets.get("env"),
    shlex.split(dbutils.widgets.get("set")),
    own_file=dbutils.widgets.get("config") or None,
)
registered = views.register(
    spark,
    settings,
    views.find_names_in(
        "clients newest_values known_instances client_config_entries "
        "client_config_timeline client_quota_use"
    ),
)
picked = chosen.choose(
    now=datetime.now(tz=UTC),
    since=dbutils.widgets.get("since"),
    until=dbutils.widgets.get("until"),
    client=dbutils.widgets.get("client"),
    principal=dbutils.widgets.get("principal"),
)
picked.check(spark.table("clients"))

everyone = spark.table("clients").transform(picked.of_clients)
picked = replace(picked, client=picked.client or one_client.find_busiest(everyone))
clients = spark.table("clients").transform(picked.of_clients)
points = read_points(spark, picked)
has_configs = {"client_config_entries", "client_config_timeline"} <= {*registered}
changes = None
if has_configs:
    timeline = spark.table("client_config_timeline").transform(picked.of_clients)
    changes = config_overview.select_changes(timeline, picked.since).cache()

# COMMAND ----------

# MAGIC %md
# MAGIC ## What it did
# MAGIC Panels in which all is zero are left out: nothing was throttled, nothing
# MAGIC failed. Vertical lines mark rebalances and changes of its configuration. If
# MAGIC several of a kind happen in one time window, only the first is marked.

# COMMAND ----------

panels = one_client.select_panels(points).toPandas()
display(
    charts.panel_chart(
        tell_clusters_apart(panels, "client"),
        x="at",
        y="value",
        by="client",
        panel="panel",
        title=f"What {picked.client} did, and what happened to it",
        marks=one_client.select_marks(
            points, changes, window_s=picked.window_of(points)
        ).toPandas(),
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Who it is
# MAGIC Each process is an instance.

# COMMAND ----------

rows = overview.select_clients(clients, points).limit(1_000)
display(tell_clusters_apart(rows.toPandas()))

# COMMAND ----------

# MAGIC %md
# MAGIC ## What it runs with
# MAGIC The configuration of its active instances, or of the one seen last. What the
# MAGIC client set itself comes first. `source` is the origin: the client, the proxy, or
# MAGIC the known defaults of its software. A hidden value is empty.

# COMMAND ----------

if has_configs:
    entries = spark.table("client_config_entries").transform(picked.of_clients)
    instances = spark.table("known_instances").transform(picked.of_clients)
    display(one_client.select_configuration(entries, instances))

# COMMAND ----------

# MAGIC %md
# MAGIC ## What changed in its configuration

# COMMAND ----------

if has_configs:
    display(changes)

# COMMAND ----------

# MAGIC %md
# MAGIC ## What it may use, and what it does
# MAGIC `limit` is what one broker allows all clients of the quota together; `use` is
# MAGIC the part of it that they use.

# COMMAND ----------

if "client_quota_use" in registered:
    quotas = spark.table("client_quota_use").transform(picked.of_clients)
    display(
        quotas.where("limit IS NOT NULL").select(
            *("client_id", "quota_key", "limit", "used_rate", "use", "basis"),
            *("reported_rate", "throttled_ms", "shared_by", "reason", "principal"),
        )
    )

# COMMAND ----------

# MAGIC %md
# MAGIC ## What it reported last
# MAGIC If releases of clients are known to report wrong metrics, the first table lists
# MAGIC these clients: do not trust their values.

# COMMAND ----------

wrong = views.select_wrong_metrics(points).toPandas()
if not wrong.empty:
    display(tell_clusters_apart(wrong))

# COMMAND ----------

display(
    views.select_newest_values(points)
    .orderBy("metric", "client_instance_id", "node_id", "topic_name", "topic_partition")
    .select(
        *("metric", "value", "unit", "node_id", "topic_name", "topic_partition"),
        *("received_at", "client_instance_id"),
    )
)
