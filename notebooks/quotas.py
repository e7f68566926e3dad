# Databricks notebook source
# MAGIC %md
# MAGIC # Who may use how much of this cluster, who does, and what changed?
# MAGIC Reads `effective_quotas`, `client_quotas` and, where it is there,
# MAGIC `client_traffic`. Writes nothing; `refresh_quotas` makes the first. Logic
# MAGIC lives in `pipelines/` and `udfs/`.

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

from pipelines.reading import charts, chosen, quota_overview, views
from pipelines.settings import load_settings

settings = load_settings(
    dbutils.widgets.get("env"),
    shlex.split(dbutils.widgets.get("set")),
    own_file=dbutils.widgets.get("config") or None,
)
registered = views.register(
    spark,
    settings,
    views.find_names_in("effective_quotas client_quotas client_traffic clients"),
)
picked = chosen.choose(
    now=datetime.now(tz=UTC),
    since=dbutils.widgets.get("since"),
    until=dbutils.widgets.get("until"),
    client=dbutils.widgets.get("client"),
    principal=dbutils.widgets.get("principal"),
)
clients = [spark.table("clients")] if "clients" in registered else []
picked.check(spark.table("effective_quotas"), *clients)

effective_quotas = spark.table("effective_quotas").transform(picked.of_clients)
client_quotas = spark.table("client_quotas")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Quotas and use per principal
# MAGIC A limit is what one broker allows; the whole is that times the live brokers.
# MAGIC Use is what clients report of themselves; who reports nothing counts for
# MAGIC nothing. The line is all that is allowed.

# COMMAND ----------

display(
    charts.bar_chart(
        quota_overview.select_most_used(effective_quotas).toPandas(),
        x="quota",
        y="used_percent",
        title="How much of what quotas allow is used",
        unit="use, percent of the limits of all live brokers",
        what="principal and quota",
        adds_up=False,
        limit=100,
    )
)

# COMMAND ----------

display(quota_overview.select_quota_use(effective_quotas))

# COMMAND ----------

# MAGIC %md
# MAGIC ## What applies to whom
# MAGIC One row a level and entity, with the clients that fall under it.

# COMMAND ----------

display(quota_overview.select_levels(effective_quotas))

# COMMAND ----------

# MAGIC %md
# MAGIC ## What clients really did
# MAGIC Bytes a second at all brokers, as the proxy has counted.

# COMMAND ----------

if "client_traffic" in registered:
    traffic = spark.table("client_traffic").transform(picked.of_clients)
    rates = quota_overview.select_traffic_over_time(
        picked.in_time(traffic, "window_start")
    )
    display(
        charts.line_chart(
            rates.toPandas(),
            x="window_start",
            y="bytes_s",
            by="client",
            title="Data of clients behind the proxy",
            unit="all brokers, bytes/s",
        )
    )

# COMMAND ----------

# MAGIC %md
# MAGIC ## What changed
# MAGIC Quotas that were set, changed or removed in the time.

# COMMAND ----------

display(quota_overview.select_quota_changes(client_quotas, picked.since))
