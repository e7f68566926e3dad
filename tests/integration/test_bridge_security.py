"""Real clients prove who they are, and their records carry their principal."""

import asyncio
import contextlib
import logging
import ssl
import time
import uuid

import pytest
from confluent_kafka import KafkaError, Producer

from tests.support.bridge.secured_bridge import (
    PASSWORD,
    PATIENCE_S,
    Site,
    serving,
    wait_for_pushes,
)

PRINCIPALS = {
    "plaintext": "User:ANONYMOUS",
    "ssl": "User:ANONYMOUS",
    "mtls": "User:Duke",
    "plain": "User:alice",
    "scram256": "User:alice",
    "scram512": "User:alice",
    "oauth": "User:service-1",
}


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


def login(mechanism, name="alice", password=PASSWORD):
    return {
        "sasl.mechanism": mechanism,
        "sasl.username": name,
        "sasl.password": password,
    }


def client_configs(site, server):
    """Return librdkafka's properties of each client, by its client id."""
    duke = site.authority.issue("duke", "CN=Duke,OU=SME")
    tls = {"ssl.ca.location": str(site.authority.path)}
    oauth = {
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": lambda _config: site.make_token("service-1"),
    }
    mtls = {
        "ssl.certificate.location": str(duke.certificate),
        "ssl.key.location": str(duke.key),
    }
    kinds = {
        "plaintext": ("PLAINTEXT", {}),
        "ssl": ("SSL", tls),
        "mtls": ("SSL", tls | mtls),
        "plain": ("SASL_PLAINTEXT", login("PLAIN")),
        "scram256": ("SASL_SSL", tls | login("SCRAM-SHA-256")),
        "scram512": ("SASL_SSL", tls | login("SCRAM-SHA-512")),
        "oauth": ("SASL_SSL", tls | oauth),
    }
    return {
        client_id: {
            "bootstrap.servers": f"localhost:{server.endpoints[protocol][1]}",
            "security.protocol": protocol,
            "client.id": client_id,
            **more,
        }
        for client_id, (protocol, more) in kinds.items()
    }


@contextlib.contextmanager
def producers(configs):
    quiet = logging.getLogger("test.clients")
    quiet.setLevel(logging.CRITICAL)
    made = [Producer(config, logger=quiet) for config in configs.values()]
    try:
        yield lambda: [producer.poll(0) for producer in made]
    finally:
        for producer in made:
            producer.flush(1)


def test_each_way_in_names_its_principal(kafka, site):
    topic = f"telemetry-{uuid.uuid4()}"

    async def run():
        async with serving(site.settings(kafka, topic)) as server:
            configs = client_configs(site, server)
            with producers(configs) as poll:
                seen = await asyncio.to_thread(
                    wait_for_pushes, kafka, topic, PRINCIPALS, poll
                )
            assert server.counters.failed_authentications == 0
            assert server.counters.malformed_requests == 0
            return configs, seen

    configs, seen = asyncio.run(run())
    for client_id, principal in PRINCIPALS.items():
        assert seen[client_id]["principal"] == principal, client_id
        listener = seen[client_id]["listener"]
        assert listener == configs[client_id]["security.protocol"]
        assert seen[client_id]["client_software_name"] == "confluent-kafka-python"


def first_error(config):
    """Return the first authentication or TLS error that a client reports."""
    errors = []
    quiet = logging.getLogger("test.refused")
    quiet.setLevel(logging.CRITICAL)
    wanted = {KafkaError._AUTHENTICATION, KafkaError._SSL}
    producer = Producer(config | {"error_cb": errors.append}, logger=quiet)
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        producer.poll(0.1)
        for error in errors:
            if error.code() in wanted:
                return error
    return errors


def test_who_proves_nothing_is_refused_and_told_no_more_than_that(kafka, site):
    topic = f"telemetry-{uuid.uuid4()}"

    async def run():
        async with serving(site.settings(kafka, topic)) as server:
            configs = client_configs(site, server)
            refused = {}
            for name, changes in {
                "plain": login("PLAIN", password="wrong"),
                "plain ": login("PLAIN", name="nobody"),
                "scram256": login("SCRAM-SHA-256", password="wrong"),
                "scram256 ": login("SCRAM-SHA-256", name="nobody"),
                "oauth": {
                    "oauth_cb": lambda _config: site.make_token("x", audience="y")
                },
            }.items():
                config = configs[name.strip()] | changes
                refused[name] = await asyncio.to_thread(first_error, config)
            assert server.counters.failed_authentications >= len(refused)
            assert server.counters.authentications == 0
            return refused

    refused = asyncio.run(run())
    for name, error in refused.items():
        assert error.code() == KafkaError._AUTHENTICATION, name
        assert PASSWORD not in error.str()

    def text(name):
        return error_text(refused[name].str())

    for name in ("plain", "scram256"):
        assert "Authentication failed" in text(name), refused[name].str()
        assert text(name) == text(f"{name} ")


def error_text(reported):
    """Leave out what librdkafka adds: address, state, time passed."""
    return reported.partition(" error: ")[2].partition(" (after ")[0]


def test_a_user_and_a_certificate_that_come_later_are_taken(kafka, site, wait_until):
    topic = f"telemetry-{uuid.uuid4()}"

    def shown(port):
        return ssl.get_server_certificate(("127.0.0.1", port))

    async def run():
        async with serving(site.settings(kafka, topic)) as server:
            port = server.endpoints["SASL_SSL"][1]
            before = await asyncio.to_thread(shown, port)
            site.add_user("bob")
            site.authority.issue("server", "CN=localhost")
            await asyncio.to_thread(wait_until, lambda: shown(port) != before)
            config = client_configs(site, server)["scram512"]
            config |= login("SCRAM-SHA-512", name="bob") | {"client.id": "late"}
            with producers({"late": config}) as poll:
                return await asyncio.to_thread(
                    wait_for_pushes, kafka, topic, ["late"], poll
                )

    assert asyncio.run(run())["late"]["principal"] == "User:bob"
