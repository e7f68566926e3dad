"""All of it on this machine: Kafka, the bridge before it, clients, Spark, a summary."""

import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.delta_tables.locations import identify_table
from pipelines.embedded import EmbeddedKafka
from pipelines.errors import DemoIncomplete
from pipelines.jobs.cluster import job as cluster_metadata_to_delta
from pipelines.jobs.configs import job as client_configs_to_delta
from pipelines.jobs.quotas import job as refresh_quotas
from pipelines.jobs.telemetry import job as client_telemetry_to_delta
from pipelines.quality import check as quality
from pipelines.quality import is_installed
from pipelines.quality.results import format_run
from pipelines.reading import views
from pipelines.settings.loading import (
    load_broker_config_types,
    load_client_type_keys,
    load_config_catalogs,
    load_settings,
)
from pipelines.settings.records import Settings
from pipelines.settings.secret_references import SecretReader
from pipelines.streaming.run_stream import RunContext
from pipelines.tables.cluster import CLUSTER_CHANGES
from pipelines.tables.configs import CLIENT_CONFIGS
from pipelines.tables.contract import TableContract
from pipelines.tables.telemetry import CLIENT_PUSHES

from .clients import (
    GROUPS,
    QUOTA_BYTES_PER_S,
    QUOTA_KEY,
    TOPIC,
    DemoClient,
    Quota,
    create_topics,
    plan_clients,
    running_clients,
    set_quotas,
)
from .parts import ROOT, quieten, running_bridge, say, write_settings
from .summary import SHOWN, print_summary

