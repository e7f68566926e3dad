"""Records of the cluster's topic, written by a command that waits for all of them."""

import asyncio
from collections.abc import Callable, Iterable, Mapping

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from pipelines.errors import MissingService
from pipelines.kafka_logs import kafka_logger
from pipelines.kafka_wire.topics import ensure_feed_topic, unusable_settings
from pipelines.settings.topic_settings import TopicSettings

from .records import FeedRecord

CLIENT_ID = "kafka-clientele-import"
_DELIVERY_TIMEOUT_MS = 60_000
_POLL_S = 0.1
_PARTITION = 0

Report = Callable[[KafkaError | None, Message], None]


def write_cluster_records(
    connection: Mapping[str, str], topics: TopicSettings, records: Iterable[FeedRecord]
) -> int:
    """Write records in order; all are acknowledged when this returns.

    Args:
        connection: librdkafka's properties of [kafka]; the values hold secrets.
        records: Taken one by one, as Kafka takes them.
    Returns: How many.
    Raises: MissingService where Kafka does not take one of them; those before it may
        stand there. InvalidSetting where the topic has more than one partition.
    """
    topic = topics.cluster
    asyncio.run(ensure_feed_topic(connection, topic, topics, bridge_id=CLIENT_ID))
    refusals: list[KafkaError] = []

    def report(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            refusals.append(error)

    try:
        producer = Producer(_producer_config(connection), logger=kafka_logger)
    except KafkaException as error:
        raise unusable_settings(error) from None
    count = 0
    try:
        for one in records:
            _produce(producer, topic, one, report)
            count += 1
            _check(refusals, topic)
        producer.flush()
        _check(refusals, topic)
    finally:
        producer.purge()
        producer.flush(_POLL_S)
    return count


def _producer_config(connection: Mapping[str, str]) -> dict[str, str | int | bool]:
    return {
        **connection,
        "client.id": CLIENT_ID,
        "acks": "all",
        "enable.idempotence": True,
        "enable.metrics.push": False,
        "linger.ms": 5,
        "delivery.timeout.ms": _DELIVERY_TIMEOUT_MS,
    }


def _produce(
    producer: Producer,
    topic: str,
    record: FeedRecord,
    report: Report,
) -> None:
    while True:
        try:
            producer.produce(
                topic,
                record.value,
                record.key,
                partition=_PARTITION,
                headers=list(record.headers),
                on_delivery=report,
            )
        except BufferError:
            producer.poll(_POLL_S)
        except KafkaException as error:
            raise _refused(topic, error.args[0]) from None
        else:
            producer.poll(0)
            return


def _check(refusals: list[KafkaError], topic: str) -> None:
    if refusals:
        raise _refused(topic, refusals[0])


def _refused(topic: str, error: KafkaError) -> MissingService:
    return MissingService(
        f"Kafka does not take records of topic {topic} ({error.name()})"
    )
