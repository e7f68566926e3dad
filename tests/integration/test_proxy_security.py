"""Clients prove who they are to brokers behind the proxy, which learns it from them."""

import socket
import ssl
import struct
import threading
import time
import uuid
from collections import defaultdict

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from pipelines.embedded import EmbeddedKafka
from tests.support.bridge.bridge_support import running_bridge
from tests.support.bridge.certificates import Authority
from tests.support.bridge.config_support import read_topic
from tests.support.bridge.proxy_support import (
    PATIENCE_S,
    ProxiedClients,
    find_servers,
    proxy_settings,
    read_all,
    write_all,
)
from tests.support.bridge.secured_bridge import wait_for_pushes
from tests.support.clients.java_clients import find_jars
from tests.support.clients.java_programs import run_program
from tests.support.clients.raw_pushers import make_frame, make_push

PASSWORD = "secret"
MECHANISMS = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
LOGIN = "org.apache.kafka.common.security"
SASL_BROKER = {
    "listener.security.protocol.map": (
        "PLAINTEXT:SASL_PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT"
    ),
    "listener.name.plaintext.sasl.enabled.mechanisms": MECHANISMS,
    "listener.name.plaintext.plain.sasl.jaas.config": (
        f'{LOGIN}.plain.PlainLoginModule required user_admin="{PASSWORD}" '
        f'user_alice="{PASSWORD}";'
    ),
    "listener.name.plaintext.scram-sha-256.sasl.jaas.config": (
        f"{LOGIN}.scram.ScramLoginModule required;"
    ),
    "listener.name.plaintext.scram-sha-512.sasl.jaas.config": (
        f"{LOGIN}.scram.ScramLoginModule required;"
    ),
    "listener.name.plaintext.oauthbearer.sasl.jaas.config": (
        f"{LOGIN}.oauthbearer.OAuthBearerLoginModule required "
        'unsecuredLoginStringClaim_sub="broker";'
    ),
    # Who logs in that way must do so again and again; and brokers give tokens.
    "listener.name.plaintext.scram-sha-256.connections.max.reauth.ms": "1500",
    "delegation.token.secret.key": PASSWORD,
}
ADMIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "admin",
    "sasl.password": PASSWORD,
}


@pytest.fixture(scope="module")
def sasl_kafka(java):
    """A broker whose clients log in, and two users of SCRAM."""
    with EmbeddedKafka(java=java, broker_properties=SASL_BROKER) as cluster:
        admin = ProxiedClients(cluster.bootstrap_servers, **ADMIN).admin
        users = [
            UserScramCredentialUpsertion(
                name, ScramCredentialInfo(mechanism, 4_096), PASSWORD.encode()
            )
            for name, mechanism in (
                ("bob", ScramMechanism.SCRAM_SHA_256),
                ("carol, c=c", ScramMechanism.SCRAM_SHA_512),
            )
        ]
        for done in admin.alter_user_scram_credentials(users).values():
            done.result(PATIENCE_S)
        yield cluster


def upstream_settings(kafka, upstream, *changes):
    return proxy_settings(
        kafka,
        f"upstream.bootstrap_servers={upstream.bootstrap_servers}",
        "upstream.security_protocol=SASL_PLAINTEXT",
        "upstream.sasl_mechanism=PLAIN",
        "upstream.sasl_username=admin",
        "upstream.sasl_password=env:UPSTREAM_PASSWORD",
        *changes,
    )


@pytest.fixture(scope="module")
def settings(kafka, sasl_kafka):
    return upstream_settings(kafka, sasl_kafka)


@pytest.fixture(scope="module")
def server(settings):
    with running_bridge(settings, UPSTREAM_PASSWORD=PASSWORD) as (server, _endpoint):
        yield server


def login(mechanism, user):
    config = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism}
    if mechanism == "OAUTHBEARER":
        return config | {
            "enable.sasl.oauthbearer.unsecure.jwt": True,
            "sasl.oauthbearer.config": f"principal={user}",
        }
    return config | {"sasl.username": user, "sasl.password": PASSWORD}


def exchange(kafka, settings, servers, config):
    """Write, read and push with a login; return the headers of a push of each client."""
    clients = ProxiedClients(servers, **config)
    topic = clients.create_topic(1, 1)
    names = [f"{kind}-{uuid.uuid4()}" for kind in ("p", "c")]
    producer, consumer = clients.producer(names[0]), clients.consumer(names[1])
    write_all(producer, topic, [b"one", b"two"])
    assert read_all(consumer, topic, 2) == [b"one", b"two"]

    def poll():
        producer.poll(0.05)
        consumer.poll(0.05)

    pushed = wait_for_pushes(kafka, settings.topics.telemetry, names, poll)
    consumer.close()
    return [pushed[name] for name in names]


@pytest.mark.parametrize(
    ("mechanism", "user"),
    [
        ("PLAIN", "alice"),
        ("SCRAM-SHA-256", "bob"),
        ("SCRAM-SHA-512", "carol, c=c"),
        ("OAUTHBEARER", "dave"),
    ],
)
def test_the_principal_is_the_one_that_the_broker_has_accepted(
    kafka, server, settings, mechanism, user
):
    config = login(mechanism, user)
    for headers in exchange(kafka, settings, find_servers(server), config):
        assert headers["principal"] == f"User:{user}"


def test_clients_log_in_again_and_a_token_stands_for_its_owner(
    java, kafka, server, settings
):
    servers = find_servers(server)
    topic = ProxiedClients(servers, **ADMIN).create_topic(1, 1)
    run_program(
        java, find_jars("4.3.1"), "AuthenticateAgain",
        servers, topic, "alice", "bob", PASSWORD,
    )  # fmt: skip
    principals = defaultdict(set)
    for record in read_topic(kafka, settings.topics.telemetry):
        headers = dict(record.headers())
        principals[headers["client_id"]].add(headers["principal"])
    assert principals[b"by-token"] == {b"User:alice"}
    assert principals[b"by-password"] == {b"User:bob"}


