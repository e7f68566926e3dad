"""What a cluster's feed has written becomes tables once, and commands answer of them."""

import json
import uuid
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from pipelines.delta_tables.noted_offsets import read_noted_state
from pipelines.errors import UnsafeStart
from pipelines.settings import CONF_PATH
from pipelines.tables.cluster import CLIENT_QUOTAS, CLUSTER_CHANGES, CLUSTER_CONTRACTS
from tests.support.cluster_records import (
    BROKER,
    METRICS,
    broker,
    config,
    full_set,
    place,
    quota,
)
from tests.support.documents import find_block
from tests.support.jobs.given_calls import run_line
from tests.support.kafka.topics import make_topic

PATIENCE_S = 180
SEGMENT = "log.segment.bytes"
(JOB,) = find_block("docs/guide/brokers.md", "cluster-metadata-to-delta").commands
COMMANDS = find_block("docs/guide/brokers.md", "brokers").commands
CODES = {"drift": 1, "check": 1}
"""Of commands that find something wrong."""


def described(number, at, segment, *defaults):
    configs = {SEGMENT: segment, "num.io.threads": "8"}
    said = {"defaults": ",".join(defaults), "static_configs": "described"}
    return broker(number, at, configs, **said)


RECORDS = [
    *full_set(
        [
            described(1, 0, "1073741824", SEGMENT),
            described(2, 0, "134217728"),
            config(BROKER, "2", SEGMENT, "268435456", 0),
            config(METRICS, "team-a", "metrics", "a.", 0),
            quota({"user": "alice"}, "producer_byte_rate", 1048576.0, 0),
        ],
        1,
    ),
    quota({"user": "alice"}, "producer_byte_rate", 524288.0, 5),
]


def publish(servers, topic, records, *, is_aborted=False):
    """Write records as a feed does, in one transaction and in their order."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": topic})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    for *_, key, value, headers in place(records):
        producer.produce(topic, value, key, headers=headers)
    assert producer.flush(PATIENCE_S) == 0
    if is_aborted:
        producer.abort_transaction(PATIENCE_S)
    else:
        producer.commit_transaction(PATIENCE_S)


def settings_of(kafka, topic, folder, writer):
    return (
        f"kafka.bootstrap_servers={kafka.bootstrap_servers}",
        f"topics.cluster={topic}",
        f"tables.root_path={folder}/tables",
        f"cluster_metadata_to_delta.checkpoint_location={folder}/checkpoint",
        f"tables.writer={writer}",
    )


def read(spark, folder, contract):
    return spark.read.format("delta").load(f"{folder}/tables/{contract.name}")


def count_rows(spark, folder):
    return {one.name: read(spark, folder, one).count() for one in CLUSTER_CONTRACTS}


@pytest.mark.long
@pytest.mark.parametrize(
    "writer", [pytest.param("spark", marks=pytest.mark.long), "files"]
)
def test_records_of_a_cluster_become_rows_once(
    spark, kafka, tmp_path, create_topic, capsys, writer
):
    topic = f"cluster-{uuid.uuid4()}"
    create_topic(kafka.bootstrap_servers, topic)
    given = settings_of(kafka, topic, tmp_path, writer)
    publish(kafka.bootstrap_servers, topic, RECORDS)
    # What another feeder has begun and not ended was never told.
    publish(kafka.bootstrap_servers, topic, RECORDS[:2], is_aborted=True)
    run_line(spark, JOB, *given)
    quotas = read(spark, tmp_path, CLIENT_QUOTAS)
    rows = quotas.orderBy("valid_from").select("quota_value", "is_current").collect()
    assert [tuple(row) for row in rows] == [(1048576.0, False), (524288.0, True)]
    changes = read(spark, tmp_path, CLUSTER_CHANGES).orderBy("offset").collect()
    assert len(changes) == len(RECORDS)
    assert [row["change"] for row in changes][-2:] == [
        "full set of 5 records",
        "producer_byte_rate 1048576 -> 524288",
    ]
    # Each commit says how far it is, whoever wrote it.
    noted = read_noted_state(
        spark,
        f"delta.`{tmp_path}/tables/{CLIENT_QUOTAS.name}`",
        topic=topic,
        topic_id=read_topic_id(tmp_path),
        first=100,
    )
    assert noted.newest.offset == len(RECORDS) - 1
    before = count_rows(spark, tmp_path)
    # What the tables have is not read again.
    new = f"cluster_metadata_to_delta.checkpoint_location={tmp_path}/new"
    run_line(spark, JOB, *given, new)
    assert count_rows(spark, tmp_path) == before
    publish(kafka.bootstrap_servers, topic, full_set(RECORDS[:4], 9, set_id="set-2"))
    run_line(spark, JOB, *given, new)
    assert read(spark, tmp_path, CLIENT_QUOTAS).where("is_current").count() == 0
    if writer == "files":
        ask_all(spark, given, tmp_path, capsys)


def read_topic_id(folder):
    start = json.loads((folder / "checkpoint/kafka_clientele/start.json").read_text())
    return start["topic_id"]


def ask_all(spark, given, folder, capsys):
    """Run the commands of the guide."""
    said = {}
    for line in COMMANDS:
        name = line.split()[2]
        if "notebook" in line:
            continue
        capsys.readouterr()
        run_line(spark, line, *given, code=CODES.get(name, 0))
        said[name] = capsys.readouterr().out
    assert "described (2)" in said["list"]
    assert "1 of 2 configs differs between 2 live brokers" in said["drift"]
    assert "breaks --min 200000000" in said["check"]
    assert "set to 268435456 (dynamic)" in said["history"]
    (line,) = (one for one in COMMANDS if "notebook" in one)
    line = line.replace("notebooks/", f"{CONF_PATH.parent}/notebooks/")
    wide = "--widget since=2000-01-01"
    words = " ".join(f"--set {one}" for one in given)
    run_line(spark, f"{line} --output {folder}/page.html {wide} {words}", *given)
    page = Path(folder / "page.html").read_text(encoding="utf-8")
    assert page.count("<table") == 3
    assert page.count('src="data:image/png;base64,') == 2
    assert "268435456" in page


@pytest.mark.long
def test_a_topic_of_several_partitions_is_refused_by_name(spark, kafka, tmp_path):
    topic = f"cluster-{uuid.uuid4()}"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    make_topic(admin, NewTopic(topic, 2))
    given = settings_of(kafka, topic, tmp_path, "auto")
    with pytest.raises(UnsafeStart, match=f"{topic} has 2 partitions"):
        run_line(spark, JOB, *given)
