import pytest

from pipelines.embedded.server_properties import (
    BrokerPorts,
    Keystore,
    server_properties,
    to_properties_text,
)

CLUSTER = [
    BrokerPorts(broker_id=number, client=number, controller=number, internal=number)
    for number in (1, 2, 3)
]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "key=plain\n"),
        ("a\\b", "key=a\\\\b\n"),
        ("é", "key=\\u00e9\n"),
        ("𝄞", "key=\\ud834\\udd1e\n"),
        ("a\nb", "key=a\\u000ab\n"),
    ],
    ids=["ascii", "backslash", "latin", "two units", "newline"],
)
def test_a_value_is_escaped_as_java_reads_it(value, text):
    assert to_properties_text({"key": value}) == text


def test_every_broker_votes():
    properties = server_properties(CLUSTER[1], CLUSTER, None)
    assert properties["node.id"] == "2"
    assert properties["controller.quorum.voters"] == (
        "1@127.0.0.1:1,2@127.0.0.1:2,3@127.0.0.1:3"
    )


@pytest.mark.parametrize(
    ("count", "factor", "in_sync"), [(1, "1", "1"), (2, "2", "1"), (3, "3", "2")]
)
def test_internal_topics_are_on_as_many_brokers_as_there_are(count, factor, in_sync):
    properties = server_properties(CLUSTER[0], CLUSTER[:count], None)
    assert properties["offsets.topic.replication.factor"] == factor
    assert properties["transaction.state.log.replication.factor"] == factor
    assert properties["transaction.state.log.min.isr"] == in_sync


def test_a_keystore_makes_the_clients_listener_sasl_ssl():
    keystore = Keystore(keystore_path="keystore.p12", password="p")
    properties = server_properties(CLUSTER[0], CLUSTER[:1], keystore)
    assert properties["listeners"].startswith("SASL_SSL://127.0.0.1:1,")
    assert "SASL_SSL:SASL_SSL" in properties["listener.security.protocol.map"]


def test_without_a_keystore_nothing_is_said_of_tls():
    properties = server_properties(CLUSTER[0], CLUSTER[:1], None)
    assert [name for name in properties if "ssl" in name or "sasl" in name] == []
