# Databricks notebook source
# MAGIC %md
# MAGIC # What changed, by how much, and how sure is that?
# MAGIC Two halves of a time, or two versions of the software, compared metric by
# MAGIC metric. How sure is Mann and Whitney's test, corrected for the many metrics;
# MAGIC how large is the median of all differences with its 95 % interval (Hodges and
# MAGIC Lehmann). A number is a client, or a client and five minutes where there are
# MAGIC few clients. Reads `clients` and the data points of clients. Writes nothing.

# COMMAND ----------

dbutils.widgets.text("env", "")  # empty: base with a config, else local
dbutils.widgets.text("config", "")  # a settings file of your own
dbutils.widgets.text("set", "")  # settings, as a shell has them: section.key=value …
dbutils.widgets.text("client", "")  # a client id or client instance id; empty: all
dbutils.widgets.text("principal", "")  # empty: all
dbutils.widgets.text("since", "24h")  # 90m, 24h, 7d, or 2026-03-01T06:00
dbutils.widgets.text("until", "")  # a moment; empty: now
dbutils.widgets.dropdown("compare", "moment", ["moment", "versions"])
dbutils.widgets.text(
    "moment", ""
)  # between before and after; empty: the middle of the points
dbutils.widgets.text("before", "")  # a version; empty: the two that most clients have
dbutils.widgets.text("after", "")

# COMMAND ----------

import shlex
from datetime import UTC, datetime

from pipelines.reading import charts, chosen, comparisons, views
from pipelines.reading.points import read_points
from pipelines.settings import load_settings
from pipelines.settings.metric_semantics import short_name

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

clients = spark.table("clients").transform(picked.of_clients)
points = read_points(spark, picked)
compares_versions = dbutils.widgets.get("compare") == "versions"

# COMMAND ----------

if compares_versions:
    found = comparisons.find_versions(clients)
    given = dbutils.widgets.get("before"), dbutils.widgets.get("after")
    software = "" if any(given) else found[0]
    older, newer = given[0] or found[1], given[1] or found[2]
    side = comparisons.split_by_version(software, older, newer)
    title = f"{software} version {newer} against {older}".strip()
else:
    told = dbutils.widgets.get("moment")
    moment = (
        chosen.read_moment("moment", told) if told else comparisons.find_middle(points)
    )
    side = comparisons.split_at(moment)
    title = f"After {moment:%Y-%m-%d %H:%M} UTC against before" if moment else "Nothing"
samples = comparisons.select_samples(points, side).toPandas()
changes = comparisons.compare_metrics(samples)
changes["metric"] = changes["metric"].map(short_name)
title += comparisons.say_if_too_few(changes)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Certain changes
# MAGIC Each change with its interval, in percent of the median before; the most certain
# MAGIC first. A metric that was zero before has no percentage and is only in the table.
# MAGIC Sums count by their growth per second. Clocks and IDs are left out.

# COMMAND ----------

display(
    charts.change_chart(
        comparisons.select_certain(changes),
        x="change_percent",
        low="percent_low",
        high="percent_high",
        y="metric",
        title=title,
        unit="change of the median with its 95 % interval, percent of before",
        what="metric",
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Metric by metric
# MAGIC `how_sure`: `sure` or `likely` (of all metrics told so, at most 1 or 5 % are
# MAGIC chance), `cannot tell`, or `too few` numbers. `share_greater`: how probably a
# MAGIC number of after is greater than one of before; 0.5 is no change.

# COMMAND ----------

display(changes)
