"""A site of three brokers and twelve clients, six of them wrong, and its tables.

What happens: clients run for a while; meanwhile two clients and two brokers are rolled
over to another configuration. Then each job reads what there is, once. With a mending
the six are set right as their findings want it, and the same happens again.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.embedded import EmbeddedKafka
from pipelines.errors import DemoIncomplete
from pipelines.jobs.cluster import job as cluster_metadata_to_delta
from pipelines.jobs.configs import job as client_configs_to_delta
from pipelines.jobs.dynamic_configs import job as dynamic_configs_to_delta
from pipelines.jobs.findings import job as client_findings
from pipelines.jobs.quotas import job as refresh_quotas
from pipelines.jobs.telemetry import job as client_telemetry_to_delta
from pipelines.jobs.traffic import job as client_traffic_to_delta
from pipelines.jobs.wire_configs import job as client_wire_configs_to_delta
from pipelines.reading import views
from pipelines.settings.loading import (
    load_broker_config_types,
    load_client_type_keys,
    load_config_catalogs,
    load_settings,
)
from pipelines.settings.records import Settings
from pipelines.settings.rules import read_finding_rules
from pipelines.settings.secret_references import SecretReader
from pipelines.streaming.run_stream import RunContext

from .clients import create_topics, set_quotas
from .java_clients import JavaClients
from .parts import ROOT, quieten, running_bridge, say, write_settings
from .site_clients import RunningClient
from .site_plan import (
    BROKER_PROPERTIES,
    CLIENTS,
    MENDED_QUOTAS,
    NEW_BROKER_PROPERTIES,
    QUOTAS,
    REPLICAS,
    ROLLED,
    ROLLED_BROKERS,
    TOPICS,
    SiteClient,
)
from .summary import list_next

BROKERS = 3
_PUSH_INTERVAL_MS = 5_000
_TRAFFIC_INTERVAL_MS = 5_000
_WINDOW_MINUTES = 2
"""As long as clients run, so that their rates are those of the window."""
_QUARTER = 0.25
_CHECK_S = 2.0
MISSING_SQL = """
SELECT client_id, count(DISTINCT push_id) AS pushes FROM client_pushes
GROUP BY client_id
"""
_EVALUATIONS = 2
"""In a row: as many open a finding, or close it."""
MIN_PUSHES = 3
"""As many as rules about telemetry want."""

NEXT = (
    "findings",
    "findings --client-id clickstream",
    "report --out fleet.html",
    "configs describe --client-id orders",
    "quotas explain --user ANONYMOUS --client-id export",
    "clients stale",
    "brokers drift",
    "notebook {notebooks}/one_client.py --widget client=clickstream",
    "status",
    "shell",
)

Start = Callable[[SparkSession, Settings, RunContext], StreamingQuery]


def _list_jobs() -> dict[str, Start]:
    """Return every streaming job, with all that it needs beside its context."""
    catalogs = load_config_catalogs()
    return {
        client_telemetry_to_delta.JOB_NAME: client_telemetry_to_delta.run,
        client_configs_to_delta.JOB_NAME: partial(
            client_configs_to_delta.run,
            catalogs=catalogs,
            client_type_keys=load_client_type_keys(),
        ),
        client_wire_configs_to_delta.JOB_NAME: partial(
            client_wire_configs_to_delta.run, catalogs=catalogs
        ),
        client_traffic_to_delta.JOB_NAME: partial(
            client_traffic_to_delta.run, catalogs=catalogs
        ),
        cluster_metadata_to_delta.JOB_NAME: partial(
            cluster_metadata_to_delta.run, config_types=load_broker_config_types()
        ),
        dynamic_configs_to_delta.JOB_NAME: partial(
            dynamic_configs_to_delta.run, catalogs=catalogs
        ),
    }


@dataclass(slots=True)
class Fleet:
    """The clients that run, by their ids."""

    servers: str
    java: JavaClients
    folder: Path
    running: dict[str, RunningClient]

    def start(self, clients: Sequence[SiteClient]) -> None:
        """Start clients, or start them anew, and wait until they run."""
        for client in clients:
            if (before := self.running.pop(client.client_id, None)) is not None:
                before.stop()
            self.running[client.client_id] = RunningClient(
                client, self.servers, self.java, self.folder
            )
        self.check()

    def change(self, client_id: str, **configs: str) -> None:
        """Start a client anew with more of its configuration set."""
        client = self.running[client_id].client
        self.start([replace(client, configs={**client.configs, **configs})])

    def check(self) -> None:
        """Raise DemoIncomplete where a client has ended by itself."""
        for one in self.running.values():
            one.check()

    def stop(self) -> None:
        """Stop all."""
        for one in self.running.values():
            one.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One run of the site."""

    duration_seconds: int
    """How long the clients run before tables are made, each time."""
    is_mended: bool
    """Whether the six are then set right, and all of it goes on once more."""
    is_kept: bool
    """Whether everything goes on at the end, until Ctrl-C."""
    java: str

    def run(self, session: AbstractContextManager[SparkSession]) -> int:
        """Run everything and say what to look at.

        Args:
            session: Starts Spark when it is entered, and ends it.
        Raises: DemoIncomplete, naming the clients that were not seen as they should.
        """
        folder = ROOT / "data" / time.strftime("site-%Y%m%d-%H%M%S")
        folder.mkdir(parents=True)
        with ExitStack() as services:
            kafka, settings, fleet = services.enter_context(
                running_site(self.java, folder)
            )
            self._let_run(kafka, fleet)
            say("Spark: starting")
            spark = services.enter_context(session)
            make_tables(spark, settings)
            if self.is_mended:
                _mend(kafka, fleet)
                _let_pass(fleet, self.duration_seconds)
                make_tables(spark, settings)
            _check_complete(spark)
            lines = "\n".join(
                f"  {one}" for one in list_next(folder, ROOT, Path.cwd(), NEXT)
            )
            print(
                f"\nDelta tables: {folder}/tables\n\nTry next:\n{lines}\n", flush=True
            )
            self._keep(spark, settings, fleet)
        return 0

    def _let_run(self, kafka: EmbeddedKafka, fleet: Fleet) -> None:
        """Let time pass, with the rolling changes in its middle."""
        quarter = self.duration_seconds * _QUARTER
        _let_pass(fleet, quarter)
        for client_id, configs in ROLLED.items():
            fleet.change(client_id, **configs)
            say(f"rolling change: {client_id} made anew with {_format(configs)}")
        for broker in ROLLED_BROKERS:
            kafka.restart(broker, properties=NEW_BROKER_PROPERTIES)
            told = _format(NEW_BROKER_PROPERTIES)
            say(f"rolling change: broker {broker} started anew with {told}")
        _let_pass(fleet, self.duration_seconds - quarter)

    def _keep(self, spark: SparkSession, settings: Settings, fleet: Fleet) -> None:
        if not self.is_kept:
            return
        say(f"still running at bootstrap.servers={fleet.servers}; Ctrl-C stops it")
        while True:
            _let_pass(fleet, self.duration_seconds)
            make_tables(spark, settings)


