"""The command import-metadata: files of a real cluster, into a topic of another."""

import json
import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from pipelines.embedded import EmbeddedKafka
from pipelines.settings import CONF_PATH
from tests.support.feed.topic_reader import TopicReader
from tests.support.jobs.called_main import call_main
from tests.support.kafka.kafka_commands import ask_configs
from tests.support.kafka.topics import make_topic
from tests.unit.feed.test_broker_registration import (
    BODIES,
    LOG_DIR,
    RECORD_VERSIONS,
)
from udfs.cluster.record_bytes import read_record

ROOT = CONF_PATH.parent
GOLDEN = Path(__file__).parents[1] / "golden" / "metadata"
CHECKPOINT = next(GOLDEN.glob("*.checkpoint"))
CANARY = "canary-91c4-open-sesame"


class Import:
    """The command, with a topic of its own."""

    def __init__(self, kafka, capsys):
        self.kafka, self._capsys = kafka, capsys
        self.topic = f"cluster-{uuid.uuid4()}"

    def run(self, *words):
        """Return exit code, lines of standard output, and what else was said."""
        return _split(*call_main(self._capsys, *self._words(words)))

    def start(self, *words):
        """Return the same of a process of its own, which has no Java."""
        done = subprocess.run(
            [sys.executable, "-m", "pipelines", *self._words(words)],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT), "KAFKA_CLIENTELE_JAVA": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        return _split(done.returncode, done.stdout, done.stderr)

    def _words(self, words):
        servers = f"kafka.bootstrap_servers={self.kafka.bootstrap_servers}"
        given = ("--set", servers, "--set", f"topics.cluster={self.topic}")
        return ("import-metadata", *given, *map(str, words))

    def read(self, count):
        """Return so many records of the topic, and that no other is there."""
        reader = TopicReader(self.kafka, self.topic)
        reader.wait_for(lambda _one: len(reader.records) == count)
        return reader.records


def _split(code, printed, logged):
    assert CANARY not in printed + logged
    # That it makes the topic is logged, and no error.
    said = logged.splitlines(keepends=True)
    errors = "".join(one for one in said if "created topic" not in one)
    return code, printed.splitlines(), errors


@pytest.fixture
def importing(kafka, capsys):
    return Import(kafka, capsys)


def _fields(records):
    return {one.key: read_record(one.value).fields for one in records}


def test_kafkas_own_snapshot_is_a_full_set(importing, tmp_path):
    part = tmp_path / f"{CHECKPOINT.name}.part"
    shutil.copy(CHECKPOINT, part)
    words = ("--files", CHECKPOINT, part, "--cluster-id", "c1")
    code, lines, errors = importing.start(*words)
    assert (code, lines) == (
        0,
        [
            f"4 records are in topic {importing.topic}",
            "published: 1 Config, 1 FeatureLevel, 1 RegisterBroker",
        ],
    )
    assert errors.startswith(f"kafka-clientele: {part}: passed over")
    *members, closing = importing.read(4)
    assert list(_fields(members)) == [
        "FeatureLevel/features/metadata.version",
        "RegisterBroker/brokers/1",
        "Config/client-metrics/sub1/interval.ms",
    ]
    set_id = closing.text("set_id")
    assert closing.key == f"full_set/{set_id}"
    assert json.loads(closing.value)["records"] == 3
    for one in members:
        assert one.text("set_id") == set_id
        assert (one.text("cluster_id"), one.text("source")) == ("c1", "file")
        assert (one.number("offset"), one.number("epoch")) == (99, 3)
        assert one.number("timestamp_ms") == 1_699_999_999_000


