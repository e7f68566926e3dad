"""The library's own login, TLS and Metadata against a real Apache Kafka."""

import pytest

from pipelines.clients.configs_in_force import LibrdkafkaConfigs
from pipelines.clients.instance_ids import make_instance_id
from pipelines.clients.kafka_client.blocking_link import Deadline, open_link
from pipelines.clients.kafka_client.faults import LoginRefused
from pipelines.clients.kafka_client.properties import make_access
from pipelines.clients.kafka_client.session import ask_versions, list_nodes, log_in
from pipelines.clients.key_lists import PRODUCER
from pipelines.clients.own_configs import DEFAULT_API_KEY
from pipelines.clients.push_messages import NamedSoftware, name_instance
from pipelines.embedded import EmbeddedKafka

PATIENCE_S = 180
USERS = {
    "alice": 'hunter2, the [quoted] "secret"',
    "bob": "pässwörd-of-bob",
    "eve": "p²ﬁ",
}


@pytest.fixture(scope="module")
def secured(java):
    with EmbeddedKafka(java=java, security_protocol="SASL_SSL", users=USERS) as cluster:
        yield cluster


@pytest.fixture
def connect():
    """Connect and log in; return what holds conversations, what is served and who asks."""
    opened = []

    def make(cluster, **more):
        conf = {
            "bootstrap.servers": cluster.bootstrap_servers,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "ssl.ca.location": str(cluster.ca_path),
        } | {name.replace("_", "."): value for name, value in more.items()}
        access = make_access(LibrdkafkaConfigs(PRODUCER, conf, {}).find, conf)
        software = NamedSoftware(
            client_id="a", name="n", version="1", client_instance_id=make_instance_id()
        )
        deadline = Deadline(PATIENCE_S)
        one = open_link(access.servers[0], access.tls, "a", deadline)
        opened.append(one)
        served = one.hold(ask_versions(software), deadline)
        assert DEFAULT_API_KEY not in served
        one.hold(log_in(access.login, served), deadline)
        return lambda conversation: one.hold(conversation, deadline), served, software

    yield make
    for one in opened:
        one.close()


@pytest.mark.parametrize("name", USERS)
def test_a_user_logs_in_and_is_told_the_nodes(secured, connect, name):
    hold, served, software = connect(
        secured, sasl_username=name, sasl_password=USERS[name]
    )
    hold(name_instance(software, served))
    (node,) = hold(list_nodes())
    assert f"{node.host}:{node.port}" == secured.bootstrap_servers


def test_a_wrong_password_is_refused_with_the_brokers_words(secured, connect):
    told = "SaslAuthenticate is answered with sasl_authentication_failed"
    with pytest.raises(LoginRefused, match=f"^{told}$") as caught:
        connect(secured, sasl_username="alice", sasl_password="wrong")
    words = "Authentication failed during authentication due to invalid credentials"
    assert caught.value.said.startswith(words)


def test_a_mechanism_that_the_broker_lacks_is_named(secured, connect):
    with pytest.raises(LoginRefused, match="does not take PLAIN") as caught:
        connect(secured, sasl_mechanism="PLAIN", sasl_username="a", sasl_password="b")
    assert caught.value.said.startswith("it has SCRAM-SHA-512")


def test_a_broker_that_is_not_trusted_hears_no_password(secured, connect, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(LoginRefused, match=r"^TLS: CERTIFICATE_VERIFY_FAILED"):
        connect(
            secured,
            ssl_ca_location=str(tmp_path / "empty"),
            sasl_username="alice",
            sasl_password=USERS["alice"],
        )
