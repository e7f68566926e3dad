"""Bridge and job over SASL_SSL, by their commands; the password shows up nowhere."""

import subprocess
import time
from contextlib import suppress

import pyarrow.dataset
import pytest
from confluent_kafka import Producer

from pipelines.embedded import EmbeddedKafka
from pipelines.settings import CONF_PATH

SUBMIT = str(CONF_PATH.parent / "spark-submit.sh")
PATIENCE_S = 300
USER = "clientele"
PASSWORD = 'correct horse, battery=staple; "quoted" \\ slash'
CLIENT_ID = "pushes-over-sasl-ssl"
SUBSCRIPTION = 'subscriptions=[{name="all", metrics=["*"], interval_ms=100, match=[]}]'


class PushWatcher:
    """Takes librdkafka's debug lines and notes the answer to a push."""

    has_pushed = False

    def log(self, _level, text, *arguments):
        if "PushTelemetryRequest succeeded" in text % arguments:
            self.has_pushed = True


def push_once(endpoint):
    """Run a real client until a push of its was answered without error."""
    watcher = PushWatcher()
    producer = Producer(
        {
            "bootstrap.servers": endpoint,
            "client.id": CLIENT_ID,
            "debug": "telemetry",
        },
        logger=watcher,
    )
    deadline = time.monotonic() + PATIENCE_S
    while not watcher.has_pushed and time.monotonic() < deadline:
        producer.poll(0.1)
    assert watcher.has_pushed


def connection_words(kafka, folder):
    password_path = folder / "password"
    password_path.write_text(PASSWORD)
    values = {
        "kafka.bootstrap_servers": kafka.bootstrap_servers,
        "kafka.security_protocol": "SASL_SSL",
        "kafka.sasl_mechanism": "SCRAM-SHA-512",
        "kafka.sasl_username": USER,
        "kafka.sasl_password": f"file:{password_path}",
        "kafka.ssl_ca_location": kafka.ca_path,
        "tables.root_path": "work/tables",
        "client_telemetry_to_delta.checkpoint_location": "work/checkpoints",
    }
    words = [
        word for one in values.items() for word in ("--set", "=".join(map(str, one)))
    ]
    return ["--env", "local", *words]


def run_bridge_for_one_push(folder, words, list_processes):
    """Return what ps showed while the bridge had a connection to Kafka."""
    more = ["--set", "bridge.listen_port=0", "--set", SUBSCRIPTION]
    with (
        (folder / "bridge.log").open("wb") as log,
        subprocess.Popen(
            [SUBMIT, "bridge", *words, *more],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as bridge,
    ):
        try:
            push_once(bridge.stdout.readline().split()[-1])
            seen = list_processes()
        finally:
            bridge.terminate()
        assert bridge.wait(PATIENCE_S) == 0
    return seen


def run_job(folder, words, list_processes):
    """Return everything that ps showed from the job's start to its end."""
    seen = []
    with (
        (folder / "job.log").open("wb") as log,
        subprocess.Popen(
            [SUBMIT, "client_telemetry_to_delta", *words, "--once"],
            cwd=folder,
            stdout=log,
            stderr=log,
        ) as job,
    ):
        while job.poll() is None:
            seen.append(list_processes())
            with suppress(subprocess.TimeoutExpired):
                job.wait(1)
        assert job.returncode == 0, (folder / "job.log").read_text()
    return "".join(seen)


@pytest.fixture(scope="module")
def run(java, list_processes, tmp_path_factory):
    """One push and one run of the job; what they left and what ps showed."""
    folder = tmp_path_factory.mktemp("sasl_ssl")
    users = {USER: PASSWORD}
    with EmbeddedKafka(java=java, security_protocol="SASL_SSL", users=users) as kafka:
        words = connection_words(kafka, folder)
        processes = run_bridge_for_one_push(folder, words, list_processes)
        processes += run_job(folder, words, list_processes)
        logged = kafka.log_path.read_bytes()
    return folder, processes, logged


def read_table(folder, name):
    path = folder / "work" / "tables" / name
    return pyarrow.dataset.dataset(path).to_table().to_pylist()


@pytest.mark.long
def test_a_push_reaches_its_table_over_sasl_ssl(run):
    folder, _, _ = run
    pushes = read_table(folder, "client_pushes")
    assert {push["client_id"] for push in pushes} == {CLIENT_ID}
    assert {push["decode_status"] for push in pushes} == {"ok"}
    assert len(read_table(folder, "client_metrics")) > 0


@pytest.mark.long
def test_the_password_is_in_no_process_list(run):
    _, processes, _ = run
    # The listing did see what it was to see.
    assert "pipelines bridge" in processes
    assert "org.apache.spark.deploy.SparkSubmit" in processes
    assert "kafka.sasl_password=file:" in processes
    assert PASSWORD not in processes
    assert "battery=staple" not in processes


@pytest.mark.long
def test_the_password_is_in_no_log_checkpoint_or_table(run):
    folder, _, logged = run
    written = [one for one in folder.rglob("*") if one.is_file()]
    names = {one.relative_to(folder).parts[0] for one in written}
    assert {"bridge.log", "job.log", "work", "password"} <= names
    holding = [one.name for one in written if b"battery=staple" in one.read_bytes()]
    assert holding == ["password"]
    assert b"battery=staple" not in logged
