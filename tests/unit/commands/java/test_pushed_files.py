"""What push-config sends, to a node that a test has written."""

import pytest

from pipelines.commands.java import pushed_files
from tests.unit.clients.scripted_node import SASL_AUTHENTICATE, ScriptedNode

LOGIN = """
bootstrap.servers={server}
security.protocol=SASL_PLAINTEXT
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
username=" alice " password=" pencil ";
"""


def push(path, client_type="producer"):
    said = []
    pushed_files.run(
        properties_path=str(path),
        client_type=client_type,
        connection_path=None,
        say=said.append,
        warn=said.append,
    )
    return said


def test_a_login_has_the_white_space_that_java_sends(tmp_path):
    path = tmp_path / "client.properties"
    with ScriptedNode() as node:
        path.write_text(LOGIN.format(server=node.server))
        push(path)
        (frame,) = [
            frame
            for api_key, frame in zip(node.seen, node.frames, strict=True)
            if api_key == SASL_AUTHENTICATE
        ]
    assert frame.endswith(b"\0 alice \0 pencil ")


CLIENT_IDS = [
    ("producer", "producer-1", ["set", "producer-1"]),
    ("consumer", "consumer-g-1", ["set", "consumer-g-1"]),
    ("share-consumer", "consumer-g-1", ["set", "consumer-g-1"]),
    ("admin", "adminclient-1", ["default"]),
]


@pytest.mark.parametrize(("client_type", "sent", "pushed"), CLIENT_IDS)
def test_a_client_without_an_id_has_that_of_a_java_client(
    tmp_path, client_type, sent, pushed
):
    """Which an admin client gives with its requests, and not in its configuration."""
    path = tmp_path / "client.properties"
    with ScriptedNode() as node:
        path.write_text(f"bootstrap.servers={node.server}\ngroup.id=g\n")
        (told,) = [one.split() for one in push(path, client_type) if "client.id" in one]
        assert node.client_ids == {sent}
    assert told == ["client.id", "STRING", *pushed]


def test_types_are_named_alike_however_they_are_counted(tmp_path):
    path = tmp_path / "client.properties"
    told = []
    for first in (0, 1):
        with ScriptedNode() as node:
            counted = f"config.push.first.config.type.id={first}\n"
            path.write_text(f"bootstrap.servers={node.server}\n{counted}acks=1\n")
            told.append([line for line in push(path) if "_id" not in line])
    assert told[0] == told[1]
    assert "  enable.idempotence                     BOOLEAN  set      false" in told[0]
