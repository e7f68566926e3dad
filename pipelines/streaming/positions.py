"""First and last offsets of a topic, asked of Kafka before a query begins.

What else is said to the JVM about its clients of Kafka stands here, too.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from pipelines.delta_tables.java_classes import find_class
from pipelines.errors import MissingService, MissingTopic
from pipelines.settings.kafka import ALLOWED_ENDPOINTS_PROPERTY, JAVA_PACKAGE

from .refusals import explain_refusal, iter_java_causes

_PREFIX = "kafka."
_SERVERS = f"{_PREFIX}bootstrap.servers"
_PACKAGES = (JAVA_PACKAGE, f"kafkashaded.{JAVA_PACKAGE}")
"""Of the Java client in Spark's Kafka source; Databricks has moved it to the second."""
_COLLECTIONS = "java.util.Collections"
_OWN_CONFIG = "DYNAMIC_TOPIC_CONFIG"
_ANSWER_TIMEOUT_MS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicBounds:
    """What a topic holds at one moment."""

    beginning: Mapping[int, int]
    """Partition to the offset of its oldest record."""
    end: Mapping[int, int]
    """Partition to the offset that its next record will get."""
    topic_id: str | None = None
    """What tells it from other topics of its name; null before Kafka 2.8."""


def read_topic_bounds(
    spark: SparkSession,
    options: Mapping[str, str],
    topic: str,
    *,
    topic_setting: str = "topics.telemetry",
) -> TopicBounds:
    """Ask Kafka for the bounds of every partition of a topic.

    Args:
        spark: The session whose Kafka source will read the topic.
        options: Connection options of that source, `kafka.` before each name.
        topic: Name of the topic.
        topic_setting: Where that name comes from.
    Raises: MissingService where Kafka does not answer, or refuses; MissingTopic.
    """
    with _telling_why(options, topic):
        bounds = _ask(spark, options, topic)
    if not bounds.end:
        raise MissingTopic(
            f"Kafka at {options[_SERVERS]} has no topic {topic}. A bridge creates it "
            f"if the feature that writes to it is on; otherwise check {topic_setting}"
        )
    return bounds


@contextmanager
def _telling_why(options: Mapping[str, str], topic: str) -> Iterator[None]:
    """Say in words why Kafka did not answer. Raises: MissingService."""
    try:
        yield
    except Py4JJavaError as error:
        # A Java message may quote the connection's configuration: name classes only.
        names = [one.getClass().getSimpleName() for one in iter_java_causes(error)]
        why = explain_refusal(names, topic) or (
            f"does not answer ({names[-1]}): check kafka.bootstrap_servers and the "
            f"security keys of [kafka]"
        )
        raise MissingService(
            f"Kafka at {options[_SERVERS]} {why}; nothing was read, and the same "
            f"command goes on once it answers"
        ) from None


def _ask(spark: SparkSession, options: Mapping[str, str], topic: str) -> TopicBounds:
    jvm, kafka, properties = _open_client(spark, options)
    consumer = kafka("clients.consumer.KafkaConsumer")(properties)
    try:
        partitions = find_class(jvm, "java.util.ArrayList")()
        for info in consumer.partitionsFor(topic) or ():
            partitions.add(kafka("common.TopicPartition")(topic, info.partition()))
        # Before the offsets: what is made anew meanwhile is seen by the next look.
        with _open_admin(kafka, properties) as admin:
            topic_id = _ask_topic_id(jvm, kafka, admin, topic) if partitions else None
        return TopicBounds(
            beginning=_offsets(consumer.beginningOffsets(partitions)),
            end=_offsets(consumer.endOffsets(partitions)),
            topic_id=topic_id,
        )
    finally:
        consumer.close()


def read_topic_id(
    spark: SparkSession, options: Mapping[str, str], topic: str
) -> str | None:
    """Ask Kafka which topic has a name now.

    Args:
        spark: As read_topic_bounds takes it.
        options: As there.
        topic: Name of the topic.
    Nulls: None where there is no such topic, or where Kafka does not say its id or does
        not answer; who reads the records hears the same and can wait.
    """
    jvm, kafka, properties = _open_client(spark, options)
    try:
        with _open_admin(kafka, properties) as admin:
            return _ask_topic_id(jvm, kafka, admin, topic)
    except Py4JJavaError:
        return None


def list_own_configs(
    spark: SparkSession, options: Mapping[str, str], topic: str
) -> frozenset[str] | None:
    """Ask Kafka which configs a topic has of its own, beside the cluster's.

    Args:
        spark: As read_topic_bounds takes it.
        options: As there.
        topic: Name of the topic.
    Nulls: None where that may not be asked (DESCRIBE_CONFIGS).
    """
    entries = _ask_configs(spark, options, topic)
    if entries is None:
        return None
    own = [e for e in entries if str(e.source().toString()) == _OWN_CONFIG]
    return frozenset(str(entry.name()) for entry in own)


def read_topic_configs(
    spark: SparkSession, options: Mapping[str, str], topic: str
) -> dict[str, str] | None:
    """Ask Kafka which configs are in force for a topic.

    Args:
        spark: As read_topic_bounds takes it.
        options: As there.
        topic: Name of the topic.
    Nulls: None where that may not be asked (DESCRIBE_CONFIGS).
    """
    entries = _ask_configs(spark, options, topic)
    if entries is None:
        return None
    return {str(entry.name()): str(entry.value()) for entry in entries}


