"""A real Apache Kafka, started from its jars, for the demo and for tests."""

from .cluster import EmbeddedKafka as EmbeddedKafka
from .command import run_kafka as run_kafka