MIN_PUSHES = 2
_PUSH_INTERVAL_MS = 2_000
_PROGRESS_S = 1
"""For each query."""
# First pushes come after up to 1.2 intervals; a loaded machine may need much longer.
_PATIENCE_S = 300
JOBS = (
    client_telemetry_to_delta.JOB_NAME,
    client_configs_to_delta.JOB_NAME,
    cluster_metadata_to_delta.JOB_NAME,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """One run of the demo."""

    duration_seconds: int
    """How long the clients run, at least."""
    client_count: int
    is_kept: bool
    """Whether everything goes on after the summary, until Ctrl-C."""
    java: str

    def run(self, session: AbstractContextManager[SparkSession]) -> int:
        """Run everything and print the summary.

        Args:
            session: Starts Spark when it is entered, and ends it.
        Raises: DemoIncomplete, naming the clients that were not seen as they should.
        """
        quieten()
        began = time.monotonic()
        folder = ROOT / "data" / time.strftime(f"demo-%Y%m%d-%H%M%S-{os.getpid()}")
        clients = plan_clients(self.client_count)
        with (
            ExitStack() as services,
            ExitStack() as engine,
            ExitStack() as connections,
            # The last to be entered: its end waits for what it may be starting.
            ThreadPoolExecutor(1, "cluster") as beside,
        ):
            started = beside.submit(
                self._start_cluster, services, connections, folder, clients
            )
            say("Spark: starting")
            spark = engine.enter_context(session)
            settings, endpoint = started.result()
            clients_began = time.monotonic()
            queries = _start_jobs(spark, settings)
            missing = self._wait(spark, settings, queries, clients, clients_began)
            if not missing:
                # Of clients that are live now; what they still push is no matter.
                quotas = beside.submit(
                    _work_out_quotas, spark, settings, clients[0].client_id
                )
            if not self.is_kept:
                _end_jobs(spark, queries, connections)
            if not missing:
                quotas.result()
            if not self.is_kept:
                # No job is beside it any more, but the summary is.
                checked = beside.submit(_check_tables, spark, settings)
            views.register(spark, settings, views.find_names_in(SHOWN))
            print_summary(spark, folder, time.monotonic() - began)
            _check_complete(missing)
            if self.is_kept:
                say(f"still running at bootstrap.servers={endpoint}; Ctrl-C stops it")
                threading.Event().wait()
            print(checked.result())
        return 0

    def _start_cluster(
        self,
        services: ExitStack,
        connections: ExitStack,
        folder: Path,
        clients: Sequence[DemoClient],
    ) -> tuple[Settings, str]:
        """Start Kafka, the bridge and the clients; return where the proxy listens."""
        say("Apache Kafka: starting")
        kafka = services.enter_context(EmbeddedKafka(java=self.java))
        say(f"Apache Kafka: {kafka.bootstrap_servers}")
        settings = _make_settings(kafka.bootstrap_servers, folder)
        write_settings(folder, kafka.bootstrap_servers, JOBS)
        endpoint = services.enter_context(running_bridge(settings))
        say(f"bridge, as a proxy before it: bootstrap.servers={endpoint}")
        create_topics(endpoint, {TOPIC: len(GROUPS)})
        limited = clients[0].client_id
        quota = Quota(
            entity={"client-id": limited}, key=QUOTA_KEY, value=QUOTA_BYTES_PER_S
        )
        set_quotas(kafka.bootstrap_servers, [quota])
        say(f"quota: {limited} may produce {QUOTA_BYTES_PER_S:.0f} bytes/s")
        connections.enter_context(running_clients(clients, endpoint))
        say(
            f"clients: {len(clients)} started, they exchange records through the "
            f"proxy, and each pushes every 2 s"
        )
        return settings, endpoint

    def _wait(
        self,
        spark: SparkSession,
        settings: Settings,
        queries: Sequence[StreamingQuery],
        clients: list[DemoClient],
        began: float,
    ) -> list[str]:
        """Wait until the time is over and every client was seen; return who was not.

        Args:
            began: When the clients started, by the monotonic clock.
        """
        while True:
            for query in queries:
                # A failed query raises here, with Spark's reason.
                query.awaitTermination(_PROGRESS_S)
            passed = time.monotonic() - began
            done = sum(map(_has_read, queries))
            if done < len(queries) and passed < _PATIENCE_S:
                # To look at tables meanwhile would hold the jobs up.
                say(f"{passed:4.0f} s: {done} of {len(queries)} jobs have read records")
                continue
            pushes = _count_pushes(_read(spark, settings, CLIENT_PUSHES))
            configured = _list_configured(_read(spark, settings, CLIENT_CONFIGS))
            missing = [
                client.client_id
                for client in clients
                if pushes.get(client.client_id, 0) < MIN_PUSHES
                or client.client_id not in configured
            ]
            seen = len(clients) - len(missing)
            total = sum(pushes.values())
            if not _is_quota_known(_read(spark, settings, CLUSTER_CHANGES)):
                missing.append("the quota")
            say(
                f"{passed:4.0f} s: {total} pushes in Delta, {seen} of {len(clients)} "
                f"clients with {MIN_PUSHES} or more and a configuration"
            )
            is_over = passed >= self.duration_seconds
            if (is_over and not missing) or passed >= (
                self.duration_seconds + _PATIENCE_S
            ):
                return missing


def _check_complete(missing: list[str]) -> None:
    if missing:
        raise DemoIncomplete(
            f"not seen with software, version, configuration and {MIN_PUSHES} pushes, "
            f"or as a quota: {', '.join(missing)}"
        )


def _check_tables(spark: SparkSession, settings: Settings) -> str:
    """Return the words for whether the tables are as they should be.

    Raises: DemoIncomplete, naming what is not.
    """
    if not is_installed():
        return "check_tables: left out, since great-expectations is not installed"
    done = quality.run(spark, settings, datetime.now(tz=UTC))
    if done.failures:
        raise DemoIncomplete(f"check_tables:\n{format_run(done.outcomes)}")
    return f"check_tables: all of {len(done.outcomes)} expectations of the tables hold"


def _make_settings(bootstrap_servers: str, folder: Path) -> Settings:
    subscription = (
        f'[{{name="demo", metrics=["*"], interval_ms={_PUSH_INTERVAL_MS}, match=[]}}]'
    )
    return load_settings(
        "local",
        [
            f"kafka.bootstrap_servers={bootstrap_servers}",
            "bridge.listen_port=0",
            "proxy.enabled=true",
            "proxy.base_port=0",
            "client_config.enabled=true",
            "topics.partitions=2",
            f"subscriptions={subscription}",
            f"tables.root_path={folder}/tables",
            *(
                setting
                for job in JOBS
                for setting in (
                    f"{job}.checkpoint_location={folder}/checkpoints/{job}",
                    f"{job}.trigger_interval_ms=1000",
                )
            ),
        ],
    )


def _start_jobs(spark: SparkSession, settings: Settings) -> list[StreamingQuery]:
    context = RunContext(secrets=SecretReader(environ={}), is_once=False)
    starts = (
        partial(client_telemetry_to_delta.run, spark, settings, context),
        partial(
            client_configs_to_delta.run,
            spark,
            settings,
            context,
            catalogs=load_config_catalogs(),
            client_type_keys=load_client_type_keys(),
        ),
        partial(
            cluster_metadata_to_delta.run,
            spark,
            settings,
            context,
            config_types=load_broker_config_types(),
        ),
    )
    # Each creates its tables, which is more planning than writing.
    with ThreadPoolExecutor(len(starts), "jobs") as beside:
        return [started.result() for started in [beside.submit(s) for s in starts]]


def _end_jobs(
    spark: SparkSession, queries: Sequence[StreamingQuery], clients: ExitStack
) -> None:
    """End clients, and jobs behind the last push of theirs."""
    clients.close()
    for query in queries:
        query.processAllAvailable()
    # It would warn of each job group that has nothing left to cancel.
    spark.sparkContext.setLogLevel("OFF")
    for query in queries:
        query.stop()


def _work_out_quotas(spark: SparkSession, settings: Settings, client_id: str) -> None:
    """Say what quotas mean at the newest push of a client.

    Where the machine is slow that is long ago, and a silent client reports nothing.
    """
    pushes = _read(spark, settings, CLIENT_PUSHES)
    own = pushes.where(F.col("client_id") == client_id)
    ((newest,),) = own.agg(F.max("received_at")).collect()
    refresh_quotas.refresh(spark, settings, newest.astimezone())


def _has_read(query: StreamingQuery) -> bool:
    """Say whether a micro-batch with records has ended."""
    return any(progress.numInputRows for progress in query.recentProgress)


def _read(
    spark: SparkSession, settings: Settings, contract: TableContract
) -> DataFrame:
    """Return a table without the views, which take long to be registered."""
    return spark.table(identify_table(spark, settings.tables, contract))


def _list_configured(client_configs: DataFrame) -> set[str]:
    rows = client_configs.select("client_id").distinct().collect()
    return {row["client_id"] for row in rows}


def _is_quota_known(cluster_changes: DataFrame) -> bool:
    """Say whether the quota is in the tables; the ledger is written last of them."""
    return not cluster_changes.where("record_type = 'ClientQuota'").isEmpty()


def _count_pushes(client_pushes: DataFrame) -> dict[str, int]:
    """Count the pushes of each client id that told its software and version."""
    has_software = (F.col("client_software_name") != "unknown") & (
        F.col("client_software_version") != "unknown"
    )
    counts = client_pushes.where(has_software).groupBy("client_id").count().collect()
    return {row["client_id"]: row["count"] for row in counts}
