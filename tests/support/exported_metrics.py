"""What bridges and drivers export: each family with a sample, as a scraper reads it."""

from types import SimpleNamespace
from uuid import UUID

import pyarrow as pa
from deltalake import write_deltalake
from prometheus_client import disable_created_metrics, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import CollectorRegistry

from pipelines.bridge.server import BridgeServer
from pipelines.forwarder.pages import Watch
from pipelines.settings import load_settings
from pipelines.settings.secret_references import SecretReader
from pipelines.streaming.progress import BatchProgress
from pipelines.streaming.query_metrics import QueryMetrics
from pipelines.watching.table_metrics import TableCollector

JOB = "client_telemetry_to_delta"


def read_bridge_families():
    """Return those of a bridge with one client instance, which pushed configs."""
    settings = load_settings("local", ["client_config.enabled=true"])
    server = BridgeServer(settings, SecretReader(environ={}))
    server.push_config.counters.note_policy("an-id", 1.0, has_failed=True)
    connection = SimpleNamespace(connection_id=1, seat=None, trouble=0)
    server.telemetry.top.seat(connection, UUID(int=5))
    registry = CollectorRegistry()
    registry.register(ProcessCollector(registry=None))
    feed = server.feed.counters
    feed.published["Config"] = feed.passed_over["NoOp"] = 1
    feed.faults["quotas", "refused"] = 1
    server.watch._collector._refresh = lambda: server.watch.state
    return _parse(server.watch._collector, registry)


def read_job_families(folder):
    """Return those of a driver with one query that has run and ended, and a table."""
    disable_created_metrics()  # as job_pages does
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    metrics = QueryMetrics(registry, [JOB])
    metrics.onQueryStarted(SimpleNamespace(runId="r", name=JOB))
    source = SimpleNamespace(
        endOffset='{"t": {"0": 1}}', latestOffset='{"t": {"0": 2}}'
    )
    progress = SimpleNamespace(
        name=JOB,
        numInputRows=1,
        batchDuration=1,
        durationMs={"addBatch": 1},
        sources=[source],
    )
    metrics.onQueryProgress(SimpleNamespace(progress=progress))
    metrics.observe(JOB)(
        BatchProgress(
            batch_id=0,
            records=1,
            rows=1,
            rows_name="rows",
            quarantined=1,
            duration_ms=1,
            lag=1,
        )
    )
    metrics.onQueryTerminated(SimpleNamespace(runId="r", exception="x"))
    write_deltalake(str(folder / "client_pushes"), pa.table({"a": [1]}))
    registry.register(TableCollector(folder, ["client_pushes"], lambda: 0.0))
    return _parse(registry)


def read_forwarder_families():
    """Return those of a forwarder."""
    return _parse(Watch(patience_s=1).registry)


def _parse(*collectors):
    text = b"".join(map(generate_latest, collectors)).decode()
    return list(text_string_to_metric_families(text))
