"""Share consumers of librdkafka, each with a group of its own."""

import time
import uuid

from confluent_kafka import ShareConsumer
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

PATIENCE_S = 180


def make_share_consumer(admin, **config):
    """Return a share consumer of a new group that reads from the beginning."""
    group = f"share-{uuid.uuid4()}"
    entry = ConfigEntry(
        "share.auto.offset.reset",
        "earliest",
        incremental_operation=AlterConfigOpType.SET,
    )
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=[entry])
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(PATIENCE_S)
    return ShareConsumer({**config, "group.id": group, "log_level": 2})


def read_shared(consumer, topic, count):
    """Return so many values of a topic, in the order in which they came."""
    consumer.subscribe([topic])
    values, deadline = [], time.monotonic() + PATIENCE_S
    while len(values) < count:
        assert time.monotonic() < deadline, f"{len(values)} of {count} records"
        values += [one.value() for one in consumer.poll(0.5) if not one.error()]
    consumer.close()
    return values
