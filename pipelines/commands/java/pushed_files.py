"""push-config: a file of properties, pushed as the Java client that reads it would.

For tests of clients in other languages, and of bridges. Types and defaults are those of
the newest Java client in conf/config_catalog/.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from uuid import UUID

from pipelines.clients.catalogs import JAVA_VERSION, load_java_catalog, load_rules
from pipelines.clients.configs_in_force import ConfigInForce
from pipelines.clients.handshake import Handshake
from pipelines.clients.instance_ids import (
    instance_id_text,
    make_instance_id,
    read_instance_id,
)
from pipelines.clients.kafka_client.properties import (
    UnusableConfig,
    make_access,
)
from pipelines.clients.key_lists import DEFAULT_KEYS
from pipelines.clients.own_configs import (
    ENABLE,
    OWN_CONFIGS,
    InvalidOwnConfig,
    OwnConfigs,
    read_own_configs,
)
from pipelines.clients.push_messages import ConfigEntry, NamedSoftware
from pipelines.clients.push_plan import PushPlan
from pipelines.clients.pushed_entries import choose_entries
from pipelines.commands.options import CommandFault
from pipelines.errors import InvalidSetting, PushNotTaken
from udfs.sensitive.sensitive_key_rules import CONFIG_TYPE_NAMES

from .command_config import read_connection
from .configs_in_force import client_id_of, derive
from .properties import parse_properties

SOFTWARE_NAME = "apache-kafka-java"
_SERVERS = "bootstrap.servers"
_NOT_SERVED = (
    "none of bootstrap.servers serves PushConfig as API {}; a bridge does with "
    "client_config.enabled = true and that client_config.api_key"
)
_INTEGER_DEFAULTS = {"retry.backoff.ms": 100, "retry.backoff.max.ms": 1_000}

Properties = Mapping[str, str]


def run(
    *,
    properties_path: str,
    client_type: str,
    connection_path: str | None,
    instance_id: str | None = None,
    say: Callable[[str], None],
    warn: Callable[[str], None],
) -> None:
    """Push a file.

    Args:
        properties_path: The client's properties.
        client_type: One of CLIENT_TYPES.
        connection_path: Properties that say how to connect; else the client's own do.
        instance_id: Of the client, as Kafka prints it; else a new one.
        say: Prints a line of the result.
        warn: Prints a line about a key that is not pushed.
    Raises: InvalidSetting, naming file and key; PushNotTaken.
    """
    properties = _load(properties_path)
    try:
        own = read_own_configs(properties)
    except InvalidOwnConfig as error:
        raise InvalidSetting(f"{properties_path}: {error}") from None
    if not own.is_enabled:
        say(f"{ENABLE} is false: nothing is pushed")
        return
    client_instance_id = (
        make_instance_id() if instance_id is None else _read_instance_id(instance_id)
    )
    entries = _choose(properties, client_type, own, warn)
    if not entries:
        say("every key is sensitive or unknown: nothing is pushed")
        return
    place = connection_path or properties_path
    connection = properties if connection_path is None else _load(connection_path)
    plan = _plan(
        place,
        connection,
        properties,
        own=own,
        entries=entries,
        client_id=client_id_of(client_type, properties),
        client_instance_id=client_instance_id,
    )
    handshake = Handshake(plan)
    handshake.run()
    _report(handshake, client_type, own.first_config_type_id, say)


def _choose(
    properties: Properties,
    client_type: str,
    own: OwnConfigs,
    warn: Callable[[str], None],
) -> list[ConfigEntry]:
    catalog = load_java_catalog(client_type)
    changed = derive(client_type, properties)

    def find(key: str) -> ConfigInForce | None:
        known = catalog.get(key, OWN_CONFIGS.get(key))
        if known is None:
            return None
        own = changed.get(key, properties.get(key))
        return ConfigInForce(
            config_value=(known.default if own is None else own).strip(),
            type_name=known.type_name,
            is_default=own is None,
        )

    keys = own.allowed_keys
    chosen = choose_entries(
        DEFAULT_KEYS[client_type] if keys is None else keys,
        find,
        rules=load_rules(),
        software_name=SOFTWARE_NAME,
        is_default_list=keys is None,
        first_config_type_id=own.first_config_type_id,
    )
    for warning in chosen.warnings:
        warn(warning)
    return list(chosen.entries)


def _plan(
    place: str,
    connection: Properties,
    properties: Properties,
    *,
    own: OwnConfigs,
    entries: list[ConfigEntry],
    client_id: str,
    client_instance_id: UUID,
) -> PushPlan:
    servers = connection.get(_SERVERS) or properties.get(_SERVERS)
    if not servers:
        raise InvalidSetting(f"{place}: {_SERVERS} is missing")
    software = NamedSoftware(
        client_id=client_id,
        name=SOFTWARE_NAME,
        version=JAVA_VERSION,
        client_instance_id=client_instance_id,
    )
    try:
        return PushPlan(
            access=make_access(read_connection(servers, connection).get),
            software=software,
            entries=entries,
            api_key=own.api_key,
            timeout_ms=own.timeout_ms,
            retry_backoff_ms=_read_int(properties, "retry.backoff.ms"),
            retry_backoff_max_ms=_read_int(properties, "retry.backoff.max.ms"),
        )
    except (CommandFault, UnusableConfig) as error:
        raise InvalidSetting(f"{place}: {error}") from None


def _read_instance_id(text: str) -> UUID:
    try:
        return read_instance_id(text)
    except ValueError:
        raise CommandFault(
            "--client-instance-id: expected 22 characters of base64url, as Kafka "
            f"prints a Uuid, not {text!r}"
        ) from None


def _read_int(properties: Properties, name: str) -> int:
    text = properties.get(name, str(_INTEGER_DEFAULTS[name])).strip()
    if not (text.isascii() and text.isdecimal()):
        raise UnusableConfig(name, "is no number")
    return int(text)


def _report(
    handshake: Handshake,
    client_type: str,
    first_config_type_id: int,
    say: Callable[[str], None],
) -> None:
    software = handshake.plan.software
    instance = instance_id_text(software.client_instance_id)
    if not handshake.is_pushed:
        reason = handshake.fault or _NOT_SERVED.format(handshake.plan.api_key)
        raise PushNotTaken(f"the configuration was not pushed: {reason}")
    entries = handshake.plan.entries
    configs = "config" if len(entries) == 1 else "configs"
    say(f"pushed {len(entries)} {configs} of a {client_type}")
    say(f"client_instance_id  {instance}")
    width = max(len(one.config_key) for one in entries)
    for one in entries:
        origin = "default" if one.is_default else "set"
        type_name = CONFIG_TYPE_NAMES[one.config_type - first_config_type_id]
        value = one.config_value
        say(f"  {one.config_key:{width}}  {type_name:8} {origin:8} {value}".rstrip())
    if handshake.message:
        say(f"the answer: {handshake.message}")


def _load(path: str) -> dict[str, str]:
    try:
        return parse_properties(Path(path).read_text(encoding="latin-1"))
    except OSError as error:
        raise InvalidSetting(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise InvalidSetting(f"{path}: {error}") from None
