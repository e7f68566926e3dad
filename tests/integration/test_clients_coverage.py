"""What `clients coverage` says of pushes of real clients, by way of job and tables."""

import json
import time
import uuid

import pytest
from confluent_kafka import Producer
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from pipelines.commands import parse_words
from pipelines.commands.clients.coverage import UnknownClient
from pipelines.errors import MissingTable
from pipelines.settings import CONF_PATH
from tests.support.documents import find_block
from tests.support.jobs.given_calls import run_line
from tests.support.jobs.job_support import (
    FLUSH_TIMEOUT_S,
    create_topic,
    make_instance_id,
    make_settings,
    run_once,
)
from tests.support.spark.telemetry_records import make_headers
from udfs.compression.codecs import ZSTD, decompress

GOLDEN = CONF_PATH.parent / "tests" / "golden" / "telemetry"
GUIDE = "docs/guide/subscriptions.md"
CONNECTIONS = "org.apache.kafka.producer.connection."
POLL = "org.apache.kafka.consumer.poll.idle.ratio.avg"
SUBSCRIPTIONS = f"""subscriptions=[
  {{name="all", metrics=["*"], interval_ms=60000, match=['client_id=(?:orders|b.*)']}},
  {{name="few", metrics=["{CONNECTIONS}"], interval_ms=60000,
   match=["client_id=few", "client_software_name=apache-.*"]}},
]""".replace("\n", " ")


def keep_metrics(capture, is_kept):
    """Return a captured push with some of its metrics, as its client would send it."""
    data = MetricsData()
    body = (GOLDEN / capture).read_bytes()
    data.ParseFromString(bytes(decompress(body, ZSTD, 1 << 20).data))
    for resource in data.resource_metrics:
        for scope in resource.scope_metrics:
            kept = [one for one in scope.metrics if is_kept(one.name)]
            del scope.metrics[:]
            scope.metrics.extend(kept)
    return data.SerializeToString()


JAVA_PRODUCER, JAVA_CONSUMER = (
    "java_producer_push_c4.bin", "java-3.9.2/consumer_2_zstd.bin",
)  # fmt: skip
PUSHES = {
    # Client id to the codec and the body of each push, oldest first.
    "orders": [("zstd", (GOLDEN / JAVA_PRODUCER).read_bytes())],
    "few": [("none", keep_metrics(JAVA_PRODUCER, lambda one: CONNECTIONS in one))],
    "basket": [
        ("zstd", (GOLDEN / JAVA_CONSUMER).read_bytes()),
        *[("none", keep_metrics(JAVA_CONSUMER, lambda one: one != POLL))] * 3,
    ],
    "bare": [("none", b"")] * 2,
}


@pytest.fixture(scope="module")
def places(kafka, spark, tmp_path_factory):
    """Settings, after the job has made tables of the pushes."""
    topic = f"t-{uuid.uuid4()}"
    create_topic(kafka.bootstrap_servers, topic, 1)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    now_ms, count = int(time.time() * 1000), 0
    for number, (client_id, pushes) in enumerate(PUSHES.items()):
        for age, (codec, body) in enumerate(reversed(pushes)):
            count += 1
            headers = make_headers(
                client_instance_id=make_instance_id(number),
                client_id=client_id,
                received_at_ms=str(now_ms - age * 1000),
                push_id=f"p{count}",
                compression_type=codec,
                # Nobody falls silent while a slow machine goes on.
                push_interval_ms="3600000",
            )
            producer.produce(topic, body, key="k", headers=headers)
    assert producer.flush(FLUSH_TIMEOUT_S) == 0
    folder = tmp_path_factory.mktemp("coverage")
    run_once(spark, make_settings(kafka.bootstrap_servers, topic, folder))
    return [f"tables.root_path={folder}/tables", SUBSCRIPTIONS]


