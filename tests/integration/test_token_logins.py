"""Every client of the product logs in to a real broker by tokens of an endpoint.

The broker validates them with its own validator and the issuer's keys, ends a session
soon, and asks for another login then. Broker and endpoint have certificates of two
authorities.
"""

import asyncio
import json
import re
import socket
from collections import Counter
from contextlib import contextmanager

import pytest
from confluent_kafka.admin import AdminClient

from pipelines.bridge.cluster.following import read_resources
from pipelines.embedded import EmbeddedKafka
from pipelines.errors import MissingService
from pipelines.jobs.telemetry import job as client_telemetry_to_delta
from pipelines.kafka_wire.access import read_access
from pipelines.kafka_wire.client import ClusterClient
from pipelines.kafka_wire.faults import ClusterFault, ClusterRefusal
from pipelines.settings import load_settings
from pipelines.settings.kafka import ALLOWED_ENDPOINTS_PROPERTY, publisher_config
from pipelines.settings.secret_references import SecretReader
from pipelines.streaming.run_stream import RunContext
from pipelines.tables.telemetry import CLIENT_PUSHES
from tests.support.bridge.base_ports import pick_base_port
from tests.support.bridge.bridge_process import BridgeProcess
from tests.support.bridge.certificates import Authority
from tests.support.clients.raw_pushers import pushing
from tests.support.jobs.job_support import read_rows
from tests.support.kafka.broker_metrics import read_broker_metrics
from tests.support.kafka.token_server import (
    AUDIENCE,
    CLIENT_ID,
    CLIENT_SECRET,
    ISSUER,
    SCOPE,
    TokenServer,
)
from tests.support.kafka.topics import wait_for

PATIENCE_S = 180
SESSION_MS, SESSIONS, PAUSE_S = 4_000, 3, 0.1
LISTENER = "listener.name.sasl_ssl."
MODULES = "org.apache.kafka.common.security.oauthbearer"
ALLOWED_FILES = "org.apache.kafka.sasl.oauthbearer.allowed.files"
"""Of a JVM: files that Kafka may take keys and tokens from."""
LOGINS = "kafka.server:type=socket-server-metrics,listener=SASL_SSL,networkProcessor="


def write_java(folder, java, path):
    """Write a Java that lets a broker read keys from a file; return where it is."""
    program = folder / "java"
    words = f"-D{ALLOWED_FILES}={path} -D{ALLOWED_ENDPOINTS_PROPERTY}={path.as_uri()}"
    program.write_text(f'#!/bin/sh\nexec {java} {words} "$@"\n')
    program.chmod(0o700)
    return str(program)


@contextmanager
def oauth_kafka(java, issuer):
    """Run a broker that takes tokens of an issuer."""
    keys = issuer.keys_path.as_uri()
    properties = {
        f"{LISTENER}sasl.enabled.mechanisms": "OAUTHBEARER,SCRAM-SHA-512",
        f"{LISTENER}oauthbearer.sasl.jaas.config": (
            f"{MODULES}.OAuthBearerLoginModule required;"
        ),
        f"{LISTENER}oauthbearer.sasl.server.callback.handler.class": (
            f"{MODULES}.OAuthBearerValidatorCallbackHandler"
        ),
        f"{LISTENER}oauthbearer.connections.max.reauth.ms": str(SESSION_MS),
        "sasl.oauthbearer.jwks.endpoint.url": keys,
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.expected.issuer": ISSUER,
    }
    folder = issuer.keys_path.parent
    with EmbeddedKafka(
        java=write_java(folder, java, issuer.keys_path),
        security_protocol="SASL_SSL",
        users={"operator": "only the start needs one"},
        broker_properties=properties,
    ) as kafka:
        yield kafka


