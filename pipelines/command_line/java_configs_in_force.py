"""What a Java client changes of its configuration by itself.

Source: Kafka 4.3.1, ProducerConfig.java, postProcessAndValidateIdempotenceConfigs;
ConsumerConfig.java, maybeOverrideEnableAutoCommit. What they refuse is not looked at.
"""

from collections.abc import Mapping

from pipelines.clients.key_lists import CONSUMER, PRODUCER

_IDEMPOTENCE, _AUTO_COMMIT = "enable.idempotence", "enable.auto.commit"
_ALL = ("all", "-1")


def derive(client_type: str, properties: Mapping[str, str]) -> dict[str, str]:
    """Return the keys that a Java client changes, with their values in force.

    Args:
        client_type: One of CLIENT_TYPES.
        properties: What its user has set; none of these is changed.
    """
    changed = {}
    if client_type == PRODUCER and _IDEMPOTENCE not in properties:
        acks = properties.get("acks", "all").strip()
        retries = properties.get("retries", "1").strip()
        if acks not in _ALL or not retries.strip("0"):
            changed[_IDEMPOTENCE] = "false"
    # Without a group there is nowhere to commit to.
    is_alone = client_type == CONSUMER and "group.id" not in properties
    if is_alone and _AUTO_COMMIT not in properties:
        changed[_AUTO_COMMIT] = "false"
    return changed
