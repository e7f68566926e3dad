"""Kafka's own Java clients, in a JVM of their own, told what to do by py4j.

The jars are those that the embedded brokers run on; nothing is compiled.
"""

import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from pipelines.embedded.installation import JARS_PATH
from pipelines.embedded.java_commands import list_jars

_CLIENTS = "org.apache.kafka.clients"
_STRINGS = "org.apache.kafka.common.serialization"
# The least start time and memory; some clients of small records need no more.
_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx192m")
_PATIENCE_S = 60
"""For the JVM's end."""


class JavaClients:
    """A JVM with clients in it; it ends with this process, however that ends."""

    def __init__(self, java: str, jars_path: Path = JARS_PATH) -> None:
        """Start the JVM.

        Raises: EmbeddedKafkaError where there are no jars of Kafka.
        """
        jars = ":".join(map(str, list_jars(jars_path)))
        port, token, self._process = launch_gateway(
            classpath=jars,
            javaopts=list(_JVM),
            die_on_exit=True,
            java_path=java,
            enable_auth=True,
            return_proc=True,
        )
        self._parameters = GatewayParameters(port=port, auth_token=token)
        self._of_thread = threading.local()

    @property
    def _java(self) -> JavaGateway:
        """The way to the JVM; each thread has one, since they do not share well."""
        found = getattr(self._of_thread, "gateway", None)
        if found is None:
            found = JavaGateway(gateway_parameters=self._parameters)
            self._of_thread.gateway = found
        return found

    def close(self) -> None:
        """End the JVM and what runs in it."""
        self._java.shutdown()
        self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def make_producer(self, configs: Mapping[str, str]) -> Any:  # noqa: ANN401 - Java's
        """Return a KafkaProducer of texts."""
        serializer = f"{_STRINGS}.StringSerializer"
        own = {"key.serializer": serializer, "value.serializer": serializer}
        return self._find(f"{_CLIENTS}.producer.KafkaProducer")(
            self._properties({**own, **configs})
        )

    def send(self, producer: Any, topic: str, key: str, value: str) -> None:  # noqa: ANN401 - Java's
        """Hand a record to a producer."""
        record = self._find(f"{_CLIENTS}.producer.ProducerRecord")
        producer.send(record(topic, key, value))

    def make_consumer(self, configs: Mapping[str, str], topic: str) -> Any:  # noqa: ANN401 - Java's
        """Return a KafkaConsumer of texts that is subscribed to a topic."""
        deserializer = f"{_STRINGS}.StringDeserializer"
        own = {"key.deserializer": deserializer, "value.deserializer": deserializer}
        consumer = self._find(f"{_CLIENTS}.consumer.KafkaConsumer")(
            self._properties({**own, **configs})
        )
        topics = self._java.jvm.java.util.ArrayList()
        topics.add(topic)
        consumer.subscribe(topics)
        return consumer

    def poll(self, consumer: Any, wait_ms: int) -> None:  # noqa: ANN401 - Java's
        """Take what a consumer is given within a time."""
        consumer.poll(self._duration(wait_ms))

    def read_instance_id(self, client: Any, wait_ms: int) -> str | None:  # noqa: ANN401 - Java's
        """Return the client instance id that the cluster has given a client.

        Nulls: None where it has not within the time; a consumer asks in its polls.
        """
        found = client.clientInstanceId(self._duration(wait_ms))
        return None if found is None else str(found.toString())

    def _find(self, name: str) -> Any:  # noqa: ANN401 - Java's
        found = self._java.jvm
        for part in name.split("."):
            found = getattr(found, part)
        return found

    def _duration(self, milliseconds: int) -> Any:  # noqa: ANN401 - Java's
        return self._java.jvm.java.time.Duration.ofMillis(milliseconds)

    def _properties(self, configs: Mapping[str, str]) -> Any:  # noqa: ANN401 - Java's
        properties = self._java.jvm.java.util.Properties()
        for name, value in configs.items():
            properties.setProperty(name, value)
        return properties
