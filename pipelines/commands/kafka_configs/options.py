"""Options of kafka-configs, and which of them go together.

Source: Kafka 4.3, ConfigCommand.scala; its output in tests/golden/admin. Beyond it,
nothing but options is taken, so that a blank in a list of configs loses none of them.
"""

import socket
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.commands.options import Option, flag, option

ABOUT = (
    "This tool helps to manipulate and describe entity config for a topic, client, "
    "user, broker, ip, client-metrics or group"
)
USERS, CLIENTS, IPS, CLIENT_METRICS = "users", "clients", "ips", "client-metrics"
_TOPICS, _BROKERS, _LOGGERS, _GROUPS = "topics", "brokers", "broker-loggers", "groups"
DEFAULT = ""
"""Stands for the name of the default entity."""
_ENTITY_TYPES = (
    _TOPICS, CLIENTS, USERS, _BROKERS, IPS, CLIENT_METRICS, _GROUPS, _LOGGERS,
)  # fmt: skip
_HAS_DEFAULT = {USERS, CLIENTS, _BROKERS, IPS}
_OF_KAFKA = {_TOPICS, _BROKERS, _LOGGERS, _GROUPS}
_CONNECT = "--bootstrap-server or --bootstrap-controller"
_KAFKA_TOOL = "kafka-configs.sh"

_NAME_FLAGS = {
    "topic": _TOPICS,
    "client": CLIENTS,
    "user": USERS,
    "broker": _BROKERS,
    "broker_logger": _LOGGERS,
    "ip": IPS,
    "client_metrics": CLIENT_METRICS,
    "group": _GROUPS,
}
"""Options that name an entity, in the order in which Kafka's tool looks at them."""
_DEFAULT_FLAGS = {
    "client_defaults": CLIENTS,
    "user_defaults": USERS,
    "broker_defaults": _BROKERS,
    "ip_defaults": IPS,
}


_REFUSED = f"refused: {_KAFKA_TOOL} has it"
_DEFAULT_ARGUMENTS: dict[str, Any] = {
    "help": "The default entity of a type, in place of an --entity-name",
    "action": "append_const",
    "const": None,
    # In one list with the names, since both count in order.
    "dest": "entity_name",
    "default": [],
}
_ENTITY_DEFAULT = Option(
    name="--entity-default", takes_value=False, arguments=_DEFAULT_ARGUMENTS
)


def _option(name: str, value: str, text: str) -> Option:
    # Of one that is given twice, argparse alone would take the last.
    twice: dict[str, Any] = {"action": "append", "default": []}
    return option(name, text, metavar=value, **twice) if value else flag(name, text)


_TABLE = (
    ("--bootstrap-server", "SERVERS", "Brokers, or a bridge"),
    (
        "--command-config",
        "FILE",
        "Properties of a Java client: security, SASL, TLS",
    ),
    ("--alter", "", "Alter the configs of an entity"),
    ("--describe", "", "Print the configs of one entity, or of all"),
    (
        "--entity-type",
        "TYPE",
        f"{USERS}, {CLIENTS} (or both), {IPS}, {CLIENT_METRICS}",
    ),
    ("--entity-name", "NAME", "Name of an entity, in the order of the types"),
    _ENTITY_DEFAULT,
    ("--user", "NAME", f"short for --entity-type {USERS} --entity-name NAME"),
    ("--client", "ID", f"short for --entity-type {CLIENTS} --entity-name ID"),
    ("--ip", "ADDRESS", f"short for --entity-type {IPS} --entity-name ADDRESS"),
    ("--client-metrics", "NAME", "Short for the type and the name of a subscription"),
    ("--user-defaults", "", f"short for --entity-type {USERS} --entity-default"),
    ("--client-defaults", "", f"short for --entity-type {CLIENTS} --entity-default"),
    ("--ip-defaults", "", f"short for --entity-type {IPS} --entity-default"),
    (
        "--add-config",
        "K1=V1,K2=[V2,V3]",
        "Configs to set; brackets hold a value that has commas",
    ),
    ("--add-config-file", "FILE", "Properties to set"),
    ("--delete-config", "K1,K2", "Configs to remove"),
    ("--all", "", f"{CLIENT_METRICS}: also configs that are not set"),
    ("--topic", "NAME", _REFUSED),
    ("--group", "ID", _REFUSED),
    ("--broker", "ID", _REFUSED),
    ("--broker-logger", "ID", _REFUSED),
    ("--broker-defaults", "", _REFUSED),
    ("--bootstrap-controller", "SERVERS", _REFUSED),
    ("--version", "", "Print the version"),
)
"""Name, what its value is called (empty for none), and what it means."""
OPTIONS = tuple(
    one if isinstance(one, Option) else _option(*one)  # in the order of the help
    for one in _TABLE
)


