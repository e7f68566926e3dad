# Databricks notebook source
# MAGIC %md
# MAGIC # How are the clients of this cluster configured, and what changed?
# MAGIC Reads `client_configs`, `client_config_entries` and `client_config_timeline`,
# MAGIC and `effective_client_configs` if it is there. Writes nothing. Logic lives in
# MAGIC `pipelines/` and `udfs/`.

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
        "client_configs client_config_entries client_config_timeline "
        "effective_client_configs client_config_disagreements"
    ),
)
picked = chosen.choose(
    now=datetime.now(tz=UTC),
    since=dbutils.widgets.get("since"),
    until=dbutils.widgets.get("until"),
    client=dbutils.widgets.get("client"),
    principal=dbutils.widgets.get("principal"),
)
# A client that only the proxy saw has entries and no pushed configuration.
picked.check(spark.table("client_configs"), spark.table("client_config_entries"))

key = dbutils.widgets.get("key")
entries = spark.table("active_config_entries").transform(picked.of_clients).cache()
timeline = spark.table("client_config_timeline").transform(picked.of_clients)

# COMMAND ----------

# MAGIC %md
# MAGIC ## One key over all clients
# MAGIC The key of the widget, with the defaults of clients that did not set it.

# COMMAND ----------

display(
    charts.bar_chart(
        config_overview.select_value_spread(entries, key).toPandas(),
        x="value",
        y="instances",
        title=f"Clients by their {key}",
        unit="clients, number of instances",
        what=f"value of {key}",
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Who runs what
# MAGIC A logical client is a principal, a client id and a client type; each process
# MAGIC of it is an instance.

# COMMAND ----------

configured = spark.table("client_configs").transform(picked.of_clients)
display(config_overview.select_who_runs_what(configured))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Which keys are set
# MAGIC Whatever a client did not leave at its default; hidden values are counted
# MAGIC only.

# COMMAND ----------

overridden = config_overview.select_overridden_keys(entries)
display(
    charts.bar_chart(
        overridden.toPandas(),
        x="config_key",
        y="instances",
        title="Keys that clients set themselves",
        unit="clients, number of instances",
        what="configuration key",
        adds_up=False,
    )
)

# COMMAND ----------

display(overridden)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Where
# MAGIC Each value that is not a default, and who has it.

# COMMAND ----------

display(config_overview.select_set_values(entries))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Instances that disagree
# MAGIC Active instances of one logical client with different values: a roll-out that is
# MAGIC under way, or one that was forgotten.

# COMMAND ----------

display(spark.table("client_config_disagreements").transform(picked.of_clients))

# COMMAND ----------

# MAGIC %md
# MAGIC ## What changed
# MAGIC Values that logical clients took up in the time, and the ones before.

# COMMAND ----------

display(config_overview.select_changes(timeline, picked.since))

# COMMAND ----------

# MAGIC %md
# MAGIC ## What is set for clients, and what became of it
# MAGIC Dynamic client configs (KIP-649): `applied`, `pending` until the client takes
# MAGIC it, `ignored`, or `unsupported`; `is_obeyed` also of clients that obey by
# MAGIC their own configuration.

# COMMAND ----------

if "effective_client_configs" in registered:
    effective = spark.table("effective_client_configs").transform(picked.of_clients)
    display(config_overview.select_dynamic_configs(effective))
