"""What of topics is still to be read: offsets, and since when the oldest record waits.

Nothing is committed and no group is joined: records are assigned and looked at.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicPartition,
)

# Documented there, and not in its __all__.
from confluent_kafka import admin as kafka_admin
from confluent_kafka.admin import AdminClient

from .site import TopicLook

GROUP = "spark-kafka-source-status"
"""Begins as the groups of the jobs do, for which there are rights; never joined."""
_QUIET: Mapping[str, Any] = {
    # What fails is raised, or told by the site's own lines.
    "log_level": 0,
    "error_cb": lambda _error: None,
    "client.id": "kafka-clientele-status",
}
_SMALL: Mapping[str, Any] = {
    "group.id": GROUP,
    "enable.auto.commit": False,
    # An aborted transaction's records are nobody's, and its end is the topic's.
    "isolation.level": "read_committed",
    "queued.min.messages": 1,
    "fetch.wait.max.ms": 100,
    "fetch.message.max.bytes": 65_536,
    # Behind the last record there may be marks of transactions, which nobody reads.
    "enable.partition.eof": True,
}
_OFFSETS: Any = kafka_admin.OffsetSpec  # type: ignore[attr-defined]
"""Documented there, but not in its __all__, and without annotations."""
_EARLIEST, _LATEST = _OFFSETS.earliest(), _OFFSETS.latest()
_LEAST_S = 0.1
"""What is left for a step, however long the ones before it took."""
_Bounds = Mapping[TopicPartition, int]


class KafkaIsSilent(Exception):
    """Raised when Kafka does not answer in time, or refuses; the text says how."""


def look_at_topics(
    config: Mapping[str, str],
    positions: Mapping[str, Mapping[int, int]],
    *,
    timeout_s: float,
) -> dict[str, TopicLook]:
    """Look how much of each topic is behind a position in it.

    Args:
        config: Of librdkafka; it holds secrets.
        positions: Topic to partition to the first offset that is to be read.
        timeout_s: For all of it.
    Raises: KafkaIsSilent.
    """
    until = time.monotonic() + timeout_s

    def left_s() -> float:
        return max(_LEAST_S, until - time.monotonic())

    try:
        admin = AdminClient({**config, **_QUIET})
        known = admin.list_topics(timeout=left_s()).topics
        there = [
            TopicPartition(topic, number)
            for topic in positions
            if topic in known
            for number in known[topic].partitions
        ]
        first = _ask_offsets(admin, there, _EARLIEST, left_s())
        end = _ask_offsets(admin, there, _LATEST, left_s())
        begin = {
            one: max(first[one], positions[one.topic].get(one.partition, first[one]))
            for one in there
        }
        unread = [one for one in there if begin[one] < end[one]]
        waiting = _read_times(config, unread, begin, left_s())
        end |= {one: begin[one] for one, time_ms in waiting.items() if time_ms is None}
    except KafkaException as error:
        raise KafkaIsSilent(error.args[0].name()) from None
    except TimeoutError:
        raise KafkaIsSilent("_TIMED_OUT") from None
    return {
        topic: _summarize(
            [one for one in there if one.topic == topic],
            positions[topic],
            first=first,
            end=end,
            waiting=waiting,
        )
        for topic in positions
    }


def _summarize(
    partitions: Iterable[TopicPartition],
    position: Mapping[int, int],
    *,
    first: _Bounds,
    end: _Bounds,
    waiting: Mapping[TopicPartition, int | None],
) -> TopicLook:
    """Add up the partitions of one topic; none: there is no such topic."""
    listed = list(partitions)
    starts = {one: position.get(one.partition, first[one]) for one in listed}
    times = [at for one in listed if (at := waiting.get(one)) is not None]
    return TopicLook(
        has_topic=bool(listed),
        unread=sum(max(0, end[one] - max(starts[one], first[one])) for one in listed),
        waiting_since_ms=min(times, default=None),
        lost=sum(max(0, first[one] - starts[one]) for one in listed),
        is_made_anew=any(end[one] < starts[one] for one in listed)
        or bool(listed and position.keys() - {one.partition for one in listed}),
    )


def _ask_offsets(
    admin: AdminClient,
    partitions: list[TopicPartition],
    spec: Any,  # noqa: ANN401 - an OffsetSpec, which has no annotations
    timeout_s: float,
) -> dict[TopicPartition, int]:
    if not partitions:
        return {}
    asked = admin.list_offsets(
        dict.fromkeys(partitions, spec),
        isolation_level=IsolationLevel.READ_COMMITTED,
        request_timeout=timeout_s,
    )
    return {one: answer.result(timeout_s).offset for one, answer in asked.items()}


def _read_times(
    config: Mapping[str, str],
    partitions: list[TopicPartition],
    begin: Mapping[TopicPartition, int],
    timeout_s: float,
) -> dict[TopicPartition, int | None]:
    """Return when the next record of each partition was written, as far as known.

    Nulls: None where there is no record any more.
    """
    if not partitions:
        return {}
    consumer = Consumer({**config, **_QUIET, **_SMALL})
    found: dict[TopicPartition, int | None] = {}
    try:
        consumer.assign(
            [TopicPartition(p.topic, p.partition, begin[p]) for p in partitions]
        )
        until = time.monotonic() + timeout_s
        while len(found) < len(partitions) and time.monotonic() < until:
            record = consumer.poll(max(0.0, until - time.monotonic()))
            if record is None:
                continue
            place = TopicPartition(str(record.topic()), int(record.partition() or 0))
            error = record.error()
            if error is None:
                # Of several records that came at once the first one is the oldest.
                found.setdefault(place, record.timestamp()[1])
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its name in the documents
                found.setdefault(place, None)
            else:
                raise KafkaException(error)
            consumer.pause([place])
    finally:
        consumer.close()
    return found
