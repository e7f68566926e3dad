"""Clients whose metrics are known to be wrong, as one SQL expression for all readers.

The releases are the rows of kind `metrics` in conf/client_faults.csv.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.settings.client_releases import METRICS_KIND, load_client_faults
from pipelines.tables.contract import quote_text

from .client_software_views import FAMILY_SQL, NO_NUMBER
from .config_catalog_view import number_version, version_number_sql

METRICS_FAULT = "metrics_fault"
"""Column: what is wrong with the metrics of a client; null if nothing is known."""
_CLIENT = (
    *("cluster_id", "client_id", "client_software_name", "client_software_version"),
)


def metrics_fault_sql() -> str:
    """Return SQL for METRICS_FAULT.

    It reads the columns client_software_name and client_software_version.
    """
    number = version_number_sql("client_software_version")
    cases = []
    for one in load_client_faults():
        if one.kind != METRICS_KIND:
            continue
        end = number_version(one.fixed_in) if one.fixed_in else NO_NUMBER
        cases.append(
            f"WHEN {FAMILY_SQL} = {quote_text(one.family)}"
            f" AND {number} >= {number_version(one.from_release)}L"
            f" AND {number} < {end}L THEN {quote_text(f'{one.fault} ({one.issue})')}"
        )
    return f"CASE {' '.join(cases)} END" if cases else "CAST(NULL AS STRING)"


def select_wrong_metrics(client_metrics: DataFrame) -> DataFrame:
    """Return the clients whose metrics are known to be wrong.

    Args:
        client_metrics: Points as with_meaning returns them.
    Returns: cluster_id, client_id, client_software_name, client_software_version,
        metrics_fault.
    """
    return (
        client_metrics.select(*_CLIENT)
        .distinct()
        .withColumn(METRICS_FAULT, F.expr(metrics_fault_sql()))
        .where(F.col(METRICS_FAULT).isNotNull())
        .orderBy(*_CLIENT)
    )
