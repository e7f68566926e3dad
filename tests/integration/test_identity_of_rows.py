"""Whose cluster rows name: of clients of one cluster whose records are in another."""

import uuid

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from pipelines.delta_tables.locations import identify_table
from pipelines.delta_tables.setup import ensure_tables
from pipelines.embedded import EmbeddedKafka
from pipelines.jobs.configs import job as configs_job
from pipelines.jobs.telemetry import job as telemetry_job
from pipelines.jobs.wire_configs import job as wire_configs_job
from pipelines.reading import views
from pipelines.settings import (
    load_client_type_keys,
    load_config_catalogs,
    load_settings,
)
from pipelines.settings.secret_references import SecretReader
from pipelines.streaming.run_stream import RunContext
from pipelines.tables.columns import CLUSTER, names
from pipelines.tables.configs import CLIENT_CONFIGS
from pipelines.tables.contract import CONTRACT_VERSION_PROPERTY
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS
from tests.integration.test_configs_job import push as push_config
from tests.support.bridge.bridge_support import running_bridge
from tests.support.bridge.config_support import read_topic
from tests.support.bridge.proxy_support import (
    PATIENCE_S,
    QUIET,
    ProxiedClients,
    find_servers,
    proxy_settings,
    write_all,
)
from tests.support.bridge.push_reader import PushReader
from tests.support.kafka.kafka_commands import configure
from tests.support.kafka.topics import wait_for
from tests.support.spark.older_tables import WIDENED, make_older
from tests.support.spark.table_rows import append_rows

pytestmark = pytest.mark.long

PREFIX = "org.apache.kafka.producer.connection."
BEFORE, THROUGH, BESIDE = "before", "through", "beside"


@pytest.fixture(scope="module")
def upstream(java):
    """The clients' cluster; that of the records is another one."""
    with EmbeddedKafka(2, java=java) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def topics():
    return [f"topics.{one}={one}-{uuid.uuid4()}" for one in ("configs", "wire_configs")]


@pytest.fixture(scope="module")
def settings(kafka, upstream, topics):
    return proxy_settings(
        kafka,
        f"upstream.bootstrap_servers={upstream.bootstrap_servers}",
        "bridge.subscriptions_poll_ms=100",
        "subscriptions=[]",
        "proxy.wire_configs=true",
        "proxy.wire_configs_interval_ms=50",
        "client_config.enabled=true",
        *topics,
    )


@pytest.fixture(scope="module")
def pushed(java, kafka, upstream, settings, tmp_path_factory):
    """The cluster's id and its brokers, once everything that clients say is in Kafka.

    A subscription that Kafka's own tool has set through the proxy asks them.
    """
    with running_bridge(settings) as (server, endpoint):
        proxy = find_servers(server)
        add = ("--alter", "--entity-name", "s", "--add-config")
        code, output = configure(
            java, proxy, *add, f"metrics=[{PREFIX}],interval.ms=300"
        )
        assert code == 0, output
        # Who asks before it is there asks again after five minutes.
        wait_for(lambda: server.cluster.registry.version, bool)
        clients = ProxiedClients(proxy)
        admin = AdminClient({"bootstrap.servers": upstream.bootstrap_servers})
        cluster_id = admin.describe_cluster().result(PATIENCE_S).cluster_id
        topic = clients.create_topic(2, 2)
        beside = {"bootstrap.servers": endpoint, "client.id": BESIDE}
        stock = [clients.producer(THROUGH), Producer(beside, logger=QUIET)]
        write_all(stock[0], topic, [b"value"] * 20)
        folder = tmp_path_factory.mktemp("properties")
        for servers, client_id in ((proxy, THROUGH), (endpoint, BESIDE)):
            push_config(folder, servers, **{"client.id": client_id, "acks": "1"})
        reader = PushReader(kafka, settings.topics.telemetry)

        def have_pushed():
            for one in stock:
                one.poll(0)
            return reader.have_pushed((THROUGH, BESIDE), 300)

        reader.read_until(have_pushed)
        seen = {name: reader.clients[name].metrics(300) for name in (THROUGH, BESIDE)}
        reader.close()
        stock.clear()
    assert read_topic(kafka, settings.topics.wire_configs)
    for metrics in seen.values():
        # A stock client has what it was asked for through the proxy, and nothing else.
        assert metrics
        assert all(one.startswith(PREFIX) for one in metrics)
    return cluster_id, set(server.proxy.brokers.known)


