# Databricks notebook source
# MAGIC %md
# MAGIC # How are the clients of this cluster configured, and what changed?
# MAGIC Reads `client_configs`, `client_config_entries` and `client_config_timeline`,
# MAGIC and `effective_client_configs` if it is there.
# MAGIC Writes nothing. Logic lives in `pipelines/` and `udfs/`.

# COMMAND ----------

dbutils.widgets.dropdown("env", "local", ["local", "cluster"])
dbutils.widgets.text("config", "")  # a settings file of your own
dbutils.widgets.text("set", "")  # settings, as a shell has them: section.key=value …
dbutils.widgets.text("key", "acks")
dbutils.widgets.text("days", "7")

# COMMAND ----------

import shlex
from datetime import UTC, datetime, timedelta

from pipelines.reading import charts, config_diffs, config_overview, views
from pipelines.settings import load_settings

overrides = shlex.split(dbutils.widgets.get("set"))
own_file = dbutils.widgets.get("config") or None
settings = load_settings(dbutils.widgets.get("env"), overrides, own_file=own_file)
registered = views.register(spark, settings)

key = dbutils.widgets.get("key")
since = datetime.now(tz=UTC) - timedelta(days=int(dbutils.widgets.get("days")))
entries = spark.table("client_config_entries")
timeline = spark.table("client_config_timeline")
clients = spark.table("clients") if "clients" in registered else None

# COMMAND ----------

# MAGIC %md
# MAGIC ## Who runs what
# MAGIC A logical client is a principal, a client id and a client type; each process of
# MAGIC it is an instance.

# COMMAND ----------

display(config_overview.select_who_runs_what(spark.table("client_configs")))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Which keys are set
# MAGIC Whatever a client did not leave at its default; hidden values are counted only.

# COMMAND ----------

display(config_overview.select_overridden_keys(entries))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Where
# MAGIC Each value that is not a default, and who has it.

# COMMAND ----------

# MAGIC %sql
# MAGIC SELECT config_key, config_value, status, client_type, client_id, principal,
# MAGIC   count(*) AS instances
# MAGIC FROM client_config_entries
# MAGIC WHERE is_pushed AND NOT is_default
# MAGIC GROUP BY ALL ORDER BY config_key, instances DESC, client_id

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
        title=f"Client instances by {key}",
        unit="client instances",
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Instances that disagree
# MAGIC Live instances of one logical client with different values: a roll-out that is
# MAGIC under way, or one that was forgotten.

# COMMAND ----------

display(config_diffs.select_disagreeing_instances(entries, clients))

# COMMAND ----------

# MAGIC %md
# MAGIC ## What changed
# MAGIC Values that logical clients took up in the last days, and the ones before.

# COMMAND ----------

display(config_overview.select_changes(timeline, since))

# COMMAND ----------

# MAGIC %md
# MAGIC ## What is set for clients, and what became of it
# MAGIC Dynamic client configs (KIP-649): `applied`, `pending` until the client takes
# MAGIC it, `ignored`, or `unsupported`; `is_obeyed` also of clients that obey by their
# MAGIC own configuration.

# COMMAND ----------

if "effective_client_configs" in registered:
    effective = spark.table("effective_client_configs")
    display(config_overview.select_dynamic_configs(effective))
