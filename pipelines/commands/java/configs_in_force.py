"""What a Java client changes of its configuration by itself.

Source: Kafka 4.3.1, ProducerConfig.java, postProcessAndValidateIdempotenceConfigs and
maybeOverrideClientId; ConsumerConfig.java, maybeOverrideEnableAutoCommit and
maybeOverrideClientId; CommonClientConfigs.java, postProcessReconnectBackoffConfigs;
KafkaAdminClient.java, generateClientId. What they refuse is not looked at.
"""

from collections.abc import Mapping

from pipelines.clients.key_lists import ADMIN, CONSUMER, PRODUCER

_IDEMPOTENCE, _AUTO_COMMIT = "enable.idempotence", "enable.auto.commit"
_ALL = ("all", "-1")
_CLIENT_ID, _FIRST = "client.id", "1"
"""Clients without an id are counted; a file is that of the first one in its process."""
_BACKOFF, _BACKOFF_MAX = "reconnect.backoff.ms", "reconnect.backoff.max.ms"


def derive(client_type: str, properties: Mapping[str, str]) -> dict[str, str]:
    """Return the keys that a Java client changes, with their values in force.

    Args:
        client_type: One of CLIENT_TYPES.
        properties: What its user has set. Of these, an empty client.id of a consumer
            alone is changed.
    """
    changed = _name_client(client_type, properties)
    if _BACKOFF in properties and _BACKOFF_MAX not in properties:
        # No exponential backoff where only its beginning is set.
        changed[_BACKOFF_MAX] = properties[_BACKOFF]
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


def client_id_of(client_type: str, properties: Mapping[str, str]) -> str:
    """Return the id that a Java client gives with each request.

    Args:
        client_type: One of CLIENT_TYPES.
        properties: What its user has set.
    """
    in_force = {**properties, **derive(client_type, properties)}.get(_CLIENT_ID, "")
    # Unlike the others, an admin client does not note it in its configuration.
    default = f"adminclient-{_FIRST}" if client_type == ADMIN else ""
    return in_force.strip() or default


def _name_client(client_type: str, properties: Mapping[str, str]) -> dict[str, str]:
    if client_type == PRODUCER and _CLIENT_ID not in properties:
        return {_CLIENT_ID: f"producer-{properties.get('transactional.id', _FIRST)}"}
    if client_type not in (PRODUCER, ADMIN) and not properties.get(_CLIENT_ID):
        # As Java writes a group that is none.
        group_id = properties.get("group.id", "null")
        member = properties.get("group.instance.id", _FIRST)
        return {_CLIENT_ID: f"consumer-{group_id}-{member}"}
    return {}
