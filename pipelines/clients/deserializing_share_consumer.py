"""confluent_kafka.deserializing_share_consumer, with the one that pushes."""

from .consumers import (
    DeserializingShareConsumer as DeserializingShareConsumer,  # noqa: PLC0414 - it is offered
)
