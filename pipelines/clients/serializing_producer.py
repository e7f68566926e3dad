"""confluent_kafka.serializing_producer, with the one that pushes."""

from .producers import SerializingProducer as SerializingProducer  # noqa: PLC0414 - it is offered
