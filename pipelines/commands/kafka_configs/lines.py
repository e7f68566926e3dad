"""Lines of kafka-configs: Kafka's own, keys in alphabetical order.

Source: Kafka 4.3, ConfigCommand.scala; KIP-649 for dynamic client configs.
"""

from collections.abc import Iterable, Mapping

from kio.schema.describe_configs.v4.response import DescribeConfigsResourceResult

from pipelines.kafka_client.client_configs import Entity
from pipelines.reading.text_tables import make_printable

from .config_words import show_double
from .options import DEFAULT

_NAMES = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}
"""What an entity of each type is called, in the order in which types are printed."""
_SOURCES = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
    7: "DYNAMIC_CLIENT_METRICS_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}
"""ConfigSource by its number."""


def completed(entity_type: str, name: str) -> str:
    """Return the line of an alteration that is done."""
    if name == DEFAULT:
        return f"Completed updating default config for {entity_type} in the cluster."
    return make_printable(f"Completed updating config for {entity_type[:-1]} {name}.")


def completed_quotas(entity_type: str, name: str) -> str:
    """Return the line of the first half of an alteration whose second is refused."""
    whose = f"{entity_type[:-1]} {name}"
    if name == DEFAULT:
        whose = f"default config for {entity_type}"
    return make_printable(
        f"Completed updating quota configs for {whose}; its dynamic configs are not "
        f"updated."
    )


def describe_entities(
    quotas: Mapping[Entity, Mapping[str, float]],
    dynamic: Mapping[Entity, Mapping[str, str]],
) -> list[str]:
    """Return what is set: of each entity its quotas, then its dynamic configs."""
    lines = []
    for entity in sorted({*quotas, *dynamic}, key=_order):
        name = _name(entity)
        if limits := quotas.get(entity):
            shown = _join((key, show_double(limits[key])) for key in sorted(limits))
            lines.append(f"Quota configs for {name} are {shown}")
        if configs := dynamic.get(entity):
            shown = _join((key, configs[key]) for key in sorted(configs))
            lines.append(f"Dynamic configs for {name} are {shown}")
    return list(map(make_printable, lines))


def describe_credentials(users: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return which SCRAM credentials there are, a line a user."""
    lines = []
    for user in sorted(users):
        shown = ", ".join(
            f"{mechanism}=iterations={users[user][mechanism]}"
            for mechanism in sorted(users[user])
        )
        lines.append(
            f"SCRAM credential configs for user-principal '{user}' are {shown}"
        )
    return list(map(make_printable, lines))


def describe_resource(
    entity_type: str,
    name: str,
    configs: Mapping[str, DescribeConfigsResourceResult],
    *,
    is_all: bool,
) -> list[str]:
    """Return the configs of a resource, each with where its value is from."""
    which = "All" if is_all else "Dynamic"
    lines = [f"{which} configs for {entity_type[:-1]} {name} are:"]
    for key in sorted(configs):
        entry = configs[key]
        synonyms = ", ".join(
            f"{_SOURCES.get(one.source, 'UNKNOWN')}:{one.name}={_text(one.value)}"
            for one in entry.synonyms
        )
        lines.append(
            f"  {key}={_text(entry.value)} "
            f"sensitive={str(entry.is_sensitive).lower()} synonyms={{{synonyms}}}"
        )
    return list(map(make_printable, lines))


def missing_resource(entity_type: str, name: str) -> str:
    """Return the line about a resource that there is not."""
    return make_printable(
        f"The {entity_type[:-1]} '{name}' doesn't exist and doesn't have dynamic "
        f"config."
    )


def _name(entity: Entity) -> str:
    names = dict(entity)
    return ", ".join(
        f"the default {word}" if names[kind] is None else f"{word} '{names[kind]}'"
        for kind, word in _NAMES.items()
        if kind in names
    )


def _order(entity: Entity) -> list[tuple[str, bool, str]]:
    """Sort by user, then client id; a default behind what has a name."""
    return [(kind, name is None, name or "") for kind, name in entity]


def _join(pairs: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{key}={value}" for key, value in pairs)


def _text(value: str | None) -> str:
    return "null" if value is None else value
