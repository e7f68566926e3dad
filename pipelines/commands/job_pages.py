"""/metrics of a driver: its streaming queries, and the tables that they write."""

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipelines.errors import MissingService
from pipelines.settings.records import Settings
from pipelines.settings.watching_settings import NO_PORT

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from pyspark.sql import SparkSession

    from pipelines.streaming.query_metrics import QueryMetrics

_logger = logging.getLogger(__name__)


@contextmanager
def served_metrics(
    sessions: "Sequence[SparkSession]",
    settings: Settings,
    job_names: Sequence[str],
    *,
    place: int = 0,
) -> "Iterator[QueryMetrics]":
    """Serve the figures of jobs of this driver while the block runs.

    Args:
        sessions: That they run in.
        job_names: Of all that run in them.
        place: Of its port, behind the first one.
    Raises: MissingService where the address cannot be had.
    """
    from prometheus_client import (
        CollectorRegistry,
        disable_created_metrics,
        start_http_server,
    )

    from pipelines.streaming.query_metrics import QueryMetrics

    # Those are a second series for each one, which nobody asks for.
    disable_created_metrics()  # type: ignore[no-untyped-call]
    registry = CollectorRegistry()
    metrics = QueryMetrics(registry, job_names)
    watching = settings.watching
    if watching.jobs_http_port == NO_PORT:
        yield metrics
        return
    _register_others(registry, settings, job_names, metrics)
    is_free = watching.jobs_http_port == 0
    port = 0 if is_free else watching.jobs_http_port + place
    host = watching.jobs_http_host
    try:
        server, _ = start_http_server(port, host, registry)
    except OSError as error:
        raise MissingService(
            f"cannot serve /metrics at {host}:{port} ({error.strerror}): end the "
            f"other driver of this job, if there is one; else set "
            f"watching.jobs_http_host and watching.jobs_http_port to an address that "
            f"is free here, or the port to {NO_PORT}, which serves none; nothing was "
            f"read"
        ) from None
    try:
        _logger.info("metrics: http://%s:%d/metrics", host, server.server_port)
        for spark in sessions:
            spark.streams.addListener(metrics)
        yield metrics
    finally:
        # No call to the JVM: what ends the block may have cut one off.
        server.shutdown()
        server.server_close()


def _register_others(
    registry: "CollectorRegistry",
    settings: Settings,
    job_names: Sequence[str],
    metrics: "QueryMetrics",
) -> None:
    """Add this process, and the tables where they can be read from here."""
    from prometheus_client.process_collector import ProcessCollector

    from pipelines.watching.delta_logs import find_local
    from pipelines.watching.table_metrics import TableCollector
    from pipelines.watching.watched_jobs import WATCHED_JOBS

    ProcessCollector(registry=registry)
    root = find_local(settings.tables.root_path)
    if root is None or settings.tables.catalog_schema:
        return
    owners: dict[str, list[str]] = {}
    for one in WATCHED_JOBS:
        for contract in one.contracts if one.name in job_names else ():
            owners.setdefault(contract.name, []).append(one.name)

    def is_made(table: str) -> bool:
        """Say whether a job that makes it has begun: else there need be none."""
        return any(map(metrics.has_started, owners[table]))

    registry.register(TableCollector(root, [*owners], time.monotonic, is_made))
