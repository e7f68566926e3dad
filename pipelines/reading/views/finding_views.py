"""`open_findings`: what is wrong now, as a view of client_findings."""

from collections.abc import Collection

from pyspark.sql import SparkSession

from pipelines.tables.findings import CLIENT_FINDINGS

OPEN_FINDINGS = "open_findings"
_OPEN_SQL = f"""
SELECT * FROM {CLIENT_FINDINGS.name}
WHERE until IS NULL
  AND (silenced_until IS NULL OR silenced_until < current_date())
ORDER BY array_position(array('error', 'warning', 'advice'), severity),
  instances DESC, since, rule, client_id
"""  # noqa: S608 - names of our own contracts


def register_findings(spark: SparkSession, registered: Collection[str]) -> list[str]:
    """Register the view where its table is; return its name."""
    if CLIENT_FINDINGS.name not in registered:
        return []
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {OPEN_FINDINGS} AS {_OPEN_SQL}")
    return [OPEN_FINDINGS]
