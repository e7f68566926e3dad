# Databricks notebook source
# MAGIC %md
# MAGIC # Which clients are near their quotas, and which quotas changed?
# MAGIC Reads `client_quota_use`, `client_quotas` and, if it exists, `client_traffic`.
# MAGIC Writes nothing. `refresh_quotas` brings the first one up to date.

# COMMAND ----------

dbutils.widgets.text("env", "")  # empty: base with a config, else local
dbutils.widgets.text("config", "")  # a settings file of your own
dbutils.widgets.text("set", "")  # settings, as a shell has them: section.key=value …
dbutils.widgets.text("client", "")  # a client id or client instance id; empty: all
dbutils.widgets.text("principal", "")  # empty: all
dbutils.widgets.text("since", "7d")  # 90m, 24h, 7d, or 2026-03-01T06:00
dbutils.widgets.text("until", "")  # a moment; empty: now

# COMMAND ----------

import shlex
from datetime import UTC, datetime

from pipelines.reading import (
    charts,
    chosen,
    client_software,
    naming,
    quota_overview,
    views,
)
from pipelines.settings import load_settings

settings = load_settings(
    dbutils.widgets.get("env"),
    shlex.split(dbutils.widgets.get("set")),
    own_file=dbutils.widgets.get("config") or None,
)
registered = views.register(
    spark,
    settings,
    views.find_names_in("client_quota_use client_quotas client_traffic clients"),
)
picked = chosen.choose(
    now=datetime.now(tz=UTC),
    since=dbutils.widgets.get("since"),
    until=dbutils.widgets.get("until"),
    client=dbutils.widgets.get("client"),
    principal=dbutils.widgets.get("principal"),
)
clients = [spark.table("clients")] if "clients" in registered else []
quotas_of_clients = spark.table("client_quota_use")
picked.check(quotas_of_clients, *clients)
limits = quota_overview.select_limits(quotas_of_clients.transform(picked.of_clients))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Use of each limit
# MAGIC Each broker applies a limit to all clients of one quota-id together.
# MAGIC `used_percent` is the use at the busiest broker, as the proxy counted it
# MAGIC (`basis` is `proxy`). Without counts it is estimated (`basis` is `reported`):
# MAGIC the sum of the rates that the clients report, divided by the limits of all live
# MAGIC brokers. The line marks the limit.

# COMMAND ----------

display(
    charts.bar_chart(
        quota_overview.select_most_used(limits).toPandas(),
        x="quota",
        y="used_percent",
        title="Use of each limit",
        unit="percent of the limit",
        what="quota-id and quota key",
        adds_up=False,
        limit=100,
    )
)

# COMMAND ----------

display(naming.tell_clusters_apart(limits.toPandas()))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Quotas and the number of clients that each one limits

# COMMAND ----------

quotas_of_all = quota_overview.read_quotas(spark).transform(picked.of_clients)
levels = quota_overview.select_levels(quotas_of_all)
display(naming.tell_clusters_apart(levels.toPandas()))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Traffic of clients, as the proxy counted it
# MAGIC Bytes per second at all brokers.

# COMMAND ----------

if "client_traffic" in registered:
    traffic = client_software.read_traffic(spark).transform(picked.of_clients)
    rates = quota_overview.select_traffic_over_time(
        picked.in_time(traffic, "window_start")
    )
    display(
        charts.line_chart(
            rates.toPandas(),
            x="window_start",
            y="bytes_s",
            by="client",
            title="Traffic of clients behind the proxy",
            unit="all brokers, bytes/s",
        )
    )

# COMMAND ----------

# MAGIC %md
# MAGIC ## Changes
# MAGIC Quotas that were set, changed or removed in this time.

# COMMAND ----------

changes = quota_overview.select_quota_changes(
    spark.table("client_quotas"), picked.since
)
display(naming.tell_clusters_apart(changes.toPandas()))