def _ask_configs(
    spark: SparkSession, options: Mapping[str, str], topic: str
) -> list[Any] | None:
    jvm, kafka, properties = _open_client(spark, options)
    kinds = kafka("common.config.ConfigResource$Type")
    resource = kafka("common.config.ConfigResource")(kinds.valueOf("TOPIC"), topic)
    asked = find_class(jvm, _COLLECTIONS).singletonList(resource)
    try:
        with _open_admin(kafka, properties) as admin:
            answer = admin.describeConfigs(asked).all().get().get(resource)
            return [*find_class(jvm, "java.util.ArrayList")(answer.entries())]
    except Py4JJavaError:
        return None


def find_client_package(spark: SparkSession) -> str:
    """Return where Spark's Kafka source has the classes of Kafka's Java client."""
    # pyspark has no other door to the JVM.
    return _find_package(spark.sparkContext._jvm)  # noqa: SLF001


def allow_token_endpoint(spark: SparkSession, url: str) -> None:
    """Let the Java clients of the driver ask it, unless an operator has said which."""
    # pyspark has no other door to the JVM.
    system: Any = spark.sparkContext._jvm.java.lang.System  # type: ignore[union-attr] # noqa: SLF001
    # A build that moves the classes may have moved the name of the property with them.
    for package in _PACKAGES:
        name = ALLOWED_ENDPOINTS_PROPERTY.replace(JAVA_PACKAGE, package)
        if system.getProperty(name) is None:
            system.setProperty(name, url)


def read_offsets_since(
    spark: SparkSession,
    options: Mapping[str, str],
    topic: str,
    bounds: TopicBounds,
    moment_ms: int,
) -> dict[int, int]:
    """Ask Kafka for the first record of each partition that is not older than a moment.

    Args:
        spark: As read_topic_bounds takes it.
        options: As there.
        topic: Name of the topic.
        bounds: What it holds; its end stands for a partition without such a record.
        moment_ms: Milliseconds since 1970, of the records' timestamps; from 1971 on,
            since py4j makes no Long of a smaller number.
    Raises: MissingService where Kafka does not answer, or refuses.
    """
    with _telling_why(options, topic):
        jvm, kafka, properties = _open_client(spark, options)
        consumer = kafka("clients.consumer.KafkaConsumer")(properties)
        try:
            asked = find_class(jvm, "java.util.HashMap")()
            for partition in bounds.end:
                place = kafka("common.TopicPartition")(topic, partition)
                asked.put(place, moment_ms)
            answers = consumer.offsetsForTimes(asked).entrySet()
            young = {a.getKey().partition(): a.getValue() for a in answers}
            found = {p: one.offset() for p, one in young.items() if one is not None}
            return dict(bounds.end) | found
        finally:
            consumer.close()


def _open_client(spark: SparkSession, options: Mapping[str, str]) -> tuple[Any, ...]:
    # pyspark has no other door to the JVM, and no question to Kafka of its own.
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
    package = find_client_package(spark)
    properties = _client_properties(jvm, options, package)
    return jvm, lambda name: find_class(jvm, f"{package}.{name}"), properties


@cache
def _find_package(jvm: Any) -> str:  # noqa: ANN401 - py4j has no types
    return next(one for one in _PACKAGES if _has_client(jvm, one))


@contextmanager
def _open_admin(kafka: Any, properties: Any) -> Iterator[Any]:  # noqa: ANN401 - py4j has no types
    admin = kafka("clients.admin.AdminClient").create(properties)
    try:
        yield admin
    finally:
        admin.close()


def _ask_topic_id(jvm: Any, kafka: Any, admin: Any, topic: str) -> str | None:  # noqa: ANN401 - py4j has no types
    names = find_class(jvm, _COLLECTIONS).singletonList(topic)
    described = admin.describeTopics(names).allTopicNames().get().get(topic)
    topic_id = described.topicId()
    return (
        None
        if topic_id.equals(kafka("common.Uuid").ZERO_UUID)
        else str(topic_id.toString())
    )


def _has_client(jvm: Any, package: str) -> bool:  # noqa: ANN401 - py4j has no types
    thread = find_class(jvm, "java.lang.Thread").currentThread()
    loader, name = thread.getContextClassLoader(), f"{package}.common.TopicPartition"
    try:
        find_class(jvm, "java.lang.Class").forName(name, False, loader)
    except Py4JJavaError:
        return False
    return True


def _client_properties(
    jvm: Any,  # noqa: ANN401 - py4j has no types
    options: Mapping[str, str],
    package: str,
) -> Any:  # noqa: ANN401 - a java.util.Properties
    deserializer = f"{package}.common.serialization.ByteArrayDeserializer"
    properties = find_class(jvm, "java.util.Properties")()
    for name, value in options.items():
        properties.setProperty(name.removeprefix(_PREFIX), value)
    properties.setProperty("key.deserializer", deserializer)
    properties.setProperty("value.deserializer", deserializer)
    properties.setProperty("allow.auto.create.topics", "false")
    properties.setProperty("default.api.timeout.ms", str(_ANSWER_TIMEOUT_MS))
    properties.setProperty("request.timeout.ms", str(_ANSWER_TIMEOUT_MS))
    properties.setProperty("enable.metrics.push", "false")
    return properties


def _offsets(by_partition: Any) -> dict[int, int]:  # noqa: ANN401 - a java.util.Map
    return {
        entry.getKey().partition(): entry.getValue()
        for entry in by_partition.entrySet()
    }