class Site:
    """A broker, an issuer, and how the product reaches both."""

    def __init__(self, folder, kafka, issuer, authority):
        self.folder, self.kafka, self.issuer = folder, kafka, issuer
        self._authority = authority
        self._secret_path = folder / "client-secret"
        self._secret_path.write_text(CLIENT_SECRET)

    def words(self, section="kafka", **changes):
        """Return what conf/ says of one cluster."""
        values = {
            "bootstrap_servers": self.kafka.bootstrap_servers,
            "security_protocol": "SASL_SSL",
            "ssl_ca_location": self.kafka.ca_path,
            "sasl_mechanism": "OAUTHBEARER",
            "sasl_oauthbearer_token_endpoint_url": self.issuer.url,
            "sasl_oauthbearer_client_id": CLIENT_ID,
            "sasl_oauthbearer_client_secret": f"file:{self._secret_path}",
            "sasl_oauthbearer_scope": SCOPE,
            "https_ca_location": self._authority.path,
        }
        return [f"{section}.{name}={one}" for name, one in (values | changes).items()]

    def connection(self, **changes):
        """Return librdkafka's properties."""
        settings = load_settings("local", self.words(**changes))
        return publisher_config(settings.kafka, SecretReader(environ={}))

    def job_settings(self, topic, *more, **changes):
        return load_settings(
            "local",
            [
                *self.words(**changes),
                f"topics.telemetry={topic}",
                f"tables.root_path={self.folder}/tables",
                f"client_telemetry_to_delta.checkpoint_location={self.folder}/c-{topic}",
                *more,
            ],
        )

    def count_logins(self, java):
        """Return the broker's own counts, by attribute; it can be asked once."""
        names = (f"{LOGINS}{number}" for number in range(2))
        told = read_broker_metrics(java, *self.kafka.pids.values(), *names)
        counts = Counter()
        for name, value in told.items():
            if isinstance(value, float):
                counts[name.rpartition(":")[2]] += value
        return counts


@pytest.fixture(scope="module")
def site(java, tmp_path_factory):
    folder = tmp_path_factory.mktemp("oauth")
    authority = Authority(folder)
    files = authority.issue("issuer", "CN=localhost")
    with (
        TokenServer(folder, files) as issuer,
        oauth_kafka(java, issuer) as kafka,
    ):
        yield Site(folder, kafka, issuer, authority)


@pytest.fixture(autouse=True)
def true_issuer(site):
    """Each test may break it."""
    yield
    site.issuer.answer, site.issuer.lifetime_s = None, 300.0


def ask(connection, timeout_s=PATIENCE_S):
    async def run():
        client = ClusterClient(read_access(connection), client_id="bridge-1")
        try:
            return await read_resources(client, timeout_s=timeout_s)
        finally:
            await client.close()

    return asyncio.run(run())


@pytest.mark.long
def test_a_connection_outlives_its_sessions(site, java):
    """The first test: no other client has been there when the broker is asked."""

    async def run():
        client = ClusterClient(read_access(site.connection()), client_id="bridge-1")
        loop = asyncio.get_running_loop()
        end_s = loop.time() + SESSIONS * SESSION_MS / 1_000
        try:
            while loop.time() < end_s:
                assert await read_resources(client, timeout_s=PATIENCE_S) == {}
                await asyncio.sleep(PAUSE_S)
        finally:
            await client.close()

    asyncio.run(run())
    counts = site.count_logins(java)
    assert counts["successful-authentication-total"] >= 1
    assert counts["successful-reauthentication-total"] >= SESSIONS - 1
    for name in ("failed-reauthentication-total", "expired-connections-killed-count"):
        # Of a Counter, what nobody tells would be 0, too.
        assert name in counts
        assert counts[name] == 0


def test_a_wrong_secret_is_told_and_not_shown(site, tmp_path):
    wrong = tmp_path / "wrong"
    wrong.write_text("hunter2")
    connection = site.connection(sasl_oauthbearer_client_secret=f"file:{wrong}")
    told = r"do not agree: the token endpoint https://localhost:\d+/token refuses the"
    with pytest.raises(ClusterRefusal, match=told) as caught:
        ask(connection)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "told"),
    [((200, b"<html>"), "answers without a token"), ((502, b""), "with HTTP 502"),
     ((200, b'{"access_token":"a","expires_in":-1}'), "whose time is over")],
)  # fmt: skip
def test_an_endpoint_that_gives_no_token_is_told_and_asked_again(site, answer, told):
    site.issuer.answer = answer
    with pytest.raises(ClusterFault, match=f"does not answer .the token .*{told}"):
        ask(site.connection(), timeout_s=1.5)
    site.issuer.answer = None
    assert ask(site.connection()) == {}


def test_a_broker_that_refuses_a_token_is_named(site):
    """As for a token that ends on its way, or of a wrong audience."""
    told = {"access_token": site.issuer.make_token(-120), "expires_in": 300}
    site.issuer.answer = 200, json.dumps(told).encode()
    with pytest.raises(
        ClusterRefusal, match="answered with sasl_authentication_failed"
    ):
        ask(site.connection())


