# Databricks notebook source
# MAGIC %md
# MAGIC # Which consumer groups rebalance, how long, and who falls behind?
# MAGIC What consumers report of themselves; a group whose members push no telemetry
# MAGIC is not here. Reads the data points of clients. Writes nothing.

# COMMAND ----------

dbutils.widgets.text("env", "")  # empty: base with a config, else local
dbutils.widgets.text("config", "")  # a settings file of your own
dbutils.widgets.text("set", "")  # settings, as a shell has them: section.key=value …
dbutils.widgets.text("client", "")  # a client id or client instance id; empty: all
dbutils.widgets.text("principal", "")  # empty: all
dbutils.widgets.text("since", "24h")  # 90m, 24h, 7d, or 2026-03-01T06:00
dbutils.widgets.text("until", "")  # a moment; empty: now
dbutils.widgets.text("group", "")  # empty: all

# COMMAND ----------

import shlex
from datetime import UTC, datetime

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading import charts, chosen, groups, views
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

group = dbutils.widgets.get("group")
is_meant = F.col("group_id") == group if group else F.col("group_id").isNotNull()
points = read_points(spark, picked).where(is_meant)
window_s = picked.window_of(points)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Who rebalances
# MAGIC A rebalance has all members take part: those of the member with most are
# MAGIC counted. Of librdkafka, which counts none, pushes with time in rebalances are.

# COMMAND ----------

rebalances = groups.select_rebalances(points, window_s=window_s).toPandas()
display(
    charts.column_chart(
        tell_clusters_apart(rebalances, "group_id"),
        x="window_start",
        y="rebalances",
        by="group_id",
        window_s=window_s,
        title="Rebalances of consumer groups",
        unit=f"rebalances, number in {window_s} s",
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## How each group is
# MAGIC `poll_idle` is the share of the time that members wait in poll: near 0 they
# MAGIC are busy all the time. `poll_gap_ms_max` is the longest time between two
# MAGIC polls.

# COMMAND ----------

by_group = groups.select_groups(points).toPandas()
display(tell_clusters_apart(by_group))

# COMMAND ----------

display(
    charts.bar_chart(
        tell_clusters_apart(by_group, "group_id")
        .dropna(subset=["rebalance_s"])
        .sort_values("rebalance_s", ascending=False),
        x="group_id",
        y="rebalance_s",
        title="Time that groups spent in rebalances",
        unit="time of the member with most, s",
        what="consumer group",
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Who falls behind

# COMMAND ----------

lag = groups.select_lag_over_time(points, window_s=window_s).toPandas()
display(
    charts.line_chart(
        tell_clusters_apart(lag, "group_id"),
        x="window_start",
        y="lag",
        by="group_id",
        title="How far the worst member of a group is behind",
        unit="lag, records",
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Who has what
# MAGIC Partitions of each member over time: a line that ends has left, one that
# MAGIC begins has joined.

# COMMAND ----------

assignments = groups.select_assignments(points).toPandas()
display(
    charts.line_chart(
        tell_clusters_apart(assignments, "member"),
        x="at",
        y="partitions",
        by="member",
        title="Partitions of each member",
        unit="assigned partitions, number",
    )
)
