"""The bridge and a real cluster's CLIENT_METRICS resources, by Kafka's own commands."""

import asyncio
import logging
import time
import uuid

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from kio.schema.incremental_alter_configs.v1.request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kio.schema.incremental_alter_configs.v1.response import (
    IncrementalAlterConfigsResponse,
)

from pipelines.embedded import EmbeddedKafka
from pipelines.kafka_wire.access import read_access
from pipelines.kafka_wire.client import ClusterClient
from tests.support.bridge.bridge_support import make_settings, running_bridge
from tests.support.kafka.kafka_commands import configure

PATIENCE_S = 180
SET, DELETE, APPEND, SUBTRACT = range(4)
CLIENT_METRICS = 16


@pytest.fixture(scope="module")
def bridge(kafka):
    """A bridge whose admins are the clients that do not log in."""
    settings = make_settings(kafka, "bridge.admin_principals=['User:ANONYMOUS']")
    with running_bridge(settings) as (_, endpoint):
        yield endpoint, settings.topics.telemetry


class PushReader:
    """The newest push interval that stands in a topic beside a client's pushes."""

    def __init__(self, kafka, topic):
        self._consumer = Consumer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "group.id": "reader",
                "enable.metrics.push": False,
            }
        )
        self._consumer.assign([TopicPartition(topic, 0, 0)])

    def wait_for(self, interval_ms, producer):
        """Keep the producer alive until a push at this interval has come."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            producer.poll(0.02)
            record = self._consumer.poll(0.02)
            if record is not None:
                headers = dict(record.headers())
                if headers["push_interval_ms"] == str(interval_ms).encode():
                    return
        pytest.fail(f"no push at {interval_ms} ms")

    def close(self):
        self._consumer.close()


def test_change_by_kafkas_own_command_reaches_a_real_client(
    java, kafka, bridge, wait_until, caplog
):
    caplog.set_level(logging.INFO)
    endpoint, topic = bridge
    name = f"s-{uuid.uuid4()}"
    named = ("--entity-name", name)
    code, output = configure(
        java, endpoint, "--alter", *named, "--add-config",
        "metrics=org.apache.kafka.producer.,interval.ms=400,"
        "match=[client_id=changed-.*,client_software_name=.*python]",
    )  # fmt: skip
    assert (code, f"Completed updating config for client-metric {name}" in output) == (
        0,
        True,
    )
    wait_until(
        lambda: f"subscription '{name}' of the cluster is in force" in caplog.text
    )
    code, output = configure(java, endpoint, "--describe", *named)
    assert code == 0
    assert "interval.ms=400" in output
    assert "match=client_id=changed-.*,client_software_name=.*python" in output
    reader = PushReader(kafka, topic)
    quiet = logging.getLogger("test.clients")
    quiet.setLevel(logging.CRITICAL)
    producer = Producer(
        {"bootstrap.servers": endpoint, "client.id": "changed-1"}, logger=quiet
    )
    reader.wait_for(400, producer)
    assert configure(
        java, kafka.bootstrap_servers, "--alter", *named, "--add-config",
        "interval.ms=600",
    )[0] == 0  # fmt: skip
    reader.wait_for(600, producer)
    reader.close()
    code, _ = configure(
        java,
        endpoint,
        "--alter",
        *named,
        "--delete-config",
        "metrics,interval.ms,match",
    )
    assert code == 0
    wait_until(lambda: name not in configure(java, endpoint, "--describe")[1])


def test_others_change_nothing_and_see_nothing(java, kafka):
    name = f"s-{uuid.uuid4()}"
    settings = make_settings(kafka, "bridge.admin_principals=['User:admin']")
    with running_bridge(settings) as (_, endpoint):
        add = ("--alter", "--entity-name", name, "--add-config", "metrics=a.")
        for words in (add, ("--describe",), ("--describe", "--entity-name", name)):
            code, output = configure(java, endpoint, *words)
            assert code == 1
            assert "ClusterAuthorizationException" in output
    assert name not in configure(java, kafka.bootstrap_servers, "--describe")[1]


def change(name, key, value, operation=SET):
    return IncrementalAlterConfigsRequest(
        resources=(
            AlterConfigsResource(
                resource_type=CLIENT_METRICS,
                resource_name=name,
                configs=(
                    AlterableConfig(name=key, config_operation=operation, value=value),
                ),
            ),
        ),
        validate_only=True,
    )


# SUB-1 to SUB-9, and what a broker says of the other operations.
CHANGES = [
    change("", "metrics", "a"),
    change("s", "random", "1"),
    *(
        change("s", "interval.ms", value)
        for value in (
            "99", "100", "3600000", "3600001", "abc", "", "1.5", " +250 ", "3000000000",
        )
    ),
    *(
        change("s", "match", value)
        for value in (
            "10", "client_id", "client_id=", "client_id= ", "client_id=a=b", "=a",
            "Client_Id=a", "principal=x", "client_id=[a", "client_id=a{1,2}",
            "client_id=a=", " client_id = a.* ", "client_id=a,client_id=b", "",
        )
    ),
    *(
        change("s", "metrics", value)
        for value in (" a. , b.\t,c. ", "a.,*", "a.*", "a,,b", "", "a,a", "*", None)
    ),
    change("s", "metrics", "a", APPEND),
    change("s", "match", "client_id=a", SUBTRACT),
    change("s", "random", None, DELETE),
]  # fmt: skip
# A broker 4.3 speaks of empty items before it looks at the others.
OTHER_TEXT = [change("s", "match", "a,"), change("s", "match", "client_id=a,")]


@pytest.fixture(scope="module")
def judged(kafka, bridge):
    """What a broker and the bridge answer to each change."""

    async def ask_all(servers):
        access = read_access(
            {"bootstrap.servers": servers, "security.protocol": "PLAINTEXT"}
        )
        client = ClusterClient(access, client_id="test")
        answers = [
            await client.ask(one, IncrementalAlterConfigsResponse)
            for one in [*CHANGES, *OTHER_TEXT]
        ]
        await client.close()
        return [
            (one.responses[0].error_code, one.responses[0].error_message)
            for one in answers
        ]

    by_broker = asyncio.run(ask_all(kafka.bootstrap_servers))
    by_bridge = asyncio.run(ask_all(bridge[0]))
    return list(zip(by_broker, by_bridge, strict=True))


def test_bridge_judges_changes_with_the_codes_and_texts_of_a_broker(judged):
    codes = {by_broker[0].value for by_broker, _ in judged}
    assert codes == {0, 40, 42}
    for by_broker, by_bridge in judged[: len(CHANGES)]:
        assert by_bridge == by_broker
    for by_broker, by_bridge in judged[len(CHANGES) :]:
        assert by_bridge[0] is by_broker[0]


def test_bridge_follows_a_secured_cluster(java):
    password = 'hunter2, the [quoted] "secret" \\ slash'
    with EmbeddedKafka(
        java=java, security_protocol="SASL_SSL", users={"clientele": password}
    ) as secured:
        settings = make_settings(
            secured,
            "kafka.security_protocol=SASL_SSL",
            "kafka.sasl_mechanism=SCRAM-SHA-512",
            "kafka.sasl_username=clientele",
            "kafka.sasl_password=env:PASSWORD",
            f"kafka.ssl_ca_location={secured.ca_path}",
            "bridge.subscriptions_source=cluster",
            "bridge.admin_principals=['User:ANONYMOUS']",
        )
        with running_bridge(settings, PASSWORD=password) as (_, endpoint):
            add = ("--alter", "--entity-name", "s", "--add-config", "metrics=a.")
            assert configure(java, endpoint, *add)[0] == 0
            assert "metrics=a." in configure(java, endpoint, "--describe")[1]
