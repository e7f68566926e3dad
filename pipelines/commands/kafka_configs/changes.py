"""Which entity is meant, and which of its configs are quotas.

Strategy: what Kafka's tool refuses without asking is refused here in its words. What it
refuses as unknown for a user, with or without a client id, is a dynamic client config.
Source: Kafka 4.3, ConfigCommand.scala; KIP-649.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipelines.kafka_client.client_configs import (
    MAX_STRING_BYTES,
    Component,
    Entity,
    Match,
)

from .config_words import read_numbers
from .options import CLIENT_METRICS, CLIENTS, DEFAULT, IPS, USERS, ConfigsCall, Misuse

_USER = "user"
_KINDS = {USERS: _USER, CLIENTS: "client-id", IPS: "ip"}
_PLACES = {kind: place for place, kind in enumerate(_KINDS.values())}
CONNECTION_KEY = "connection_creation_rate"
QUOTA_KEYS = frozenset(
    {
        CONNECTION_KEY,
        "consumer_byte_rate",
        "controller_mutation_rate",
        "producer_byte_rate",
        "request_percentage",
    }
)
"""The kernel's own; named here so that the command need not load it."""
_SCRAM = frozenset({"SCRAM-SHA-256", "SCRAM-SHA-512"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is to become of one entity."""

    entity: Entity
    quotas: Mapping[str, float]
    removed_quotas: Sequence[str]
    dynamic: Mapping[str, str]
    removed_dynamic: Sequence[str]

    @property
    def has_quotas(self) -> bool:
        """Whether quotas change."""
        return bool(self.quotas or self.removed_quotas)

    @property
    def is_dynamic(self) -> bool:
        """Whether dynamic client configs change."""
        return bool(self.dynamic or self.removed_dynamic)


def in_order(parts: Iterable[tuple[str, str | None]]) -> Entity:
    """Return an entity with its user first, as not every server has it."""
    return tuple(sorted(parts, key=lambda part: _PLACES.get(part[0], len(_PLACES))))


def read_components(call: ConfigsCall) -> list[Component]:
    """Return what the entities that are meant have, and nothing beside it."""
    components = []
    for place, entity_type in enumerate(call.entity_types):
        kind = _KINDS[entity_type]
        if place >= len(call.entity_names):
            components.append(Component(kind, Match.ANY, None))
        elif call.entity_names[place] == DEFAULT:
            components.append(Component(kind, Match.DEFAULT, None))
        else:
            name = call.entity_names[place]
            components.append(Component(kind, Match.EXACT, name))
    return components


def may_have_dynamic(components: Sequence[Component]) -> bool:
    """Say whether dynamic client configs may be set there: a user has to be named."""
    matches = {one.entity_type: one.match_type for one in components}
    return matches.get(_USER, Match.DEFAULT) != Match.DEFAULT


def read_change(call: ConfigsCall, additions: Mapping[str, str]) -> Change | None:
    """Return what is to change of a user, a client id, both, or an address.

    Raises: Misuse.
    """
    if not call.is_alteration or call.entity_types[0] == CLIENT_METRICS:
        return None
    added = [key for key in additions if key not in QUOTA_KEYS]
    removed = [key for key in call.delete_config if key not in QUOTA_KEYS]
    _check_keys(call, additions, added, removed)
    _check_lengths(call, additions, removed)
    quotas = {key: text for key, text in additions.items() if key in QUOTA_KEYS}
    return Change(
        entity=in_order(
            (_KINDS[entity_type], None if name == DEFAULT else name)
            for entity_type, name in zip(
                call.entity_types, call.entity_names, strict=True
            )
        ),
        quotas=read_numbers(quotas),
        removed_quotas=[key for key in call.delete_config if key in QUOTA_KEYS],
        dynamic={key: additions[key] for key in added},
        removed_dynamic=removed,
    )


def _check_keys(
    call: ConfigsCall,
    additions: Mapping[str, str],
    added: Sequence[str],
    removed: Sequence[str],
) -> None:
    names = dict(zip(call.entity_types, call.entity_names, strict=True))
    if IPS in names:
        unknown = [k for k in (*additions, *call.delete_config) if k != CONNECTION_KEY]
        if unknown:
            raise Misuse(
                f"Only connection quota configs can be added for '{IPS}' using "
                f"--bootstrap-server. Unexpected config names: {','.join(unknown)}"
            )
    elif USERS not in names:
        for what, keys in (
            ("added", f"Set({', '.join(added)})" if added else ""),
            ("deleted", f"ArrayBuffer({', '.join(removed)})" if removed else ""),
        ):
            if keys:
                raise Misuse(
                    f"Only quota configs can be {what} for '{CLIENTS}' using "
                    f"--bootstrap-server. Unexpected config names: {keys}"
                )
    else:
        _check_dynamic(names[USERS], {*added, *removed})


def _check_dynamic(user: str, keys: Collection[str]) -> None:
    if _SCRAM & {*keys}:
        # A password stands beside it.
        raise Misuse(
            "SCRAM credentials are altered by Kafka's own tool, kafka-configs.sh"
        )
    if "" in keys:
        raise Misuse("Invalid config(s): a name of a config is empty")
    if keys and user == DEFAULT:
        raise Misuse(
            f"Only quota configs can be altered for the default user. Dynamic client "
            f"configs are those of one user: {', '.join(sorted(keys))}"
        )


def _check_lengths(
    call: ConfigsCall, additions: Mapping[str, str], removed: Sequence[str]
) -> None:
    """Refuse what no request can hold.

    Raises: Misuse, without a value.
    """
    texts = [
        *(("A name", name) for name in call.entity_names),
        *(("A key", key) for key in (*additions, *removed)),
        *((f"{key}: a value", value) for key, value in additions.items()),
    ]
    for what, text in texts:
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            raise Misuse(f"{what} is no UTF-8") from None
        if size > MAX_STRING_BYTES:
            raise Misuse(f"{what} of {size} bytes is longer than {MAX_STRING_BYTES}")
