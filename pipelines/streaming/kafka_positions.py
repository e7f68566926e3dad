"""First and last offsets of a topic, asked of Kafka before a query begins."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from pipelines.errors import MissingService

_PREFIX = "kafka."
_PACKAGES = ("org.apache.kafka", "kafkashaded.org.apache.kafka")
"""Of the Java client in Spark's Kafka source; Databricks has moved it to the second."""
_ANSWER_TIMEOUT_MS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicBounds:
    """What a topic holds at one moment."""

    beginning: Mapping[int, int]
    """Partition to the offset of its oldest record."""
    end: Mapping[int, int]
    """Partition to the offset that its next record will get."""


def read_topic_bounds(
    spark: SparkSession, options: Mapping[str, str], topic: str
) -> TopicBounds:
    """Ask Kafka for the bounds of every partition of a topic.

    Args:
        spark: The session whose Kafka source will read the topic.
        options: Connection options of that source, `kafka.` before each name.
        topic: Name of the topic.
    Raises: MissingService where Kafka does not answer or has no such topic.
    """
    servers = options[f"{_PREFIX}bootstrap.servers"]
    try:
        bounds = _ask(spark, options, topic)
    except Py4JJavaError as error:
        # A Java message may quote the connection's configuration: name the class only.
        name = error.java_exception.getClass().getSimpleName()
        raise MissingService(
            f"Kafka at {servers} does not answer ({name}): check "
            f"kafka.bootstrap_servers and the security keys of [kafka]"
        ) from None
    if not bounds.end:
        raise MissingService(
            f"Kafka at {servers} has no topic {topic}: start the bridge, which creates "
            f"it, or check topics.telemetry"
        )
    return bounds


def _ask(spark: SparkSession, options: Mapping[str, str], topic: str) -> TopicBounds:
    # pyspark has no other door to the JVM, and no question to Kafka of its own.
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
    package = next(one for one in _PACKAGES if _has_client(jvm, one))
    kafka = reduce(getattr, package.split("."), jvm)
    consumer = kafka.clients.consumer.KafkaConsumer(
        _consumer_properties(jvm, options, package)
    )
    try:
        partitions = jvm.java.util.ArrayList()
        for info in consumer.partitionsFor(topic) or ():
            partitions.add(kafka.common.TopicPartition(topic, info.partition()))
        return TopicBounds(
            beginning=_offsets(consumer.beginningOffsets(partitions)),
            end=_offsets(consumer.endOffsets(partitions)),
        )
    finally:
        consumer.close()


def _has_client(jvm: Any, package: str) -> bool:  # noqa: ANN401 - py4j has no types
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        jvm.java.lang.Class.forName(f"{package}.common.TopicPartition", False, loader)
    except Py4JJavaError:
        return False
    return True


def _consumer_properties(
    jvm: Any,  # noqa: ANN401 - py4j has no types
    options: Mapping[str, str],
    package: str,
) -> Any:  # noqa: ANN401 - a java.util.Properties
    deserializer = f"{package}.common.serialization.ByteArrayDeserializer"
    properties = jvm.java.util.Properties()
    for name, value in options.items():
        properties.setProperty(name.removeprefix(_PREFIX), value)
    properties.setProperty("key.deserializer", deserializer)
    properties.setProperty("value.deserializer", deserializer)
    properties.setProperty("allow.auto.create.topics", "false")
    properties.setProperty("default.api.timeout.ms", str(_ANSWER_TIMEOUT_MS))
    properties.setProperty("enable.metrics.push", "false")
    return properties


def _offsets(by_partition: Any) -> dict[int, int]:  # noqa: ANN401 - a java.util.Map
    return {
        entry.getKey().partition(): entry.getValue()
        for entry in by_partition.entrySet()
    }
