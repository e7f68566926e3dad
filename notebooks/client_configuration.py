# Databricks notebook source
# MAGIC %md
# MAGIC # Which configuration do clients set, and what changed?
# MAGIC Counts active instances only. Reads `known_instances`, `active_config_entries`,
# MAGIC `client_config_timeline`, `client_config_disagreements`, and
# MAGIC `effective_client_configs` if it exists. Writes nothing.

# COMMAND ----------

dbutils.widgets.text("env", "")  # empty: base with a config, else local
dbutils.widgets.text("config", "")  # a settings file of your own
dbutils.widgets.text("set", "")  # settings, as a shell has them: section.key=value …
dbutils.widgets.text("client", "")  # a client id or client instance id; empty: all
dbutils.widgets.text("principal", "")  # empty: all
dbutils.widgets.text("since", "7d")  # 90m, 24h, 7d, or 2026-03-01T06:00
dbutils.widgets.text("until", "")  # a moment; empty: now
dbutils.widgets.text("key", "acks")

# COMMAND ----------

import shlex
from datetime import UTC, datetime

from pipelines.reading import charts, chosen, config_overview, views
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
        "known_instances client_config_entries active_config_entries "
        "client_config_timeline effective_client_configs client_config_disagreements"
    ),
)
picked = chosen.choose(
    now=datetime.now(tz=UTC),
    since=dbutils.widgets.get("since"),
    until=dbutils.widgets.get("until"),
    client=dbutils.widgets.get("client"),
    principal=dbutils.widgets.get("principal"),
)
picked.check(spark.table("known_instances"), spark.table("client_config_entries"))

key = dbutils.widgets.get("key")
instances = spark.table("known_instances").transform(picked.of_clients).cache()
entries = spark.table("active_config_entries").transform(picked.of_clients).cache()
timeline = spark.table("client_config_timeline").transform(picked.of_clients)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Keys that clients set
# MAGIC All values that are not defaults; hidden values are only counted.

# COMMAND ----------

overridden = config_overview.select_overridden_keys(entries)
display(
    charts.bar_chart(
        overridden.toPandas(),
        x="config_key",
        y="logical_clients",
        title="Keys that clients set",
        unit="clients, number",
        what="configuration key",
        adds_up=False,
    )
)

# COMMAND ----------

display(overridden)

# COMMAND ----------

# MAGIC %md
# MAGIC ## One key
# MAGIC The key of the widget, with the defaults of clients that did not set it.

# COMMAND ----------

display(
    charts.bar_chart(
        config_overview.select_value_spread(entries, key).toPandas(),
        x="value",
        y="clients",
        title=f"Clients by their {key}",
        unit="clients, number",
        what=f"value of {key}",
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Software
# MAGIC A client is a cluster, principal, client ID and client type. Each of its
# MAGIC processes is an instance.

# COMMAND ----------

display(config_overview.select_who_runs_what(instances))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Values
# MAGIC Each value that is not a default, with its clients.

# COMMAND ----------

display(config_overview.select_set_values(entries))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Instances that disagree
# MAGIC Active instances of one client with different values: a rolling update that is
# MAGIC in progress, or that was not completed.

# COMMAND ----------

disagreeing = spark.table("client_config_disagreements")
display(disagreeing.transform(picked.of_clients).drop("logical_client"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Changes
# MAGIC Values that changed in this time, and the values before.

# COMMAND ----------

display(config_overview.select_changes(timeline, picked.since))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Dynamic client configs (KIP-649)
# MAGIC `state`: `applied`, `pending` until the client applies it, `ignored`, or
# MAGIC `unsupported`. `is_obeyed` is also true if the client's own configuration has
# MAGIC the same value.

# COMMAND ----------

if "effective_client_configs" in registered:
    effective = spark.table("effective_client_configs").transform(picked.of_clients)
    display(config_overview.select_dynamic_configs(effective))
