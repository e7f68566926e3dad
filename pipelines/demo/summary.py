"""What the demo prints at its end: who the clients are and what they have told."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading import overview
from pipelines.reading.points import read_points
from pipelines.reading.query_results import format_rows
from pipelines.reading.text_tables import MAX_WIDTH
from pipelines.settings.places import ROOT_PATH

from . import MAX_CLIENTS
from .clients import CONSUMER, PRODUCER
from .parts import SETTINGS_FILE

ROOT = ROOT_PATH
_BUSIEST = 6
_DIGITS = 3
SHOWN = "clients newest_values client_configs effective_quotas brokers"
"""Tables and views that the summary reads."""
_PREFIX = "org.apache.kafka."
NEXT = (
    'sql "select * from clients"',
    "configs describe --client-id orders-1",
    "quotas explain --user ANONYMOUS --client-id orders-1",
    "brokers list",
    "notebook {notebooks}/clients_overview.py",
    "notebook {notebooks}/client_configuration.py",
    "status",
    "shell",
)
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


def list_next(
    folder: Path, root: Path, here: Path, commands: Sequence[str] = NEXT
) -> list[str]:
    """Return commands to try next, as a shell takes them.

    Args:
        folder: Of the demo.
        root: The checkout.
        here: Folder that they will be typed in.
        commands: With {notebooks} for the folder of notebooks.
    """
    start = Path() if here == root else root
    program = "./spark-submit.sh" if here == root else _quote(root / "spark-submit.sh")
    settings = _quote(start / folder.relative_to(root) / SETTINGS_FILE)
    notebooks = _quote(start / "notebooks")
    return [
        f"{program} {words.format(notebooks=notebooks)} --config {settings}"
        for words in commands
    ]


def _quote(path: Path) -> str:
    return shlex.quote(str(path))


def print_summary(spark: SparkSession, folder: Path, seconds: float) -> None:
    """Print what the demo has seen, and what to try next.

    Args:
        spark: Has the views of the tables.
        folder: Of the demo.
        seconds: That it took.
    """
    metrics = read_points(spark)
    clients = overview.select_clients(spark.table("clients"), metrics)
    print(f"\nClients after {seconds:.0f} s\n")
    clients = clients.withColumn("latency_ms", F.round("latency_ms", _DIGITS))
    print(
        format_rows(
            clients.drop("last_push", "state", "cluster_id"),
            limit=MAX_CLIENTS,
            max_width=MAX_WIDTH,
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
    if spark.catalog.tableExists("effective_quotas"):
        _print_cluster(spark)
    lines = "\n".join(f"  {line}" for line in list_next(folder, ROOT, Path.cwd()))
    print(f"\nDelta tables: {folder}/tables\n\nTry next:\n{lines}\n", flush=True)


def _print_cluster(spark: SparkSession) -> None:
    """Print the brokers, and whom the quota concerns."""
    brokers = spark.table("brokers").withColumn(
        "configs", F.format_string("%s (%d)", "static_configs", "config_count")
    )
    print("\nBrokers\n")
    print(
        format_rows(
            brokers.select("broker_id", "state", "registered_at", "configs"),
            limit=_BUSIEST,
            max_width=MAX_WIDTH,
        )
    )
    print("\nClients that a quota limits, and the throttling that they report\n")
    limited = spark.table("effective_quotas").where(F.col("limit").isNotNull())
    shown = limited.select(
        *("principal", "client_id", "quota_key", "limit", "level", "entity_path"),
        F.round("reported_throttle_ms_avg", _DIGITS).alias("throttle_ms_avg"),
        F.round("reported_throttle_ms_max", _DIGITS).alias("throttle_ms_max"),
    )
    print(format_rows(shown, limit=MAX_CLIENTS, max_width=MAX_WIDTH))
