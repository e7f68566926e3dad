"""confluent_kafka.deserializing_consumer, with the one that pushes."""

from .consumers import (
    DeserializingConsumer as DeserializingConsumer,  # noqa: PLC0414 - it is offered
)