@pytest.fixture
def cover(spark, places, capsys):
    """Run the command with more words; return what it prints."""

    def run(*words, code=0):
        line = " ".join(["./spark-submit.sh clients coverage", *words])
        capsys.readouterr()
        run_line(spark, line, *places, code=code)
        return capsys.readouterr().out

    return run


def statuses(printed):
    return {row["metric"]: row["status"] for row in json.loads(printed)}


@pytest.mark.long
def test_the_guides_command_tells_a_client_that_delivers_all(spark, places, capsys):
    (command,) = find_block(GUIDE, "clients-coverage").commands
    run_line(spark, command, *places)
    answer, first, head, *lines = capsys.readouterr().out.splitlines()
    assert answer.startswith("0 of 1 clients lack ")
    assert "client-id orders, producer of User:alice" in first
    assert first.endswith(", active):")
    assert head.split() == ["METRIC", "STATUS", "LAST-DELIVERED", "NOTE"]
    assert sum(" delivered " in line for line in lines[:-1]) == 8
    assert sum(line.endswith(" required") for line in lines) == 3
    assert lines[-1] == "8 delivered of 8 metrics"


@pytest.mark.long
def test_a_client_that_was_not_asked_is_told(cover):
    told = statuses(cover("--client-id", "few", "--json"))
    assert {name for name, one in told.items() if one == "delivered"} == {
        f"{CONNECTIONS}creation.rate",
        f"{CONNECTIONS}creation.total",
    }
    assert list(told.values()).count("not_asked") == 6
    printed = cover("--client-id", "few")
    assert "2 delivered, 6 not_asked of 8 metrics" in printed


@pytest.mark.long
def test_a_client_that_is_asked_and_does_not_deliver_is_told_and_fails(cover):
    printed = cover("--client-id", "basket", code=1)
    (line,) = [one for one in printed.splitlines() if POLL in one]
    # It has, four pushes before.
    assert line.split()[1] == "missing"
    assert line.split()[2] != "never"
    assert "12 delivered, 1 missing of 13 metrics" in printed
    assert "1 of 1 clients lacks " in printed


@pytest.mark.long
def test_a_client_whose_pushes_are_empty_is_told_from_one_that_is_idle(cover):
    printed = cover("--client-id", "bare", code=1)
    assert "its last 3 pushes are empty" in printed
    assert "21 missing of 21 metrics" in printed


@pytest.mark.long
def test_several_clients_of_one_cluster_are_shown_one_by_one(cover):
    cluster = dict(make_headers())["cluster_id"].decode()
    words = ("--client-id", "few", "--client-id", "orders", "--cluster-id", cluster)
    printed = cover(*words)
    assert printed.count("of 8 metrics") == 2
    assert f"cluster {cluster}" in printed
    assert "0 of 2 clients" in printed
    one = json.loads(cover("--client-instance-id", make_instance_id(0), "--json"))
    assert {row["client_id"] for row in one} == {"orders"}


@pytest.mark.long
def test_a_client_that_nobody_knows_is_named_with_those_that_are_near(cover):
    with pytest.raises(UnknownClient, match=r"client-id order: .*; there is orders"):
        cover("--client-id", "order")
    with pytest.raises(UnknownClient, match="cluster-id elsewhere: "):
        cover("--cluster-id", "elsewhere")


def test_without_tables_the_job_is_named_that_makes_them(spark, tmp_path):
    session, line = spark.newSession(), "./spark-submit.sh clients coverage"
    with pytest.raises(MissingTable, match="client_telemetry_to_delta makes it"):
        run_line(session, line, f"tables.root_path={tmp_path}/none")


@pytest.mark.parametrize("words", [[], ["covering"], ["coverage", "--client-id"]])
def test_wrong_words_end_with_the_usage(words, capsys):
    with pytest.raises(SystemExit) as ended:
        parse_words(["clients", *words])
    assert ended.value.code == 2
    assert "usage: " in capsys.readouterr().err
