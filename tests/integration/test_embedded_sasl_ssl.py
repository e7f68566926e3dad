import contextlib
import time

import pytest
from confluent_kafka import KafkaError, Producer

from pipelines.embedded import EmbeddedKafka

PATIENCE_S = 180
USERS = {"alice": 'hunter2, the [quoted] "secret"', "bob": "pässwörd-of-bob"}


@pytest.fixture(scope="module")
def secured(java):
    with EmbeddedKafka(java=java, security_protocol="SASL_SSL", users=USERS) as cluster:
        yield cluster


def sasl_ssl(cluster, name, password):
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": name,
        "sasl.password": password,
        "ssl.ca.location": str(cluster.ca_path),
    }


@pytest.mark.parametrize("name", USERS)
def test_a_user_produces_and_consumes_over_sasl_ssl(
    secured, create_topic, produce, consume_one, name
):
    config = sasl_ssl(secured, name, USERS[name])
    create_topic(secured.bootstrap_servers, f"of-{name}", **config)
    produce(secured.bootstrap_servers, f"of-{name}", b"value", **config)
    value = consume_one(secured.bootstrap_servers, f"of-{name}", **config)
    assert value == b"value"


def find_error(servers, config, wanted):
    """Return the errors that a client reports of its connections, up to one of these.

    On a busy machine another may come first: a connection that took too long.
    """
    codes = []
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "error_cb": lambda error: codes.append(error.code()),
            **config,
        }
    )
    deadline = time.monotonic() + PATIENCE_S
    while not wanted & set(codes) and time.monotonic() < deadline:
        producer.poll(0.1)
    return codes


def test_a_wrong_password_is_refused(secured):
    config = sasl_ssl(secured, "alice", "wrong")
    wanted = {KafkaError._AUTHENTICATION}
    assert wanted & set(find_error(secured.bootstrap_servers, config, wanted))


def test_a_client_that_trusts_somebody_else_is_refused(secured, tmp_path):
    config = sasl_ssl(secured, "alice", USERS["alice"])
    (tmp_path / "empty").mkdir()
    config["ssl.ca.location"] = str(tmp_path / "empty")
    wanted = {KafkaError._SSL}
    assert wanted & set(find_error(secured.bootstrap_servers, config, wanted))


def test_a_plaintext_client_is_refused(secured):
    wanted = {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN}
    assert wanted & set(find_error(secured.bootstrap_servers, {}, wanted))


def test_no_password_is_in_a_process_list_or_a_file(secured, list_processes):
    processes = list_processes()
    assert "kafka.Kafka" in processes
    files = [path for path in secured.folder.rglob("*") if path.is_file()]
    contents = b""
    for path in files:
        with contextlib.suppress(FileNotFoundError):  # temporary ones of the broker
            contents += path.read_bytes()
    for password in USERS.values():
        assert password not in processes
        assert password.encode() not in contents


def test_files_that_hold_secrets_are_closed_to_others(secured):
    for name in ("keystore.p12", "keystore.password", "broker-1/server.properties"):
        assert (secured.folder / name).stat().st_mode & 0o077 == 0
    assert secured.folder.stat().st_mode & 0o077 == 0
