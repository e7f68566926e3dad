"""The topics that the bridge writes: found, or made, before anyone may push."""

import asyncio
import concurrent.futures
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from pipelines.errors import InvalidSetting, MissingService
from pipelines.kafka_logs import kafka_logger
from pipelines.settings.topic_settings import TopicSettings

logger = logging.getLogger(__name__)

ANSWER_TIMEOUT_S = 10.0
_PROGRESS_S = 3.0
_POLL_S = 0.5
Answer = TypeVar("Answer")
_TOPIC_IS_MISSING = KafkaError.UNKNOWN_TOPIC_OR_PART
_TOPIC_IS_THERE = KafkaError.TOPIC_ALREADY_EXISTS
_SILENCE = frozenset(
    {
        KafkaError._TIMED_OUT,  # noqa: SLF001 - its public name
        KafkaError._TRANSPORT,  # noqa: SLF001 - the same
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001 - the same
    }
)
_DEFAULT_REPLICATION = -1
_FOR_EVER_MS = 2**63 - 1
_REGISTRATION_LAG_MS = 300_000
_REGISTRATION_SEGMENT_MS = 600_000
"""The segment that is written to is never compacted. Some services allow no less."""
_TOMBSTONE_MS = 3_600_000
_FEED_RECORD_BYTES = 1_048_588
"""The default of brokers; a registration with its static configs takes some 20,000."""


async def ensure_topics(
    connection: Mapping[str, str],
    names: Sequence[str],
    topics: TopicSettings,
    *,
    bridge_id: str,
    max_record_bytes: int,
    timeout_s: float = ANSWER_TIMEOUT_S,
) -> list[str]:
    """Make those of the topics that are not there.

    Returns: Names of those that were made. A topic that is there stays as it is.
    Raises: MissingService when Kafka does not answer or does not allow it.
    """
    seen_errors: list[KafkaError] = []
    admin = _connect(connection, bridge_id, seen_errors)
    made = []
    for name in names:
        try:
            if await _count_partitions(admin, name, timeout_s) is not None:
                continue
            # The largest push must fit with its headers.
            config = {"max.message.bytes": str(max_record_bytes)}
            config.update(_retention(topics))
            await _create_topic(admin, name, topics, config, timeout_s)
        except KafkaException as error:
            admin.poll(0)  # Hands over what the connection has said meanwhile.
            raise _missing_service(
                connection["bootstrap.servers"], name, error, seen_errors
            ) from None
        logger.info("created topic %s", name)
        made.append(name)
    return made


async def ensure_feed_topic(
    connection: Mapping[str, str],
    name: str,
    topics: TopicSettings,
    *,
    bridge_id: str,
    timeout_s: float = ANSWER_TIMEOUT_S,
) -> None:
    """Make the topic of the cluster's feed where it is not there.

    Raises: as ensure_single_topic.
    """
    place = SingleTopic("topics.cluster", name, _retention(topics))
    await ensure_single_topic(
        connection, place, topics, bridge_id=bridge_id, timeout_s=timeout_s
    )


class SingleTopic(NamedTuple):
    """A topic whose order counts."""

    setting: str
    """That names it."""
    name: str
    config: Mapping[str, str]
    """Of a topic that is made."""


def plan_config_topic(topics: TopicSettings) -> SingleTopic:
    """Return the topic of dynamic client configs.

    It is compacted, and compaction leaves records alone for topics.retention_ms, so
    that jobs see every value.
    """
    lag_ms = _FOR_EVER_MS if topics.retention_ms < 0 else topics.retention_ms
    config = {"cleanup.policy": "compact", "min.compaction.lag.ms": str(lag_ms)}
    return SingleTopic("topics.client_configs", topics.client_configs, config)


def plan_registration_topic(topics: TopicSettings) -> SingleTopic:
    """Return the topic of the configs that clients register as supported.

    Clients choose how many names they register. Compaction removes replaced and
    forgotten registrations after minutes, and tombstones after an hour.
    """
    config = {
        "cleanup.policy": "compact",
        "min.compaction.lag.ms": str(_REGISTRATION_LAG_MS),
        "segment.ms": str(_REGISTRATION_SEGMENT_MS),
        "delete.retention.ms": str(_TOMBSTONE_MS),
    }
    name = topics.client_registrations
    return SingleTopic("topics.client_registrations", name, config)