def test_a_wrong_password_is_the_brokers_to_refuse(server):
    before = server.counters.gets
    clients = ProxiedClients(
        find_servers(server), **login("PLAIN", "alice") | {"sasl.password": "wrong"}
    )
    with pytest.raises(KafkaException):
        clients.admin.list_topics(timeout=2)
    assert server.counters.gets == before


def test_who_has_not_logged_in_has_no_telemetry(server):
    known = server.proxy.brokers.known[1]
    with socket.create_connection(("127.0.0.1", known.port), PATIENCE_S) as one:
        one.sendall(make_frame(71, bytes(17)))
        assert one.recv(1) == b""


@pytest.mark.parametrize("size", [-1, 0, 7])
def test_a_size_that_holds_no_header_ends_a_connection_before_its_login(server, size):
    known = server.proxy.brokers.known[1]
    # Half-received requests would be given up later than that.
    with socket.create_connection(("127.0.0.1", known.port), 20) as one:
        one.sendall(struct.pack(">i", size))
        assert one.recv(1) == b""


def test_tls_ends_at_the_proxy(kafka, sasl_kafka, tmp_path):
    authority = Authority(tmp_path)
    files = authority.issue("server", "CN=localhost")
    settings = upstream_settings(
        kafka,
        sasl_kafka,
        f"proxy.ssl_certificate_location={files.certificate}",
        f"proxy.ssl_key_location={files.key}",
        "proxy.advertised_host=localhost",
    )
    with running_bridge(settings, UPSTREAM_PASSWORD=PASSWORD) as (server, _endpoint):
        config = login("PLAIN", "alice") | {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(authority.path),
        }
        servers = find_servers(server).replace("127.0.0.1", "localhost")
        for headers in exchange(kafka, settings, servers, config):
            assert headers["principal"] == "User:alice"
        context = ssl.create_default_context(cafile=str(authority.path))
        known = server.proxy.brokers.known[1]
        with (
            socket.create_connection(("127.0.0.1", known.port), 20) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as one,
        ):
            one.sendall(struct.pack(">i", -1))
            assert one.recv(1) == b""
        # One thread looks at files, however often the brokers are asked for.
        names = [one.name for one in threading.enumerate()]
        assert names.count("security-files") == 1


def test_tls_begins_again_towards_the_brokers_and_certificates_name_clients(
    java, kafka, tmp_path
):
    authority = Authority(tmp_path)
    files = authority.issue("server", "CN=localhost")
    client = authority.issue("client", "CN=erin,O=there")
    with EmbeddedKafka(
        java=java, security_protocol="SASL_SSL", users={"frank": PASSWORD}
    ) as upstream:
        settings = proxy_settings(
            kafka,
            f"upstream.bootstrap_servers={upstream.bootstrap_servers}",
            "upstream.security_protocol=SASL_SSL",
            "upstream.sasl_mechanism=SCRAM-SHA-512",
            "upstream.sasl_username=frank",
            "upstream.sasl_password=env:UPSTREAM_PASSWORD",
            f"upstream.ssl_ca_location={upstream.ca_path}",
            f"proxy.ssl_certificate_location={files.certificate}",
            f"proxy.ssl_key_location={files.key}",
            f"proxy.ssl_ca_location={authority.path}",
            "proxy.ssl_client_auth=required",
            "proxy.upstream_identity=shared",
            "proxy.advertised_host=localhost",
        )
        with running_bridge(settings, UPSTREAM_PASSWORD=PASSWORD) as (server, _):
            config = login("SCRAM-SHA-512", "frank") | {
                "security.protocol": "SASL_SSL",
                "ssl.ca.location": str(authority.path),
                "ssl.certificate.location": str(client.certificate),
                "ssl.key.location": str(client.key),
            }
            servers = find_servers(server).replace("127.0.0.1", "localhost")
            for headers in exchange(kafka, settings, servers, config):
                # The broker has accepted a user; a certificate is the proxy's alone.
                assert headers["principal"] == "User:frank"


def test_a_load_balancer_says_where_a_client_is(kafka):
    settings = proxy_settings(
        kafka,
        'proxy.proxy_protocol_networks=["127.0.0.0/8"]',
        "bridge.listener=L",
        # The first record waits for the producer's id, which a new Kafka gives late.
        "proxy.telemetry_answer_ms=10000",
    )
    header = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c" + bytes([10, 0, 0, 7, 10, 0, 0, 1])
    header += struct.pack(">HH", 5_000, 9_092)
    with running_bridge(settings) as (server, _endpoint):
        port = server.proxy.brokers.known[1].port
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as one:
            answers = one.makefile("rb")
            one.sendall(header + make_frame(71, bytes(17)))
            answer = read_answer(answers)
            # Correlation id, no tags, throttle time, error code.
            instance_id = answer[11:27]
            (subscription_id,) = struct.unpack_from(">i", answer, 27)
            one.sendall(make_push(instance_id, subscription_id, b"metrics"))
            assert read_answer(answers)[9:11] == b"\0\0"
        assert read_address(kafka, settings) == ("10.0.0.7", "5000")


def read_answer(answers):
    (size,) = struct.unpack(">i", answers.read(4))
    return answers.read(size)


def read_address(kafka, settings):
    deadline = time.monotonic() + PATIENCE_S
    while not (records := read_topic(kafka, settings.topics.telemetry)):
        assert time.monotonic() < deadline
    headers = {name: value.decode() for name, value in records[0].headers()}
    return headers["client_source_address"], headers["client_source_port"]
