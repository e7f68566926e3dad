"""confluent_kafka.serialization by the name that an application imports."""

from confluent_kafka.serialization import *  # noqa: F403 - it is the same