def test_the_log_of_a_real_cluster_is_published_without_its_secrets(
    importing, java, tmp_path
):
    folder = tmp_path / "kafka"
    with EmbeddedKafka(java=java, folder=folder) as cluster:
        servers = cluster.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": servers})
        cluster_id = admin.describe_cluster().result(60).cluster_id
        quotas = "producer_byte_rate=1048576,request_percentage=12.5"
        secret = f"listener.name.x.ssl.key.password={CANARY},log.segment.bytes=2000000"
        for words in (
            ("users", "--entity-name", "alice", "--add-config", quotas),
            ("users", "--entity-name", "bob", "--add-config", f"SCRAM-SHA-256=[password={CANARY}]"),
            ("brokers", "--entity-name", "1", "--add-config", secret),
            ("client-metrics", "--entity-name", "team-a", "--add-config", "interval.ms=1000"),
            ("client-metrics", "--entity-name", "team-a", "--delete-config", "interval.ms"),
        ):  # fmt: skip
            done = ask_configs(java, servers, "--alter", "--entity-type", *words)
            assert done[0] == 0, done
    (log,) = folder.rglob("__cluster_metadata-0")
    # What its libraries say by themselves is heard of a process alone.
    code, lines, errors = importing.start("--files", log)
    assert (code, errors) == (0, ""), lines
    count = int(lines[0].split()[0])
    assert "1 UserScramCredential" in " ".join(lines)
    assert "withheld values: 1 Config" in lines
    records = importing.read(count)
    assert CANARY.encode() not in b"".join(one.value for one in records)
    assert {one.text("cluster_id") for one in records} == {cluster_id}
    assert {one.text("set_id") for one in records} == {None}
    offsets = [one.number("offset") for one in records]
    assert offsets == sorted(set(offsets))
    fields = _fields(records)
    quota = fields["ClientQuota/users/alice/request_percentage"]
    assert (quota["value"], quota["remove"]) == (12.5, False)
    assert fields["Config/brokers/1/log.segment.bytes"]["value"] == "2000000"
    hidden = next(one for one in records if one.key.endswith("ssl.key.password"))
    assert read_record(hidden.value).fields["value"] is None
    assert hidden.number("withheld") == 1
    told = [
        read_record(one.value).fields["value"]
        for one in records
        if one.key == "Config/client-metrics/team-a/interval.ms"
    ]
    assert told == ["1000", None]
    registered = fields["RegisterBroker/brokers/1"]
    assert registered["broker_epoch"] >= 0
    assert len(registered["incarnation_id"]) == 22


@pytest.mark.parametrize("version", range(7))
def test_a_registration_of_every_version_is_published(importing, tmp_path, version):
    path = tmp_path / "request"
    path.write_bytes(BODIES[version])
    words = ("--registration-request", path, "--api-version", version)
    code, lines, errors = importing.run(*words)
    assert (code, errors) == (0, "")
    assert lines[0] == f"1 record is in topic {importing.topic}"
    (record,) = importing.read(1)
    assert record.key == "RegisterBroker/brokers/1"
    assert (record.text("cluster_id"), record.text("source")) == ("abc", "file")
    assert record.text("offset") is None
    read = read_record(record.value)
    assert read.version == RECORD_VERSIONS[version]
    assert read.fields["log_dirs"] == ([LOG_DIR] if version >= 2 else None)
    # A config without a validator is no secret.
    assert read.fields["static_configs"] == (
        [
            {"name": "log.segment.bytes", "value": "1073741824"},
            {"name": "broker.rack", "value": None},
        ]
        if version == 6
        else None
    )
    assert record.number("withheld") is None


def test_files_that_cannot_be_read_whole_end_with_1_and_the_rest_is_there(
    importing, tmp_path
):
    data = bytearray(CHECKPOINT.read_bytes())
    data[-1] ^= 1  # of the footer
    path = tmp_path / CHECKPOINT.name
    path.write_bytes(data)
    code, lines, _ = importing.run("--files", path, "--cluster-id", "c1")
    assert (code, lines[-1]) == (1, "not read: 1 incomplete_set, 1 wrong_crc")
    assert len(importing.read(3)) == 3


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, "expected either --files or --registration-request"),
        (("--files", "x", "--registration-request", "y"), 2, "expected either"),
        (("--files", CHECKPOINT, "--api-version", "1"), 2, "--api-version belongs to"),
        (("--registration-request", CHECKPOINT), 2, "--api-version belongs to"),
        (
            ("--registration-request", CHECKPOINT, "--api-version", "6"),
            2,
            "is no BrokerRegistrationRequest 6",
        ),
        (("--files", CHECKPOINT), 2, "--cluster-id: the files do not say"),
        (("--files", ROOT / "README.md"), 1, "no .log and no .checkpoint"),
        (("--files", "/nowhere/x.log"), 2, "/nowhere/x.log"),
    ],
)
def test_misuse_is_told(importing, words, code, said):
    ended, _, errors = importing.run(*words)
    assert (ended, said in errors) == (code, True), errors
    assert "Traceback" not in errors


def test_two_clusters_are_not_mixed(importing, tmp_path):
    (tmp_path / "meta.properties").write_text("cluster.id=c2\n")
    shutil.copy(CHECKPOINT, tmp_path)
    code, _, errors = importing.run("--files", tmp_path, "--cluster-id", "c1")
    assert (code, "several are said: c1, c2" in errors) == (2, True)


def test_a_topic_with_more_partitions_is_refused(importing, kafka):
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    make_topic(admin, NewTopic(importing.topic, 2))
    code, _, errors = importing.run("--files", CHECKPOINT, "--cluster-id", "c1")
    assert (code, "has 2 partitions" in errors) == (2, True)
