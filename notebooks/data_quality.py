# Databricks notebook source
# MAGIC %md
# MAGIC # Which data is rejected, late or missing?
# MAGIC Reads the records of the jobs, `quarantine`, the points of clients,
# MAGIC `client_metric_coverage` and, if it exists, `quality_results`. Writes nothing.

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

from pipelines.reading import charts, chosen, points, quality_overview, views
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
        "clients client_pushes client_config_pushes cluster_changes quarantine "
        "client_metrics client_instances client_metric_coverage quality_results"
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

pushed = points.read_points(spark, picked)
window_s = picked.window_of(pushed)
records = quality_overview.read_records(spark, picked).cache()

# COMMAND ----------

# MAGIC %md
# MAGIC ## Records that were rejected
# MAGIC Each topic is compared with its own records. A job that rejects a record writes
# MAGIC it to `quarantine`. `read` is empty if the job of the topic keeps no list of
# MAGIC the records that it read.

# COMMAND ----------

rejected = quality_overview.select_rejected_share(records, window_s=window_s).toPandas()
if len(rejected):
    display(
        charts.line_chart(
            rejected,
            x="window_start",
            y="percent",
            by="topic",
            title="Rejected part of the records of each topic",
            unit=f"percent of the records in {window_s} s",
        )
    )

# COMMAND ----------

display(quality_overview.count_records(records))

# COMMAND ----------

display(quality_overview.count_rejected(spark, picked))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Metrics that clients do not deliver
# MAGIC Metrics of KIP-714 for each type of client, by status.

# COMMAND ----------

coverage = spark.table("client_metric_coverage").transform(picked.of_clients)
counted = quality_overview.count_coverage(coverage).toPandas()
display(
    charts.bar_chart(
        counted.assign(metric=counted["metric"].map(short_name)),
        x="metric",
        y="clients",
        by="status",
        title="Metrics by status",
        unit="clients, number of instances",
        what="metric",
        adds_up=False,
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Delay of points
# MAGIC The longest time between a point and its arrival, for each push. A long time
# MAGIC means that the clock of a client is wrong, or that a push had to wait.

# COMMAND ----------

delays = quality_overview.select_delays(pushed, window_s=window_s)
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
# MAGIC ## Checks that failed
# MAGIC Expectations that failed in the newest run of `check_tables`. Without a table,
# MAGIC `check_tables` did not run yet.

# COMMAND ----------

if "quality_results" in registered:
    display(quality_overview.select_failures(spark.table("quality_results")))