@pytest.fixture(
    scope="module", params=[pytest.param("spark", marks=pytest.mark.long), "files"]
)
def tables(request, spark, kafka, settings, topics, tmp_path_factory):
    """Settings, after the jobs have filled tables of the versions before."""
    folder = tmp_path_factory.mktemp(request.param)
    made = load_settings(
        "local",
        [
            f"kafka.bootstrap_servers={kafka.bootstrap_servers}",
            f"topics.telemetry={settings.topics.telemetry}",
            f"tables.root_path={folder}/tables",
            f"tables.writer={request.param}",
            *(
                f"{job.JOB_NAME}.checkpoint_location={folder}/{job.JOB_NAME}"
                for job in (telemetry_job, configs_job, wire_configs_job)
            ),
            *topics,
        ],
    )
    older = [make_older(one) for one in WIDENED]
    ensure_tables(spark, made.tables, older)
    for contract in older:
        row = {"client_id": BEFORE, "client_instance_id": BEFORE, "topic": "former"}
        row |= {"configs": {} if contract.name == CLIENT_CONFIGS.name else None}
        known = {k: v for k, v in row.items() if k in contract.column_names}
        append_rows(made.tables, contract, known)
    context = RunContext(secrets=SecretReader(environ={}), is_once=True)
    catalogs = load_config_catalogs()
    telemetry_job.run(spark, made, context).awaitTermination()
    configs_job.run(
        spark, made, context,
        catalogs=catalogs, client_type_keys=load_client_type_keys(),
    ).awaitTermination()  # fmt: skip
    wire_configs_job.run(spark, made, context, catalogs=catalogs).awaitTermination()
    return made


def read(spark, tables, contract):
    return spark.table(identify_table(spark, tables.tables, contract))


@pytest.mark.parametrize("contract", WIDENED, ids=lambda one: one.name)
def test_rows_of_either_way_in_name_the_cluster_that_clients_use(
    spark, pushed, tables, contract
):
    cluster_id, brokers = pushed
    table = read(spark, tables, contract)
    assert table.columns[-2:] == list(names(CLUSTER))
    found = {
        tuple(row)
        for row in table.select("client_id", *names(CLUSTER)).distinct().collect()
    }
    assert (BEFORE, None, None) in found
    through = {row[1:] for row in found if row[0] == THROUGH}
    assert through
    assert through <= {(cluster_id, one) for one in brokers}
    beside = {row[1:] for row in found if row[0] == BESIDE}
    # Who is at the endpoint shows its configuration to nobody in passing.
    is_seen = contract.name != CLIENT_WIRE_CONFIGS.name
    assert beside == ({(cluster_id, None)} if is_seen else set())
    name = identify_table(spark, tables.tables, contract)
    stated = dict(spark.sql(f"SHOW TBLPROPERTIES {name}").collect())
    assert stated[CONTRACT_VERSION_PROPERTY] == str(contract.contract_version)


def test_points_have_all_labels_that_a_broker_adds(spark, pushed, tables):
    cluster_id, brokers = pushed
    session = spark.newSession()
    assert views.LABELLED in views.register(session, tables)
    labelled = session.table(views.LABELLED)
    labels = ("client_source_port", "principal", "client_software_name", "broker_id")
    rows = labelled.where(f"client_id = '{THROUGH}'").select("cluster_id", *labels)
    found = set(map(tuple, rows.distinct().collect()))
    assert found
    for row in found:
        assert row[0] == cluster_id
        assert row[1] > 0
        assert row[2:4] == ("User:ANONYMOUS", "confluent-kafka-python")
        assert row[4] in brokers