class Misuse(ValueError):
    """Raised when options do not go together; the text is Kafka's."""

    def __init__(self, message: str, *, shows_usage: bool = False) -> None:
        super().__init__(message)
        self.shows_usage = shows_usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigsCall:
    """What one call of the command wants."""

    is_alteration: bool
    bootstrap_server: str
    command_config: str | None
    entity_types: tuple[str, ...]
    entity_names: tuple[str, ...]
    """In the order of the types; those beyond the last name are meant as a whole."""
    add_config: str | None
    add_config_file: str | None
    delete_config: tuple[str, ...]
    is_all: bool


def check(arguments: Namespace) -> ConfigsCall:
    """Read the options as Kafka's tool does, in its order.

    Raises: Misuse.
    """
    known = {one.name.strip("-").replace("-", "_") for one in OPTIONS}
    if not any(getattr(arguments, name, None) for name in known):
        raise Misuse(ABOUT, shows_usage=True)
    _check_actions(arguments)
    types = [
        *arguments.entity_type,
        *(_NAME_FLAGS[name] for name in _NAME_FLAGS if getattr(arguments, name)),
        *(_DEFAULT_FLAGS[name] for name in _DEFAULT_FLAGS if getattr(arguments, name)),
    ]
    _check_types(arguments, types)
    names = _list_names(arguments)
    _check_address(arguments, types, names)
    if arguments.describe:
        _check_description(arguments, types)
    else:
        _check_alteration(arguments, types, names)
    _refuse_what_kafka_has(arguments, types)
    if arguments.alter and len(types) != len(names):
        raise Misuse("An entity name must be specified for every entity type")
    if len(names) > len(types):
        raise Misuse("More entity names specified than entity types")
    return ConfigsCall(
        is_alteration=arguments.alter,
        bootstrap_server=_take_one(arguments, "bootstrap_server") or "",
        command_config=_take_one(arguments, "command_config"),
        entity_types=tuple(types),
        entity_names=tuple(names),
        add_config=_take_one(arguments, "add_config"),
        add_config_file=_take_one(arguments, "add_config_file"),
        delete_config=tuple(_split_keys(arguments.delete_config)),
        is_all=arguments.all,
    )


def _check_actions(arguments: Namespace) -> None:
    if arguments.alter == arguments.describe:
        raise Misuse(
            "Command must include exactly one action: --describe, --alter",
            shows_usage=True,
        )
    for name in ("add_config", "delete_config") if arguments.describe else ():
        if getattr(arguments, name):
            raise Misuse(
                f'Option "[describe]" can\'t be used with option '
                f'"[{name.replace("_", "-")}]"',
                shows_usage=True,
            )