@contextmanager
def running_site(
    java: str, folder: Path
) -> Iterator[tuple[EmbeddedKafka, Settings, Fleet]]:
    """Run brokers, the bridge as a proxy before them, and the clients.

    Args:
        java: The program.
        folder: Of the tables and checkpoints that the yielded settings name.
    Raises: DemoIncomplete where a client does not start.
    """
    quieten()
    with ExitStack() as services:
        say(f"Apache Kafka: starting {BROKERS} brokers")
        kafka = services.enter_context(
            EmbeddedKafka(BROKERS, java=java, broker_properties=BROKER_PROPERTIES)
        )
        settings = make_settings(kafka.bootstrap_servers, folder)
        write_settings(folder, kafka.bootstrap_servers, _list_jobs())
        servers = services.enter_context(running_bridge(settings))
        say(f"bridge, as a proxy before them: bootstrap.servers={servers}")
        create_topics(servers, TOPICS, REPLICAS)
        set_quotas(kafka.bootstrap_servers, QUOTAS)
        clients = JavaClients(java)
        services.callback(clients.close)
        fleet = Fleet(servers, clients, folder, {})
        services.callback(fleet.stop)
        fleet.start(CLIENTS)
        say(f"clients: {len(CLIENTS)} started, six of them wrong on purpose")
        yield kafka, settings, fleet


