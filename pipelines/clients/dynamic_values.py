"""What becomes of the dynamic configs that a cluster has for a client.

Strategy: a dynamic value stands over the application's, except where it must not: then
the application's stays, and a reason is told. What confluent_kafka would refuse is
found by a trial, all values together and, where these are refused, one after the other.
Source: KIP-649, "Producer Changes" and "Consumer Changes".
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .catalogs import load_librdkafka_catalog
from .configs_in_force import LibrdkafkaConfigs
from .key_lists import ADMIN, CONSUMER, PRODUCER, SHARE_CONSUMER
from .push_messages import ConfigEntry

APPLIED, PENDING = "applied", "pending"
IGNORED, UNSUPPORTED = "ignored", "unsupported"
ACKS = "acks"
SESSION_TIMEOUT, HEARTBEAT = "session.timeout.ms", "heartbeat.interval.ms"
_GROUP_KEYS = (HEARTBEAT, SESSION_TIMEOUT)
KEYS: Mapping[str, tuple[str, ...]] = {
    PRODUCER: (ACKS,),
    CONSUMER: _GROUP_KEYS,
    SHARE_CONSUMER: _GROUP_KEYS,
    ADMIN: (),
}
"""What each type of client looks at. No other key is taken from a cluster, whatever it
has: it must not send a client elsewhere, or have it load a library."""
_SUPPORTED_CONFIGS = "supported.configs"
"""What clients have registered; KIP-649 keeps it beside the values."""
_TOPIC_CONFIG = "default.topic.config"
_ALL = ("all", "-1")
_RELATED = ("enable.idempotence", "group.protocol", "max.poll.interval.ms")
_NOT_BELOW = f"{HEARTBEAT} must be below {SESSION_TIMEOUT}"
_REFUSED = "confluent_kafka refuses the value"

Takes = Callable[[dict[str, Any]], bool]
"""Whether a handle is made of a configuration."""


class DynamicConfig(NamedTuple):
    """One dynamic config of a client."""

    value: str | None
    """What the cluster has; None where it has nothing any more."""
    state: str
    """applied, pending, ignored or unsupported."""
    reason: str = ""
    """Why it is not applied; empty where it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A configuration with the dynamic values that stand over it."""

    conf: dict[str, Any] = field(repr=False)
    """What a handle is made of; secrets among it."""
    told: dict[str, DynamicConfig]
    """Every dynamic config by its key, in the order of keys."""
    entries: tuple[ConfigEntry, ...] = field(default=(), repr=False)
    """What is pushed of it."""


def list_supported(
    client_type: str, find: Callable[[str], str]
) -> tuple[str, ...] | None:
    """Return the keys that a client registers; None where it can take none."""
    keys = KEYS[client_type]
    is_fixed = bool(keys) and bool(_explain_group(client_type, find))
    return None if is_fixed or not keys else keys


def settle(
    client_type: str,
    conf: Mapping[str, Any],
    values: Mapping[str, str],
    takes: Takes,
) -> Settled:
    """Return what a handle is to be made of.

    Args:
        client_type: One of CLIENT_TYPES.
        conf: The application's, which a handle can be made of, without this library's
            own configs.
        values: What the cluster has for this client.
        takes: Tries a configuration.
    """
    find = LibrdkafkaConfigs(client_type, conf, {}).find
    told, chosen = {}, {}
    for key in sorted(values.keys() - {_SUPPORTED_CONFIGS}):
        value = values[key]
        if key not in KEYS[client_type]:
            reason = f"no config that a {client_type} of this library changes"
            told[key] = DynamicConfig(value, UNSUPPORTED, reason)
        elif reason := _explain_ignored(client_type, key, value, find):
            told[key] = DynamicConfig(value, IGNORED, reason)
        else:
            chosen[key] = value
            told[key] = DynamicConfig(value, APPLIED)
    kept, refused = _keep_taken(client_type, conf, chosen, takes)
    for key, reason in refused.items():
        told[key] = DynamicConfig(chosen[key], IGNORED, reason)
    return Settled(conf=overlay(conf, kept), told=told)


def overlay(conf: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
    """Return a configuration with values over it, whatever names they had there."""
    if not values:
        return dict(conf)
    aliases = load_librdkafka_catalog().aliases
    covered = {aliases.get(name, name) for name in values}

    def leave_out(given: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: value
            for name, value in given.items()
            if aliases.get(name, name) not in covered
        }

    kept = leave_out(conf)
    if isinstance(topic := kept.get(_TOPIC_CONFIG), Mapping):
        # confluent_kafka sets these last.
        kept[_TOPIC_CONFIG] = leave_out(topic)
    return kept | dict(values)


def reduce_conf(conf: Mapping[str, Any], find: Callable[[str], str]) -> dict[str, Any]:
    """Return the part of a configuration that decides about dynamic values.

    For a trial where the whole cannot be tried.
    """
    names = (*_GROUP_KEYS, ACKS, *_RELATED)
    found = {name: value for name in names if (value := find(name))}
    group = {"group.id": "trial"} if conf.get("group.id") else {}
    return found | group


def read_in_force(client_type: str, conf: Mapping[str, Any]) -> dict[str, str]:
    """Return the value in force of each key that may be dynamic, in one form."""
    find = LibrdkafkaConfigs(client_type, conf, {}).find
    found = {key: find(key) for key in KEYS[client_type]}
    return {key: _ALL[1] if text in _ALL else text for key, text in found.items()}


def compare(
    client_type: str, running: Settled, wanted: Settled, reason: str
) -> dict[str, DynamicConfig]:
    """Return what is told of a client that runs with one thing, and is to with another.

    Args:
        client_type: One of CLIENT_TYPES.
        running: What the handle is made of.
        wanted: What it would be made of now.
        reason: Why what differs is pending.
    """
    told = dict(wanted.told)
    now = read_in_force(client_type, running.conf)
    then = read_in_force(client_type, wanted.conf)
    for key in KEYS[client_type]:
        if now[key] != then[key]:
            value = told[key].value if key in told else None
            told[key] = DynamicConfig(value, PENDING, reason)
    return told


def _explain_ignored(
    client_type: str, key: str, value: str, find: Callable[[str], str]
) -> str:
    """Return why a value must not be applied; empty where it may."""
    if key in _GROUP_KEYS:
        return _explain_group(client_type, find)
    if value.strip().lower() in _ALL:
        return ""
    if find("transactional.id"):
        return "transactional.id needs acks=all"
    if find("enable.idempotence") == "true":
        return "enable.idempotence needs acks=all"
    return ""


def _explain_group(client_type: str, find: Callable[[str], str]) -> str:
    if client_type == SHARE_CONSUMER:
        return "the group's configs at the broker decide for share consumers"
    if client_type == CONSUMER and find("group.protocol") == "consumer":
        return "group.protocol=consumer: the group's configs at the broker decide"
    return ""


def _keep_taken(
    client_type: str, conf: Mapping[str, Any], chosen: dict[str, str], takes: Takes
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the values that are taken, and of all others the reason."""
    kept: dict[str, str] = {}
    refused: dict[str, str] = {}
    if not chosen:
        return kept, refused
    if _is_in_order(client_type, overlay(conf, chosen)):
        if takes(overlay(conf, chosen)):
            return chosen, refused
    else:
        return kept, dict.fromkeys(chosen, _NOT_BELOW)
    for key, value in chosen.items():
        if takes(overlay(conf, kept | {key: value})):
            kept[key] = value
        else:
            refused[key] = _REFUSED
    if not _is_in_order(client_type, overlay(conf, kept)):
        return {}, dict.fromkeys(kept, _NOT_BELOW) | refused
    return kept, refused


def _is_in_order(client_type: str, conf: Mapping[str, Any]) -> bool:
    """Return whether a heartbeat comes before the session is over."""
    if client_type != CONSUMER:
        return True
    in_force = read_in_force(client_type, conf)
    heartbeat, session = in_force[HEARTBEAT], in_force[SESSION_TIMEOUT]
    if not (heartbeat.isdecimal() and session.isdecimal()):
        # The trial refuses it.
        return True
    return int(heartbeat) < int(session)
