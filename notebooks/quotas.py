# Databricks notebook source
# MAGIC %md
# MAGIC # Who may use how much of this cluster, who does, and what changed?
# MAGIC Reads `effective_quotas` and `client_quotas`. Writes nothing; `refresh_quotas`
# MAGIC makes the first. Logic lives in `pipelines/` and `udfs/`.

# COMMAND ----------

dbutils.widgets.dropdown("env", "local", ["local", "cluster"])
dbutils.widgets.text("config", "")  # a settings file of your own
dbutils.widgets.text("set", "")  # settings, as a shell has them: section.key=value …
dbutils.widgets.text("days", "7")

# COMMAND ----------

import shlex
from datetime import UTC, datetime, timedelta

from pipelines.reading import charts, quota_overview, views
from pipelines.settings import load_settings

overrides = shlex.split(dbutils.widgets.get("set"))
own_file = dbutils.widgets.get("config") or None
settings = load_settings(dbutils.widgets.get("env"), overrides, own_file=own_file)
views.register(spark, settings)

since = datetime.now(tz=UTC) - timedelta(days=int(dbutils.widgets.get("days")))
effective_quotas = spark.table("effective_quotas")
client_quotas = spark.table("client_quotas")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Quotas and use per principal
# MAGIC A limit is what one broker allows; the whole is that times the live brokers. Use
# MAGIC is what clients report of themselves; who reports nothing counts for nothing.

# COMMAND ----------

display(quota_overview.select_quota_use(effective_quotas))

# COMMAND ----------

display(
    charts.bar_chart(
        quota_overview.select_most_used(effective_quotas).toPandas(),
        x="quota",
        y="used_percent",
        title="Use of what quotas allow",
        unit="percent of the limits of all live brokers",
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## What applies to whom
# MAGIC One row a level and entity, with the clients that fall under it.

# COMMAND ----------

# MAGIC %sql
# MAGIC SELECT quota_key, level, entity_path, `limit`, count(*) AS clients,
# MAGIC   count_if(reported_throttle_ms_max > 0) AS throttled
# MAGIC FROM effective_quotas
# MAGIC GROUP BY ALL ORDER BY quota_key, level, clients DESC

# COMMAND ----------

# MAGIC %md
# MAGIC ## What changed
# MAGIC Quotas that were set, changed or removed in the last days.

# COMMAND ----------

display(quota_overview.select_quota_changes(client_quotas, since))
