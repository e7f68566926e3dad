# Databricks notebook source
# MAGIC %md
# MAGIC # Whose configuration is another than that of their peers, and where?
# MAGIC Peers are clients of one type and software. A value is unusual where at least
# MAGIC 60 % of at least four peers have another one; what is hidden is passed over.
# MAGIC The time is that of the push of a configuration, which a client may make at
# MAGIC its start alone. Reads `client_config_entries` and, where it is there,
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

from pipelines.reading import charts, chosen, config_outliers, views
from pipelines.settings import load_settings

settings = load_settings(
    dbutils.widgets.get("env"),
    shlex.split(dbutils.widgets.get("set")),
    own_file=dbutils.widgets.get("config") or None,
)
views.register(
    spark,
    settings,
    views.find_names_in("client_config_entries client_config_disagreements"),
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
# MAGIC ## Who stands out
# MAGIC Clients by the number of keys in which they are unlike most of their peers.

# COMMAND ----------

display(
    charts.bar_chart(
        config_outliers.count_outliers(outliers),
        x="client",
        y="keys",
        by="client_type",
        title="Clients that are configured otherwise than their peers",
        unit="configuration keys, number",
        what="client, principal",
        adds_up=False,
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Where
# MAGIC A line is a key, a column a client that stands out; light is what most have.

# COMMAND ----------

display(
    charts.grid_chart(
        config_outliers.collect_outlier_cells(outliers, peers),
        x="client",
        y="config_key",
        value="value",
        title="Values of clients that stand out, beside what most have",
        unit="client id",
        what="configuration key",
        base=config_outliers.USUAL,
    )
)

# COMMAND ----------

display(outliers)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Instances that disagree
# MAGIC Active instances of one logical client with different values: a roll-out that is
# MAGIC under way, or one that was forgotten.

# COMMAND ----------

disagreeing = spark.table("client_config_disagreements")
display(disagreeing.transform(picked.of_clients).drop("logical_client"))