def start_bridge(folder, site, *more):
    words = site.words()
    bridge = BridgeProcess(
        folder, site.kafka.bootstrap_servers, f"telemetry-{folder.name}", *words, *more
    )
    bridge.start()
    return bridge


def push_some(bridge, count):
    async def push():
        async with pushing(bridge.address, 4) as outcomes:
            await outcomes.wait_for_accepted(count)
        return outcomes

    return asyncio.run(push())


@pytest.mark.long
def test_a_push_reaches_its_table(site, spark, tmp_path):
    """By the bridge's producer, its feed and its follower, then by Spark's source."""
    topic = f"telemetry-{tmp_path.name}"
    bridge = start_bridge(tmp_path, site)
    try:
        first = push_some(bridge, 20)
        # An endpoint that is away takes no session from anybody for a while.
        site.issuer.stop()
        second = push_some(bridge, 20)
        site.issuer.start()
        wait_for(
            lambda: bridge.fetch("/metrics")[1],
            lambda page: re.search(r"feed_full_sets_total [1-9]", page),
        )
    finally:
        bridge.stop()
    settings = site.job_settings(topic, "tables.writer=spark")
    query = client_telemetry_to_delta.run(
        spark, settings, RunContext(secrets=SecretReader(environ={}), is_once=True)
    )
    query.awaitTermination()
    stored = read_rows(spark, settings, CLIENT_PUSHES, "push_id")
    assert len(stored) >= first.accepted + second.accepted
    left = [one for one in site.folder.rglob("*") if one.is_file()]
    left += [one for one in tmp_path.rglob("*") if one.is_file()]
    holding = {one.name for one in left if CLIENT_SECRET.encode() in one.read_bytes()}
    assert holding == {"client-secret"}
    assert CLIENT_SECRET.encode() not in site.kafka.log_path.read_bytes()


def test_a_job_tells_in_one_sentence_why_there_is_no_token(site, spark, tmp_path):
    wrong = tmp_path / "wrong"
    wrong.write_text("hunter2")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/token"
    cases = {
        r"refuses the client \(invalid_client\)": {
            "sasl_oauthbearer_client_secret": f"file:{wrong}"
        },
        r"does not answer \(Connection refused\)": {
            "sasl_oauthbearer_token_endpoint_url": url
        },
    }
    for told, changes in cases.items():
        settings = site.job_settings("none", **changes)
        with pytest.raises(MissingService, match=told) as caught:
            client_telemetry_to_delta.run(
                spark,
                settings,
                RunContext(secrets=SecretReader(environ={}), is_once=True),
            )
        assert str(caught.value).startswith("there is no login to Kafka at 127.0.0.1:")
        assert "hunter2" not in str(caught.value)


def test_a_proxy_asks_its_upstream_and_lets_clients_log_in_by_their_own_tokens(
    site, tmp_path
):
    port = pick_base_port()
    more = [
        "proxy.enabled=true",
        f"proxy.base_port={port}",
        # The connection is on loopback, and clients send tokens.
        "proxy.allow_plaintext_sasl=true",
        *site.words("upstream"),
    ]
    bridge = start_bridge(tmp_path, site, *more)
    try:
        config = site.connection() | {
            "bootstrap.servers": f"127.0.0.1:{port}",
            "security.protocol": "SASL_PLAINTEXT",
        }
        admin = AdminClient({k: v for k, v in config.items() if "ssl." not in k})
        brokers = admin.list_topics(timeout=PATIENCE_S).brokers
        assert [(one.host, one.port) for one in brokers.values()] == [
            ("127.0.0.1", port + 1)
        ]
    finally:
        bridge.close()


def test_a_bridge_that_gets_no_token_says_why_and_ends(site, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/token"
    bridge = BridgeProcess(
        tmp_path,
        site.kafka.bootstrap_servers,
        "none",
        *site.words(sasl_oauthbearer_token_endpoint_url=url),
    )
    with pytest.raises(AssertionError):
        bridge.start()
    assert bridge.stop() == 1
    said = bridge.log_path.read_text()
    assert f"there is no login to Kafka at {site.kafka.bootstrap_servers}" in said
    assert f"the token endpoint {url} does not answer (Connection refused)" in said
    assert "Traceback" not in said
