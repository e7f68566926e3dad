"""The command push-config against the running bridge and a real Kafka."""

import os
import subprocess
import sys

import pytest

from pipelines.clients.catalogs import load_java_catalog
from pipelines.clients.key_lists import CLIENT_TYPES
from pipelines.commands.java.configs_in_force import derive
from tests.support.bridge.config_support import (
    DEADLINE_S,
    ROOT,
    read_topic,
    running_bridge,
)
from tests.support.clients.java_clients import find_jars
from tests.support.clients.java_programs import program_command
from tests.unit.bridge.push_config.raw_client import read_record

OWN_ID = "sR8tPjVbQ0-h3_Hx2yZ1cQ"


def run_command(folder, properties, client_type="producer", connection=None, *more):
    file = folder / "client.properties"
    file.write_text(properties)
    words = ["--properties", str(file), "--client-type", client_type, *more]
    if connection is not None:
        (folder / "connection.properties").write_text(connection)
        words += ["--command-config", str(folder / "connection.properties")]
    return subprocess.run(
        [sys.executable, "-m", "pipelines", "push-config", *words],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


def test_a_file_is_pushed_as_a_java_client_would(kafka, push_topics, tmp_path):
    topic = push_topics[1].partition("=")[2]
    with running_bridge(kafka, tmp_path / "log", *push_topics) as (_, host, port):
        servers = f"bootstrap.servers={host}:{port}\n"
        text = (
            "client.id=java-7\nacks: 1\nlinger.ms = 20\nssl.keystore.password=geheim\n"
        )
        done = run_command(tmp_path, servers + text)
        (record,) = read_topic(kafka, topic)
        listed = (
            "config.push.allowed.keys=group.id,ssl.keystore.password,isolation.level\n"
        )
        other = run_command(
            tmp_path, text + listed + "group.id=g\n", "consumer", servers,
            *("--client-instance-id", OWN_ID),
        )  # fmt: skip
        second = read_topic(kafka, topic)
    assert (done.returncode, done.stderr) == (0, "")
    headers = {name: value.decode() for name, value in record.headers()}
    assert headers["client_id"] == "java-7"
    assert headers["client_software_name"] == "apache-kafka-java"
    assert headers["client_software_version"] == "4.4.0"
    assert headers["redacted_keys"] == ""
    assert read_record(record.value()) == [
        ("acks", "1", 1, False),
        ("batch.size", "16384", 2, True),
        ("buffer.memory", "33554432", 4, True),
        ("client.id", "java-7", 1, False),
        ("compression.type", "none", 1, True),
        ("delivery.timeout.ms", "120000", 2, True),
        # As a Java producer does where not all brokers acknowledge.
        ("enable.idempotence", "false", 0, False),
        ("linger.ms", "20", 4, False),
        ("max.in.flight.requests.per.connection", "5", 2, True),
        ("request.timeout.ms", "30000", 2, True),
        ("retries", "2147483647", 2, True),
    ]
    lines = done.stdout.splitlines()
    assert lines[0] == "pushed 11 configs of a producer"
    assert lines[1].split() == ["client_instance_id", headers["client_instance_id"]]
    assert lines[2].split() == ["acks", "STRING", "set", "1"]
    assert lines[3].split() == ["batch.size", "INT", "default", "16384"]
    assert other.returncode == 0
    assert "ssl.keystore.password is sensitive" in other.stderr
    assert "geheim" not in done.stdout + other.stdout + other.stderr
    ((named, pushed),) = (
        (one.key(), read_record(one.value()))
        for one in second
        if one.key() != record.key()
    )
    assert named == OWN_ID.encode()
    assert pushed == [
        ("group.id", "g", 1, False),
        ("isolation.level", "read_uncommitted", 1, True),
    ]


def test_an_instance_id_that_is_none_is_refused(tmp_path):
    for text in ("", "abc", "*" * 22, OWN_ID[:-1] + "R", OWN_ID + "A"):
        words = (f"--client-instance-id={text}",)
        done = run_command(
            tmp_path, "bootstrap.servers=h:1\n", "producer", None, *words
        )
        assert done.returncode != 0
        assert "--client-instance-id: expected 22 characters" in done.stderr


IN_FORCE = [
    ("producer", "enable.idempotence", ""),
    ("producer", "enable.idempotence", "acks=all"),
    ("producer", "enable.idempotence", "acks= -1 "),
    ("producer", "enable.idempotence", "acks=1"),
    ("producer", "enable.idempotence", "acks=0"),
    ("producer", "enable.idempotence", "retries=0"),
    ("producer", "enable.idempotence", "retries= 00 "),
    ("producer", "enable.idempotence", "retries=10"),
    ("producer", "enable.idempotence", "acks=1,enable.idempotence=false"),
    ("consumer", "enable.auto.commit", ""),
    ("consumer", "enable.auto.commit", "group.id=g"),
    ("consumer", "enable.auto.commit", "enable.auto.commit=false"),
    *((one, "reconnect.backoff.max.ms", "reconnect.backoff.ms=500") for one in CLIENT_TYPES),
    ("producer", "reconnect.backoff.max.ms", ""),
    ("producer", "reconnect.backoff.max.ms", "reconnect.backoff.max.ms=700"),
    ("producer", "reconnect.backoff.max.ms", "reconnect.backoff.ms=500,reconnect.backoff.max.ms=700"),
    *((one, "client.id", "") for one in CLIENT_TYPES),
    *((one, "client.id", "client.id=") for one in CLIENT_TYPES),
    *((one, "client.id", "client.id=app,group.id=g") for one in CLIENT_TYPES),
    ("producer", "client.id", "transactional.id=t"),
    ("consumer", "client.id", "group.id=g"),
    ("consumer", "client.id", "group.id=g,group.instance.id=i"),
    ("consumer", "client.id", "group.id="),
    ("share-consumer", "client.id", "group.id=g"),
]  # fmt: skip


def test_what_java_clients_change_by_themselves_is_changed(java):
    """The configs of the released Java clients say what is in force."""
    jars = find_jars("4.3.1")
    words = [":".join(one) for one in IN_FORCE]
    done = subprocess.run(
        program_command(java, jars, "ReadConfigs", *words),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=True,
    )
    ours = []
    for client_type, key, text in IN_FORCE:
        given = dict(one.split("=") for one in text.split(",") if one)
        in_force = given | derive(client_type, given)
        default = load_java_catalog(client_type)[key].default
        ours.append(in_force.get(key, default))
    assert done.stdout.splitlines() == [*ours, "used"]


FAULTS = {
    "nobody listens": ("bootstrap.servers=127.0.0.1:1\ndefault.api.timeout.ms=200\n", 1, "was not pushed: not done in 200 ms"),
    "no servers": ("acks=1\n", 2, "bootstrap.servers is missing"),
    "a bad word": ("enable.config.push=maybe\n", 2, "enable.config.push"),
    "a bad number": ("bootstrap.servers=a\nretry.backoff.ms=soon\n", 2, "retry.backoff.ms"),
    "Kerberos": ("bootstrap.servers=a\nsecurity.protocol=SASL_SSL\n", 2, "sasl.mechanism: GSSAPI"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "code", "told"), FAULTS.values(), ids=FAULTS)
def test_what_goes_wrong_is_one_sentence_and_an_exit_code(tmp_path, text, code, told):
    done = run_command(tmp_path, text)
    assert (done.returncode, done.stdout) == (code, "")
    (line,) = done.stderr.splitlines()
    assert told in line


def test_a_kafka_that_does_not_serve_it_is_a_fault_here(kafka, tmp_path):
    done = run_command(tmp_path, f"bootstrap.servers={kafka.bootstrap_servers}\n")
    assert done.returncode == 1
    assert "none of bootstrap.servers serves PushConfig as API 10071" in done.stderr
    assert "client_config.enabled = true" in done.stderr


def test_a_client_that_is_told_not_to_push_pushes_nothing(tmp_path):
    done = run_command(tmp_path, "enable.config.push=false\n", "admin")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "enable.config.push is false: nothing is pushed\n"