def make_tables(spark: SparkSession, settings: Settings) -> None:
    """Let each job read what there is, and work out quotas and findings."""
    run_jobs(spark, settings)
    evaluate(spark, settings)


def run_jobs(spark: SparkSession, settings: Settings) -> None:
    """Run each streaming job once, on the records that its topics contain."""
    context = RunContext(secrets=SecretReader(environ={}), is_once=True)
    for name, start in _list_jobs().items():
        start(spark, settings, context).awaitTermination()
        say(f"job: {name}")


def evaluate(spark: SparkSession, settings: Settings) -> None:
    """Calculate quotas and findings from the tables, at the newest push."""
    views.register(spark, settings, views.find_names_in("client_pushes"))
    # Reading took a while: at the newest push that was read, clients are live.
    ((newest,),) = spark.sql("SELECT max(received_at) FROM client_pushes").collect()
    now = newest.astimezone()
    say("quotas: calculating")
    refresh_quotas.refresh(spark, settings, now)
    rules = read_finding_rules(settings)
    for number in range(_EVALUATIONS):
        say(f"findings: evaluation {number + 1} of {_EVALUATIONS}")
        at = now + timedelta(seconds=number)
        done = client_findings.evaluate(spark, settings, rules, at)
    say(f"findings: {done.open} open")
    views.register(spark, settings, views.TABLES_AND_VIEWS)


def _mend(kafka: EmbeddedKafka, fleet: Fleet) -> None:
    """Set the wrong ones right, as their findings want it."""
    set_quotas(kafka.bootstrap_servers, MENDED_QUOTAS)
    for client in CLIENTS:
        if client.rule:
            fleet.start([client.mended()])
            told = _format(client.fix) or "a higher quota"
            say(f"mended: {client.client_id} with {told}")


def _let_pass(fleet: Fleet, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        time.sleep(min(left, _CHECK_S))
        fleet.check()


def _check_complete(spark: SparkSession) -> None:
    pushes = {
        row["client_id"]: row["pushes"] for row in spark.sql(MISSING_SQL).collect()
    }
    missing = [
        one.client_id for one in CLIENTS if pushes.get(one.client_id, 0) < MIN_PUSHES
    ]
    if missing:
        raise DemoIncomplete(
            f"not seen with {MIN_PUSHES} pushes: {', '.join(missing)}; give the site "
            "more time, by --duration"
        )


def _format(configs: object) -> str:
    return " ".join(f"{k}={v}" for k, v in dict(configs).items())  # type: ignore[call-overload]


def make_settings(bootstrap_servers: str, folder: Path) -> Settings:
    """Return the settings of a bridge, with tables in a directory."""
    subscription = (
        f'[{{name="site", metrics=["*"], interval_ms={_PUSH_INTERVAL_MS}, match=[]}}]'
    )
    return load_settings(
        "local",
        [
            f"kafka.bootstrap_servers={bootstrap_servers}",
            "bridge.listen_port=0",
            "proxy.enabled=true",
            "proxy.base_port=0",
            "proxy.wire_configs=true",
            f"proxy.traffic_interval_ms={_TRAFFIC_INTERVAL_MS}",
            "client_config.enabled=true",
            "dynamic_configs.enabled=true",
            "cluster.configs_poll_ms=2000",
            f"findings.window_minutes={_WINDOW_MINUTES}",
            f"subscriptions={subscription}",
            f"tables.root_path={folder}/tables",
            *(
                f"{job}.checkpoint_location={folder}/checkpoints/{job}"
                for job in _list_jobs()
            ),
        ],
    )
