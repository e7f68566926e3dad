# Strategy: a table. The proxy writes these keys, the job types them, the view compares
# them with what clients push; so that the three agree, they stand here once.
"""The configs of clients that their requests show, in the Java client's names.

Source: Kafka's protocol guide; ProducerConfig, ConsumerConfig; librdkafka,
CONFIGURATION.md, for the other names; ConsumerCoordinator.java, rdkafka_request.c and
kafka-python, coordinator/base.py, for the rebalance timeout.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WireKey:
    """What is known of one key."""

    config_type: str
    """Name of ConfigDef.Type."""
    other_names: tuple[str, ...] = ()
    """What librdkafka calls it, beside the same name."""
    is_exact: bool = True
    """Whether a request shows the value itself; else only that it is so large."""
    inexact_values: tuple[str, ...] = ()
    """Those that a request may show of a client that is configured with another one."""
    exact_software: tuple[str, ...] | None = None
    """Names of client software that sends the config itself; None for all software."""


REBALANCE_TIMEOUT = "max.poll.interval.ms"
"""The key that some software sends as the rebalance timeout of JoinGroup."""
REBALANCE_TIMEOUT_SOFTWARE = (
    "apache-kafka-java",
    "confluent-kafka-dotnet",
    "confluent-kafka-go",
    "confluent-kafka-javascript",
    "confluent-kafka-python",
    "kafka-python",
    "librdkafka",
    "rust-rdkafka",
)
"""Software that does so. Others (aiokafka, franz-go, sarama, kafkajs) have a config of
their own for the rebalance timeout."""
_STRING, _INT = WireKey(config_type="STRING"), WireKey(config_type="INT")
WIRE_KEYS: Mapping[str, WireKey] = {
    "acks": WireKey(config_type="STRING", other_names=("request.required.acks",)),
    "batch.size": WireKey(config_type="INT", is_exact=False),
    "client.rack": _STRING,
    # A batch that would not become smaller goes uncompressed, whatever the codec.
    "compression.type": WireKey(
        config_type="STRING",
        other_names=("compression.codec",),
        inexact_values=("none",),
    ),
    "enable.idempotence": WireKey(config_type="BOOLEAN"),
    "fetch.max.bytes": _INT,
    "fetch.max.wait.ms": WireKey(config_type="INT", other_names=("fetch.wait.max.ms",)),
    "fetch.min.bytes": _INT,
    "group.id": _STRING,
    "group.instance.id": _STRING,
    "group.protocol": _STRING,
    "group.remote.assignor": _STRING,
    "isolation.level": _STRING,
    "max.partition.fetch.bytes": WireKey(
        config_type="INT", other_names=("fetch.message.max.bytes",)
    ),
    REBALANCE_TIMEOUT: WireKey(
        config_type="INT", exact_software=REBALANCE_TIMEOUT_SOFTWARE
    ),
    "partition.assignment.strategy": WireKey(config_type="LIST"),
    "request.timeout.ms": _INT,
    "session.timeout.ms": _INT,
    "transaction.timeout.ms": _INT,
    "transactional.id": _STRING,
}
"""Key to what is known of it."""


def is_exact_value(key: str, value: str | None, software_name: str | None) -> bool:
    """Return whether a value that was seen is the configured one.

    Args:
        key: In the Java client's names; of one that is not known, any value is.
        value: As the request shows it; None if it is redacted.
        software_name: Of the client, as it names itself; None for none.
    """
    known = WIRE_KEYS.get(key)
    if known is None:
        return True
    is_theirs = known.exact_software is None or software_name in known.exact_software
    return known.is_exact and is_theirs and value not in known.inexact_values
