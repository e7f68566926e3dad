"""What the demo prints at its end: who the clients are and what they have told."""

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.command_line.asking import format_rows
from pipelines.command_line.console import MAX_WIDTH
from pipelines.transforms import overview

from .clients import CONSUMER, PRODUCER

MAX_CLIENTS = 200
_BUSIEST = 6
_DIGITS = 3
_PREFIX = "org.apache.kafka."
JOINED_SQL = """
SELECT
  configs.client_id,
  configs.client_type,
  concat_ws(' ', transform(
    map_entries(map_filter(configs.configs, (k, v) -> v.status = 'overridden')),
    entry -> concat(entry.key, '=', entry.value.config_value)
  )) AS overridden,
  count(DISTINCT metrics.metric) AS metrics,
  count(*) AS points
FROM client_configs AS configs
JOIN client_metrics AS metrics USING (client_instance_id)
GROUP BY ALL
ORDER BY configs.client_id
"""
"""What each client was told to do, beside what it reports."""


def print_summary(spark: SparkSession, folder: Path, seconds: float) -> None:
    """Print what the demo has seen, and what to try next.

    Args:
        spark: Has the views of the tables.
        folder: Of the demo.
        seconds: That it took.
    """
    metrics = spark.table("client_metrics")
    clients = overview.select_clients(spark.table("clients"), metrics)
    print(f"\nClients after {seconds:.0f} s\n")
    clients = clients.withColumn("latency_ms", F.round("latency_ms", _DIGITS))
    print(
        format_rows(
            clients.drop("last_push", "state"), limit=MAX_CLIENTS, max_width=MAX_WIDTH
        )
    )
    for client_type in (PRODUCER, CONSUMER):
        # Apart: those who have pushed once more would take every place.
        print(f"\nBusiest metrics of {client_type}s\n")
        own = metrics.where(metrics["metric"].startswith(_PREFIX + client_type + "."))
        busiest = overview.select_busiest_metrics(own).limit(_BUSIEST)
        shown = busiest.withColumns(
            {name: F.round(name, _DIGITS) for name in ("min", "avg", "max")}
        )
        print(format_rows(shown, limit=_BUSIEST, max_width=MAX_WIDTH))
    print("\nConfiguration beside telemetry, by client instance\n")
    print(format_rows(spark.sql(JOINED_SQL), limit=MAX_CLIENTS, max_width=MAX_WIDTH))
    tables = f"--set tables.root_path={folder}/tables"
    query = '"select * from clients"'
    print(
        f"\nDelta tables: {folder}/tables\n\nTry next:\n"
        f"  ./spark-submit.sh sql {query} {tables}\n"
        f"  ./spark-submit.sh configs describe --client-id orders-1 {tables}\n"
        f"  ./spark-submit.sh notebook notebooks/clients_overview.py {tables}\n"
        f"  ./spark-submit.sh notebook notebooks/client_configuration.py {tables}\n"
        f"  ./spark-submit.sh shell {tables}\n",
        flush=True,
    )