async def ensure_single_topic(
    connection: Mapping[str, str],
    place: SingleTopic,
    topics: TopicSettings,
    *,
    bridge_id: str,
    timeout_s: float = ANSWER_TIMEOUT_S,
) -> None:
    """Make a topic of one partition where it is not there.

    Raises: MissingService when Kafka does not answer or does not allow it;
        InvalidSetting when it is there with more than one partition.
    """
    seen_errors: list[KafkaError] = []
    admin = _connect(connection, bridge_id, seen_errors)
    name = place.name
    try:
        partitions = await _count_partitions(admin, name, timeout_s)
        if partitions is None:
            config = {**place.config, "max.message.bytes": str(_FEED_RECORD_BYTES)}
            single = replace(topics, partitions=1)
            await _create_topic(admin, name, single, config, timeout_s)
            logger.info("created topic %s", name)
            # Another bridge may have been first.
            partitions = await _count_partitions(admin, name, timeout_s) or 1
    except KafkaException as error:
        admin.poll(0)
        raise _missing_service(
            connection["bootstrap.servers"], name, error, seen_errors
        ) from None
    if partitions > 1:
        raise InvalidSetting(
            f"{place.setting}: topic {name} has {partitions} partitions, and only the "
            f"order of one makes it true: name another topic, or remove this one"
        )


def _retention(topics: TopicSettings) -> dict[str, str]:
    return {"retention.ms": str(topics.retention_ms)}


def _connect(
    connection: Mapping[str, str], bridge_id: str, seen_errors: list[KafkaError]
) -> AdminClient:
    config: dict[str, Any] = {
        **connection,
        "client.id": bridge_id,
        "enable.metrics.push": False,
        "error_cb": seen_errors.append,
    }
    try:
        return AdminClient(config, logger=kafka_logger)
    except KafkaException as error:
        raise unusable_settings(error) from None


def unusable_settings(error: KafkaException) -> InvalidSetting:
    """Return what to say where librdkafka refuses its properties at once.

    Its own text names a property and a file or a number, never a password.
    """
    return InvalidSetting(f"[kafka] settings cannot be used: {error.args[0].str()}")


def _missing_service(
    servers: str, topic: str, error: KafkaException, seen_errors: list[KafkaError]
) -> MissingService:
    cause = error.args[0]
    # What the connection said last is nearer to the cause than a timeout is.
    names = dict.fromkeys([*(one.name() for one in seen_errors[-1:]), cause.name()])
    is_silent = cause.code() in _SILENCE
    fault = "does not answer" if is_silent else f"refuses topic {topic}"
    return MissingService(
        f"Kafka at {servers} {fault} ({', '.join(names)}): start that Kafka, or "
        f"correct the [kafka] settings and the bridge's permissions"
    )


async def _count_partitions(
    admin: AdminClient, topic: str, timeout_s: float
) -> int | None:
    """Return how many partitions a topic has; None where there is no such topic."""
    described = admin.describe_topics(
        TopicCollection([topic]), request_timeout=timeout_s
    )
    try:
        found = await _wait_for(admin, described[topic], topic)
    except KafkaException as error:
        if error.args[0].code() == _TOPIC_IS_MISSING:
            return None
        raise
    return len(found.partitions)


async def _wait_for(
    admin: AdminClient, asked: "concurrent.futures.Future[Answer]", topic: str
) -> Answer:
    """Return an answer of Kafka; log at once what librdkafka logs meanwhile."""
    loop = asyncio.get_running_loop()
    begin_s = told_s = loop.time()
    answer = asyncio.wrap_future(asked)
    while not (await asyncio.wait([answer], timeout=_POLL_S))[0]:
        admin.poll(0)
        if loop.time() >= told_s + _PROGRESS_S:
            told_s = loop.time()
            waited_s = told_s - begin_s
            logger.warning("Waiting for Kafka: topic=%s waited_s=%.0f", topic, waited_s)
    return answer.result()


async def _create_topic(
    admin: AdminClient,
    name: str,
    topics: TopicSettings,
    config: Mapping[str, str],
    timeout_s: float,
) -> None:
    new_topic = NewTopic(
        name,
        num_partitions=topics.partitions,
        replication_factor=topics.replication_factor or _DEFAULT_REPLICATION,
        config=dict(config),
    )
    created = admin.create_topics([new_topic], request_timeout=timeout_s)
    try:
        await _wait_for(admin, created[name], name)
    except KafkaException as error:
        if error.args[0].code() != _TOPIC_IS_THERE:
            raise
