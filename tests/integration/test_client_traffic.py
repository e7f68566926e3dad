"""Stock Java clients that a broker's quotas throttle, through the proxy to the tables.

The brokers are another cluster than that of the topics, so that nobody else produces
there: what they have counted is what these clients have sent.
"""

import json
import socket
import struct
import uuid

import pytest

from pipelines.delta_tables.setup import ensure_tables
from pipelines.embedded import EmbeddedKafka
from pipelines.settings.api_versions import load_api_versions
from pipelines.tables.cluster import CLIENT_QUOTAS
from pipelines.tables.traffic import CLIENT_TRAFFIC
from tests.support.bridge.bridge_support import running_bridge
from tests.support.bridge.config_support import read_topic
from tests.support.bridge.proxy_support import (
    ProxiedClients,
    find_servers,
    proxy_settings,
)
from tests.support.clients.java_clients import RELEASES, find_jars
from tests.support.clients.java_programs import run_program
from tests.support.documents import find_block
from tests.support.jobs.config_job_support import read_table
from tests.support.jobs.given_calls import run_line
from tests.support.kafka.broker_metrics import read_broker_metrics
from tests.support.spark.table_rows import append_rows

PRODUCE, FETCH, METADATA, API_VERSIONS, INIT_PRODUCER_ID = 0, 1, 3, 18, 22
TELEMETRY = (71, 72)
BYTES_A_SECOND, RECORDS, RECORD_BYTES = 200_000, 170, 15_000
"""A broker lets ten seconds' bytes pass; a fifth of all is above them."""
CLOSE = 0.01
"""By as much the bytes of the clients and of their brokers may differ."""
REQUESTS = "kafka.network:type=RequestMetrics,name=RequestBytes,request=Produce"
HEADER_BYTES = 11 + len("writer")
"""API key, version, correlation id, client id, no tagged fields."""
BYTES = "kafka.server:type=BrokerTopicMetrics,name=Bytes{}PerSec,topic={}"
"""Of the batches in requests and answers, without what is around them."""


@pytest.fixture(scope="module")
def cluster(java):
    with EmbeddedKafka(1, java=java) as kafka:
        yield kafka


@pytest.fixture(scope="module")
def settings(kafka, cluster, tmp_path_factory):
    folder = tmp_path_factory.mktemp("traffic")
    return proxy_settings(
        kafka,
        f"upstream.bootstrap_servers={cluster.bootstrap_servers}",
        f"topics.traffic=traffic-{uuid.uuid4()}",
        f"tables.root_path={folder}/tables",
        f"client_traffic_to_delta.checkpoint_location={folder}/checkpoint",
    )


@pytest.fixture(scope="module")
def topic(cluster):
    return ProxiedClients(cluster.bootstrap_servers).create_topic(1, 1)


@pytest.fixture(scope="module")
def said(java, settings, topic):
    """Use the clients, and stop the bridge; return what they saw."""
    with running_bridge(settings) as (server, _endpoint):
        words = (topic, *map(str, (BYTES_A_SECOND, RECORDS, RECORD_BYTES)))
        said = run_program(
            java, find_jars(RELEASES[-1]), "UseUpQuotas", find_servers(server), *words
        )
    return dict(line.split(" ") for line in said.splitlines() if " " in line)


@pytest.fixture(scope="module")
def counted(kafka, settings, said):
    """Return what the proxy has counted, by client id, and the ids of its clusters."""
    assert said
    counted, clusters = {}, set()
    for record in read_topic(kafka, settings.topics.traffic):
        headers = {name: value.decode() for name, value in record.headers()}
        clusters.add(headers["cluster_id"])
        for one in json.loads(record.value())["brokers"]:
            versions = one.pop("api_versions")
            known = counted.setdefault(
                headers["client_id"], dict.fromkeys(one, 0) | {"api_versions": {}}
            )
            known["api_versions"] |= dict(versions)
            for name, number in one.items():
                is_most = name == "throttle_ms_max"
                known[name] = (
                    max(known[name], number) if is_most else (known[name] + number)
                )
    return counted, clusters


def ask_versions(host, port):
    """Return what a broker says that it serves: API key to versions."""
    request = struct.pack(">ihhih", 10, API_VERSIONS, 0, 1, -1)
    with socket.create_connection((host, port), 10) as link:
        link.sendall(request)
        with link.makefile("rb") as reader:
            (size,) = struct.unpack(">i", reader.read(4))
            answer = reader.read(size)
    (count,) = struct.unpack_from(">i", answer, 6)
    found = (struct.unpack_from(">hhh", answer, 10 + 6 * one) for one in range(count))
    return {key: range(first, last + 1) for key, first, last in found}


def is_close(one, other):
    return abs(one - other) <= CLOSE * other


