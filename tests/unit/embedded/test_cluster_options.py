import pytest

from pipelines.embedded import EmbeddedKafka
from pipelines.embedded.cluster_options import ClusterOptions
from pipelines.embedded.storage import new_kafka_uuid, scram_credential
from pipelines.errors import EmbeddedKafkaError

USERS = {"alice": "hunter2hunter2"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"brokers": 0}, "there must be 1 broker or more, not 0"),
        ({"port": -1}, "from 0 to 65535, not -1"),
        ({"port": 65_535, "brokers": 2}, "must be from 0 to 65534, not 65535"),
        ({"security_protocol": "SSL"}, "security_protocol=SSL"),
        ({"security_protocol": "SASL_SSL"}, "needs users"),
        ({"users": USERS}, "PLAINTEXT has none"),
        ({"security_protocol": "SASL_SSL", "users": {"a,b": "p"}}, "'a,b'"),
        ({"security_protocol": "SASL_SSL", "users": {"a": ""}}, "not empty"),
    ],
)
def test_an_argument_that_cannot_be_used_is_named(options, said):
    with pytest.raises(EmbeddedKafkaError, match=said):
        EmbeddedKafka(**options)


def test_options_print_no_password():
    options = ClusterOptions(security_protocol="SASL_SSL", users=USERS)
    assert "hunter2" not in repr(options)


def test_a_scram_credential_does_not_hold_the_password():
    credential = scram_credential("alice", "hunter2hunter2", b"salt")
    assert credential == (
        'SCRAM-SHA-512=[name=alice,iterations=4096,salt="c2FsdA==",saltedpassword='
        '"U8bzmDG31rsFXn5L8ggPTRBG4PpCMjmz0m7ft42AYT8/dsYrzEAdhuLqg1uUeEGAiRPYI+Fe0Y8l'
        'U5Yk8wQMUw=="]'
    )  # `openssl kdf … PBKDF2` gives the same


def test_a_kafka_uuid_is_22_characters_and_begins_with_no_dash():
    ids = [new_kafka_uuid() for _ in range(500)]
    assert {len(one) for one in ids} == {22}
    assert not any(one.startswith("-") for one in ids)
