# Databricks notebook source
# MAGIC %md
# MAGIC # Which clients are configured differently from their peers?
# MAGIC Peers are the clients of one cluster, type and software; only active instances
# MAGIC count. A value is an outlier if at least 60 % of at least four peers have
# MAGIC another one. Hidden values are skipped. Reads `active_config_entries` and
# MAGIC `client_config_disagreements`. Writes nothing.

# COMMAND ----------

dbutils.widgets.text("env", "")  # empty: base with a config, else local
dbutils.widgets.text("config", "")  # a settings file of your own
dbutils.widgets.text("set", "")  # settings, as a shell has them: section.key=value …
dbutils.widgets.text("client", "")  # a client id or client instance id; empty: all
dbutils.widgets.text("principal", "")  # empty: all
dbutils.widgets.text("since", "90d")  # 90m, 24h, 7d, or 2026-03-01T06:00
dbutils.widgets.text("until", "")  # a moment; empty: now

# COMMAND ----------

import shlex
from datetime import UTC, datetime

from pipelines.reading import charts, chosen, config_outliers, naming, views
from pipelines.settings import load_settings

settings = load_settings(
    dbutils.widgets.get("env"),
    shlex.split(dbutils.widgets.get("set")),
    own_file=dbutils.widgets.get("config") or None,
)
views.register(
    spark,
    settings,
    views.find_names_in(
        "client_config_entries active_config_entries client_config_disagreements"
    ),
)
picked = chosen.choose(
    now=datetime.now(tz=UTC),
    since=dbutils.widgets.get("since"),
    until=dbutils.widgets.get("until"),
    client=dbutils.widgets.get("client"),
    principal=dbutils.widgets.get("principal"),
)
picked.check(spark.table("client_config_entries"))

peers = spark.table("active_config_entries").transform(picked.in_time).cache()
outliers = (
    config_outliers.select_outliers(peers).transform(picked.of_clients).toPandas()
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Clients with outliers
# MAGIC Clients by the number of keys in which they differ from most of their peers.

# COMMAND ----------

display(
    charts.bar_chart(
        config_outliers.count_outliers(outliers),
        x="client",
        y="keys",
        by="client_type",
        title="Clients that are configured differently from their peers",
        unit="configuration keys, number",
        what="client, principal",
        adds_up=False,
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Values
# MAGIC One line for each key, one column for each client, next to the usual value.

# COMMAND ----------

display(
    charts.grid_chart(
        config_outliers.collect_outlier_cells(outliers, peers),
        x="client",
        y="config_key",
        value="value",
        title="Values of clients with outliers, next to the usual value",
        unit="client, principal",
        what="configuration key",
        base=config_outliers.USUAL,
    )
)

# COMMAND ----------

display(naming.tell_clusters_apart(outliers).drop(columns="logical_client"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Instances that disagree
# MAGIC Active instances of one client with different values: a rolling update that is
# MAGIC in progress, or that was not completed.

# COMMAND ----------

disagreeing = spark.table("client_config_disagreements")
display(disagreeing.transform(picked.of_clients).drop("logical_client"))
