"""docs/reference/job-metrics.md: what /metrics of a driver shows, read from itself."""

import time
from collections.abc import Iterable
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric

from pipelines.settings.watching_settings import STREAMING_JOBS
from pipelines.streaming.query_metrics import QueryMetrics
from pipelines.watching.table_metrics import TableCollector

from .bridge_metrics import name_of
from .markdown import code, format_page, format_table

_HEAD = (
    "`/metrics` of the driver of a streaming job, at `watching.jobs_http_host` and "
    "`watching.jobs_http_port`. Beside these stand the `process_…` metrics of the "
    "driver's Python; its JVM and Spark's workers are not in them."
)
_QUERIES = "The label `query` is the name of the job."
_TABLES = (
    "Of the tables that the driver's jobs write, where they are on a disk of its "
    "machine; read from their logs at a scrape, at most once a minute. Drivers that "
    "share a table show it each."
)


def format_job_metrics() -> str:
    """Return the page."""
    registry = CollectorRegistry()
    QueryMetrics(registry, STREAMING_JOBS)
    tables = TableCollector(Path(), [], time.monotonic)
    return format_page(
        "Metrics of the streaming jobs",
        _HEAD,
        "## Queries",
        _QUERIES,
        _format_families(registry.collect()),
        "## Tables",
        _TABLES,
        _format_families(tables.collect()),
    )


def _format_families(families: Iterable[Metric]) -> str:
    return format_table(
        ("metric", "type", "meaning"),
        [(code(name_of(one)), one.type, one.documentation) for one in families],
    )
