"""Names of what records are about: keys of the cluster's topic, entities, quota paths.

Strategy: names are percent-encoded as Kafka's Sanitizer does it, so that no name can
hold a slash, and `<default>` as it stands is always the default entity: a user who is
really called so is `%3Cdefault%3E`. A name beyond UTF-8 has question marks, as in Java.
Source: org.apache.kafka.common.utils.Sanitizer, KIP-55; ConfigResource.Type; 4.3.1.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import quote, unquote_plus

DEFAULT_ENTITY = "<default>"
"""In a quota's path: whoever has no quota of its own."""

BROKER_RESOURCE = 4
CLIENT_METRICS_RESOURCE = 16
GROUP_RESOURCE = 32
TOPIC_RESOURCE = 2
_BROKER_LOGGER_RESOURCE = 8
RESOURCE_ENTITIES: Mapping[int, str] = {
    TOPIC_RESOURCE: "topics",
    BROKER_RESOURCE: "brokers",
    _BROKER_LOGGER_RESOURCE: "broker-loggers",
    CLIENT_METRICS_RESOURCE: "client-metrics",
    GROUP_RESOURCE: "groups",
}
"""Ids of ConfigResource.Type, and how an entity of each begins."""

QUOTA_ENTITIES: Mapping[str, str] = {
    "user": "users",
    "client-id": "clients",
    "ip": "ips",
}
"""Types of quota entities in the order in which KIP-55's paths name them."""

_ENTITY_ORDER = {kind: place for place, kind in enumerate(QUOTA_ENTITIES)}
_FULL_SET = "full_set"


def sanitize(name: str) -> str:
    """Percent-encode a name as Kafka does: all but ASCII letters, digits and `._-`."""
    # Python leaves a tilde as it is, Java does not.
    return quote(name, safe="", errors="replace").replace("~", "%7E")


def desanitize(name: str) -> str:
    """Return the name that was sanitized; bytes that are no UTF-8 become U+FFFD."""
    return unquote_plus(name)


def record_key(record_type: str, entity: str, name: str | None = None) -> str:
    """Return the key of a record in the cluster's topic.

    Args:
        record_type: Kafka's name of the record, without `Record`.
        entity: From one of the functions below.
        name: Of the config or quota key that the record is about.
    Nulls: without a name the record is about the entity itself.
    """
    head = f"{record_type}/{entity}"
    return head if name is None else f"{head}/{sanitize(name)}"


def full_set_key(set_id: str) -> str:
    """Return the key of the record that closes a full set."""
    return f"{_FULL_SET}/{set_id}"


def broker_entity(broker_id: int) -> str:
    """Return `brokers/1`."""
    return config_entity(BROKER_RESOURCE, str(broker_id))


def feature_entity(feature: str) -> str:
    """Return `features/metadata.version`."""
    return f"features/{sanitize(feature)}"


def config_entity(resource_type: int, resource_name: str) -> str:
    """Return the entity of a config resource: `brokers/1`, `client-metrics/team-a`.

    Args:
        resource_type: Id of ConfigResource.Type; of an unknown one the entity begins
            with `resource-type-<id>`.
        resource_name: Empty for the default of the cluster's brokers (`brokers/`).
    """
    kind = RESOURCE_ENTITIES.get(resource_type, f"resource-type-{resource_type}")
    return f"{kind}/{sanitize(resource_name)}"


def quota_entity_path(entity: Sequence[tuple[str, str | None]]) -> str:
    """Return KIP-55's path of a quota entity: `users/alice/clients/<default>`.

    Args:
        entity: Entity types and names in any order; types that Kafka does not have
            come last, by name.
    Nulls: the name None is the default entity; the empty name stays empty.
    """
    known = len(_ENTITY_ORDER)
    parts = sorted(
        entity, key=lambda part: (_ENTITY_ORDER.get(part[0], known), part[0])
    )
    return "/".join(
        f"{QUOTA_ENTITIES.get(kind) or sanitize(kind)}"
        f"/{DEFAULT_ENTITY if name is None else sanitize(name)}"
        for kind, name in parts
    )