def _check_types(arguments: Namespace, types: Sequence[str]) -> None:
    twice = [one for place, one in enumerate(types) if one in types[:place]]
    if twice:
        raise Misuse(f"Duplicate entity type(s) specified: {','.join(twice)}")
    if not (arguments.bootstrap_server or arguments.bootstrap_controller):
        raise Misuse(
            "Either --bootstrap-server or --bootstrap-controller must be specified."
        )
    for one in types:
        if one not in _ENTITY_TYPES:
            raise Misuse(
                f"Invalid entity type {one}, the entity type must be one of "
                f"{', '.join(_ENTITY_TYPES)} with a {_CONNECT} argument"
            )
    if not types:
        raise Misuse("At least one entity type must be specified")
    if len(types) > 1 and {*types} != {USERS, CLIENTS}:
        raise Misuse(
            f"Only '{USERS}' and '{CLIENTS}' entity types may be specified together"
        )
    has_words = arguments.entity_type or arguments.entity_name
    has_flags = any(getattr(arguments, one) for one in {*_NAME_FLAGS, *_DEFAULT_FLAGS})
    if has_words and has_flags:
        raise Misuse(
            "--entity-{type,name,default} should not be used in conjunction with "
            "specific entity flags"
        )


def _list_names(arguments: Namespace) -> list[str]:
    names = [DEFAULT if one is None else one for one in arguments.entity_name]
    for flag_name in _NAME_FLAGS:
        name = _take_one(arguments, flag_name)
        if name is not None:
            names.append(name)
    return [*names, *(DEFAULT for one in _DEFAULT_FLAGS if getattr(arguments, one))]


def _check_address(
    arguments: Namespace, types: Sequence[str], names: Sequence[str]
) -> None:
    if arguments.bootstrap_server and arguments.bootstrap_controller:
        raise Misuse(f"Only one of {_CONNECT} can be specified")
    for name in names if IPS in types else ():
        if name != DEFAULT and not _is_resolvable(name):
            raise Misuse(
                f"The entity name for {types[0]} must be a valid IP or resolvable "
                f"host, but it is: {name}"
            )


def _is_resolvable(name: str) -> bool:
    try:
        return bool(socket.getaddrinfo(name, None))
    except (OSError, UnicodeError):
        return False


def _check_description(arguments: Namespace, types: Sequence[str]) -> None:
    if None in arguments.entity_name and not _HAS_DEFAULT & {*types}:
        raise Misuse(
            f"--entity-default must not be specified with --describe of "
            f"{','.join(types)}"
        )


def _check_alteration(
    arguments: Namespace, types: Sequence[str], names: Sequence[str]
) -> None:
    if _HAS_DEFAULT & {*types}:
        if not names:
            raise Misuse(
                "An entity-name or default entity must be specified with --alter of "
                "users, clients, brokers or ips"
            )
    elif not any(names):
        raise Misuse(
            f"An entity name must be specified with --alter of {','.join(types)}"
        )
    if arguments.add_config and arguments.add_config_file:
        raise Misuse("Only one of --add-config or --add-config-file must be specified")
    if not (
        arguments.add_config or arguments.add_config_file or arguments.delete_config
    ):
        raise Misuse(
            "At least one of --add-config, --add-config-file, or --delete-config must "
            "be specified with --alter"
        )


def _refuse_what_kafka_has(arguments: Namespace, types: Sequence[str]) -> None:
    """Refuse, in one line that names the tool, what only Kafka's own does."""
    if arguments.bootstrap_controller:
        raise Misuse(f"Controllers are asked by Kafka's own tool, {_KAFKA_TOOL}")
    if types[0] in _OF_KAFKA:
        raise Misuse(
            f"Configs of {types[0]} are shown and altered by Kafka's own tool, "
            f"{_KAFKA_TOOL}"
        )


def _split_keys(given: Sequence[str]) -> Iterator[str]:
    """Yield keys as Kafka's tool takes lists apart: without what is empty in them."""
    for text in given:
        for key in [one for one in text.split(",") if one] or [text]:
            yield key.strip()


def _take_one(arguments: Namespace, name: str) -> str | None:
    values: list[str] = getattr(arguments, name)
    if len(values) > 1:
        raise Misuse(
            f"Found multiple arguments for option {name.replace('_', '-')}, but you "
            f"asked for only one"
        )
    return values[0] if values else None
