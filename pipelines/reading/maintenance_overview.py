"""What the newest run of maintain_tables did. Reads only."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit


def select_newest_run(maintenance_runs: DataFrame) -> DataFrame:
    """Return the newest run as a whole, and each action that failed in it.

    Returns: table_name, action, outcome, why, started_at; failures first.
    """
    newest = maintenance_runs.agg(F.max_by("run_id", "started_at").alias("run_id"))
    is_told = (F.col("outcome") == "failed") | (F.col("action") == "run")
    return (
        maintenance_runs.join(F.broadcast(newest), "run_id", "left_semi")
        .where(is_told)
        .orderBy("outcome", "table_name", "action")
        .select("table_name", "action", "outcome", "why", "started_at")
    )
