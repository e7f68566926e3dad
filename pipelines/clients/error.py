"""confluent_kafka.error by the name that an application imports."""

from confluent_kafka.error import *  # noqa: F403 - it is the same