def test_bytes_are_those_that_the_broker_counts(java, cluster, topic, counted):
    (writer, reader) = (counted[0][name] for name in ("writer", "reader"))
    (pid,) = cluster.pids.values()
    written, read = (BYTES.format(way, topic) for way in ("In", "Out"))
    metrics = read_broker_metrics(java, pid, REQUESTS, written, read)
    requests = metrics[f"{REQUESTS}:Count"]
    assert writer["produce_requests"] == requests
    # Quotas count the header as well, which this metric leaves out.
    in_all = requests * (metrics[f"{REQUESTS}:Mean"] + HEADER_BYTES)
    assert writer["produced_bytes"] == pytest.approx(in_all, abs=1)
    assert is_close(writer["produced_bytes"], metrics[f"{written}:Count"])
    assert is_close(reader["fetched_bytes"], metrics[f"{read}:Count"])
    assert (writer["fetched_bytes"], reader["produced_bytes"]) == (0, 0)


def test_throttle_times_are_those_that_the_clients_are_told(said, counted):
    (writer, reader) = (counted[0][name] for name in ("writer", "reader"))
    for client, name in ((writer, "produce"), (reader, "fetch")):
        told = float(said[f"{name}-throttle-time-max"])
        assert client["throttle_ms_max"] == told > 0
        assert client["throttled_answers"] > 0
        assert client["throttle_ms_sum"] >= told
    assert writer["produce_throttle_ms_sum"] == writer["throttle_ms_sum"]
    assert reader["produce_throttle_ms_sum"] == 0


def test_api_versions_are_the_newest_that_the_broker_serves(cluster, counted):
    host, port = cluster.bootstrap_servers.split(",")[0].rsplit(":", 1)
    served = ask_versions(host, int(port))
    release = load_api_versions().releases["4.3"]
    # Telemetry is named by brokers that have a receiver of it; Produce 0 to 2 are named
    # for the sake of librdkafka, and refused.
    expected = {key: one for key, one in release.items() if key not in TELEMETRY}
    expected[PRODUCE] = range(expected[PRODUCE].stop)
    assert served == expected
    (writer, reader) = (counted[0][name] for name in ("writer", "reader"))
    used = writer["api_versions"]
    # What the proxy knows of both is older.
    for key in (METADATA, INIT_PRODUCER_ID, API_VERSIONS):
        assert used[key] in release[key]
    assert used[PRODUCE] == release[PRODUCE].stop - 1
    assert used[INIT_PRODUCER_ID] == release[INIT_PRODUCER_ID].stop - 1
    assert FETCH not in used
    assert PRODUCE not in reader["api_versions"]
    assert reader["api_versions"][FETCH] in release[FETCH]


@pytest.mark.long
def test_tables_and_top_show_rate_use_and_throttle_time(
    spark, settings, counted, capsys
):
    counted, clusters = counted
    (cluster_id,) = clusters
    location = settings.client_traffic_to_delta.checkpoint_location
    own = (
        f"kafka.bootstrap_servers={settings.kafka.bootstrap_servers}",
        f"topics.traffic={settings.topics.traffic}",
        f"tables.root_path={settings.tables.root_path}",
        f"client_traffic_to_delta.checkpoint_location={location}",
    )
    (command,) = find_block("docs/guide/proxy.md", "client-traffic-to-delta").commands
    run_line(spark, command, *own)
    rows = read_table(spark, settings, CLIENT_TRAFFIC).collect()
    for client_id, sums in counted.items():
        of_client = [row for row in rows if row["client_id"] == client_id]
        for name in ("produced_bytes", "fetched_bytes", "throttle_ms_sum"):
            assert sum(row[name] for row in of_client) == sums[name]
    assert {row["cluster_id"] for row in rows} == {cluster_id}
    assert {row["client_software_name"] for row in rows} == {"apache-kafka-java"}
    ensure_tables(spark, settings.tables, [CLIENT_QUOTAS])
    quotas = (("writer", "producer_byte_rate"), ("reader", "consumer_byte_rate"))
    append_rows(
        *(settings.tables, CLIENT_QUOTAS),
        *(
            {
                "cluster_id": cluster_id,
                "entity_path": f"clients/{client_id}",
                "client_id": client_id,
                "quota_key": key,
                "quota_value": float(BYTES_A_SECOND),
                "is_current": True,
            }
            for client_id, key in quotas
        ),
    )
    capsys.readouterr()
    run_line(spark, "./spark-submit.sh quotas top --json", *own)
    top = {
        (one["client_id"], one["quota_key"]): one
        for one in json.loads(capsys.readouterr().out)
    }
    for client_id, key in quotas:
        one = top[client_id, key]
        assert one["limit"] == BYTES_A_SECOND
        assert one["use"] == pytest.approx(one["used_rate"] / BYTES_A_SECOND)
        assert one["used_rate"] > 0
        assert 0 < one["throttled_ms"] <= counted[client_id]["throttle_ms_max"]
