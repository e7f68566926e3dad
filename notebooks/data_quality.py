# Databricks notebook source
# MAGIC %md
# MAGIC # Can these tables be trusted?
# MAGIC What was not read, what is late, which clients deliver less than they are
# MAGIC asked for, and what the checks say. Reads `client_pushes`, `quarantine`,
# MAGIC `client_metrics`, `client_metric_coverage` and, where it is there,
# MAGIC `quality_results`. Writes nothing.

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

from pipelines.reading import charts, chosen, quality_overview, views
from pipelines.settings import load_settings
from pipelines.settings.metric_semantics import short_name

settings = load_settings(
    dbutils.widgets.get("env"),
    shlex.split(dbutils.widgets.get("set")),
    own_file=dbutils.widgets.get("config") or None,
)
registered = views.register(
    spark,
    settings,
    views.find_names_in(
        "clients client_pushes quarantine client_metrics client_metric_coverage "
        "quality_results"
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

client_pushes = spark.table("client_pushes").transform(picked.select)
client_metrics = spark.table("client_metrics").transform(picked.select)
quarantine = picked.in_time(spark.table("quarantine"), "kafka_timestamp")
window_s = picked.window_of(client_pushes)

# COMMAND ----------

# MAGIC %md
# MAGIC ## What could not be read
# MAGIC The part of all records of the topics that is in `quarantine`, by reason. With
# MAGIC a client in the widgets only what was read is of that client alone.

# COMMAND ----------

rejected = quality_overview.select_rejected_share(
    client_pushes, quarantine, window_s=window_s
)
display(
    charts.column_chart(
        rejected.toPandas(),
        x="window_start",
        y="percent",
        by="reason",
        window_s=window_s,
        title="Records that could not be used",
        unit=f"percent of the records in {window_s} s",
    )
)

# COMMAND ----------

display(quality_overview.count_rejected(quarantine))

# COMMAND ----------

# MAGIC %md
# MAGIC ## What clients owe
# MAGIC Metrics that KIP-714 has each type of client deliver, by what became of them.

# COMMAND ----------

coverage = spark.table("client_metric_coverage").transform(picked.of_clients)
told = quality_overview.count_coverage(coverage).toPandas()
display(
    charts.bar_chart(
        told.assign(metric=told["metric"].map(short_name)),
        x="metric",
        y="clients",
        by="status",
        title="Whether clients deliver what they are asked for",
        unit="clients, number of instances",
        what="metric",
        adds_up=False,
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## How late
# MAGIC The greatest time, in each push, between a point and its arrival. More than a
# MAGIC moment is a clock that is wrong, or a push that had to wait.

# COMMAND ----------

delays = quality_overview.select_delays(client_metrics, window_s=window_s)
display(
    charts.line_chart(
        delays.toPandas(),
        x="window_start",
        y="delay_s",
        by="pushes_within",
        title="Time between a point and its arrival",
        unit="delay or difference of clocks, s",
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## What the checks say
# MAGIC Expectations that did not hold in the newest run of `check_tables`; no row:
# MAGIC all hold; no table: none has run.

# COMMAND ----------

if "quality_results" in registered:
    display(quality_overview.select_failures(spark.table("quality_results")))
