"""What happens to a configuration before a handle is made of it.

Strategy: what confluent_kafka would refuse is not pushed. The handshake runs in a
thread of its own, and the application waits for it no longer than
`default.api.timeout.ms`, whatever the network, a resolver or a callback does. Where a
node served PushConfig, the handle says which client instance it is.
Nothing here outlives the call, so a process may be forked at any time.
"""

import contextlib
import dataclasses
import logging
import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import confluent_kafka

from .catalogs import load_rules
from .configs_in_force import LibrdkafkaConfigs
from .handshake import Handshake
from .instance_ids import make_instance_id
from .kafka_client.properties import UnusableConfig, make_access
from .key_lists import DEFAULT_KEYS
from .own_configs import (
    OWN_CONFIGS,
    InvalidOwnConfig,
    OwnConfigs,
    leave_out_own_configs,
    read_own_configs,
)
from .push_messages import NamedSoftware
from .push_plan import PushPlan
from .pushed_entries import ChosenEntries, choose_entries
from .software_names import DEFAULT_SOFTWARE_NAME, SOFTWARE_VERSION, name_software
from .trial_handles import is_taken

_MS = 1_000
_SHARE_OF_THREAD = 0.98
"""The thread ends by itself a little before the application stops waiting for it."""

logger = logging.getLogger("kafka_clientele")


class Log(Protocol):
    """What confluent_kafka asks of a logger, and no more."""

    def log(self, level: int, text: str, *words: object) -> object:
        """Write a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What a handle is made of."""

    conf: dict[str, Any] = field(repr=False)
    """Secrets among it."""
    client_instance_id: uuid.UUID | None
    """None where the cluster does not know it."""


def prepare(client_type: str, *given: Any, **more: Any) -> Prepared:  # noqa: ANN401 - as confluent_kafka takes them
    """Push the configuration of a client that is about to be made, and return its own.

    Args:
        client_type: One of CLIENT_TYPES.
        given: What the constructor was given.
        more: The same; these stand before what is in the dictionary.
    Raises: KafkaException, for a config of the push that cannot be; TypeError where
        confluent_kafka raises it. Nothing else: a push is best effort.
    """
    if len(given) > 1 or any(not isinstance(one, Mapping) for one in given):
        raise TypeError("expected configuration dict")
    return _prepare(client_type, {**(given[0] if given else {}), **more}, ())


def prepare_with_serdes(
    client_type: str, conf: object, serdes: tuple[str, ...]
) -> Prepared:
    """Do the same for a class with serializers or deserializers.

    Args:
        client_type: One of CLIENT_TYPES.
        conf: What the constructor was given.
        serdes: The names that the class takes out itself, as is_taken has them.
    Raises: As prepare does.
    """
    if not isinstance(conf, Mapping):
        raise TypeError("expected configuration dict")
    return _prepare(client_type, dict(conf), serdes)


def _prepare(
    client_type: str, conf: dict[str, Any], serdes: tuple[str, ...]
) -> Prepared:
    own = _read_own(conf)
    handle_conf = leave_out_own_configs(conf)
    if not own.is_enabled:
        return Prepared(conf=handle_conf, client_instance_id=None)
    log = conf.get("logger") or logger
    known = None
    try:
        known = _push(client_type, own, conf, serdes, log)
    except UnusableConfig as error:
        _tell(log, logging.WARNING, f"not done, since {error}")
    except Exception as error:  # noqa: BLE001 - whatever it is, the client is made
        _tell(log, logging.WARNING, f"failed: {type(error).__name__}")
    if known is None:
        return Prepared(conf=handle_conf, client_instance_id=None)
    named = {SOFTWARE_VERSION: known.naming_version}
    return Prepared(
        conf=handle_conf | named, client_instance_id=known.client_instance_id
    )


def _push(
    client_type: str,
    own: OwnConfigs,
    conf: dict[str, Any],
    serdes: tuple[str, ...],
    log: Log,
) -> NamedSoftware | None:
    """Push; return who the client is where a node serves PushConfig."""
    configs = LibrdkafkaConfigs(client_type, conf, OWN_CONFIGS)
    software = _name_software(configs, conf)
    chosen = _choose(client_type, own, configs)
    for warning in chosen.warnings:
        _tell(log, logging.WARNING, warning)
    if not chosen.entries:
        return None
    plan = PushPlan(
        access=make_access(configs.find, conf),
        software=software,
        entries=list(chosen.entries),
        api_key=own.api_key,
        timeout_ms=int(own.timeout_ms * _SHARE_OF_THREAD),
        retry_backoff_ms=_read_int(configs, "retry.backoff.ms"),
        retry_backoff_max_ms=_read_int(configs, "retry.backoff.max.ms"),
    )
    if not is_taken(client_type, leave_out_own_configs(conf), serdes):
        raise UnusableConfig("confluent_kafka", "does not take the configuration")
    handshake = run_bounded(plan, own.timeout_ms)
    _report(handshake, log)
    return software if handshake.is_advertised else None


def run_bounded(plan: PushPlan, timeout_ms: int) -> Handshake:
    """Run a handshake, for so long at most; one that goes on has no effect any more.

    Returns: The handshake as far as it has come.
    """
    handshake = Handshake(plan)
    thread = threading.Thread(
        target=handshake.run, name="kafka-clientele-push", daemon=True
    )
    thread.start()
    thread.join(timeout_ms / _MS)
    seen = dataclasses.replace(handshake)
    if thread.is_alive() and not seen.fault:
        seen.fault = f"not done in {timeout_ms} ms"
    return seen


def _read_own(conf: Mapping[str, Any]) -> OwnConfigs:
    try:
        return read_own_configs(conf)
    except InvalidOwnConfig as error:
        code = confluent_kafka.KafkaError._INVALID_ARG  # noqa: SLF001 - its public name
        fault = confluent_kafka.KafkaError(code, str(error))
        raise confluent_kafka.KafkaException(fault) from None


def _name_software(
    configs: LibrdkafkaConfigs, conf: Mapping[str, Any]
) -> NamedSoftware:
    name, version = name_software(conf)
    return NamedSoftware(
        client_id=configs.find("client.id"),
        name=name,
        version=version,
        client_instance_id=make_instance_id(),
    )


def _choose(
    client_type: str, own: OwnConfigs, configs: LibrdkafkaConfigs
) -> ChosenEntries:
    is_default_list = own.allowed_keys is None
    keys = DEFAULT_KEYS[client_type] if own.allowed_keys is None else own.allowed_keys
    return choose_entries(
        keys,
        configs.find_config,
        rules=load_rules(),
        software_name=DEFAULT_SOFTWARE_NAME,
        is_default_list=is_default_list,
        first_config_type_id=own.first_config_type_id,
    )


def _read_int(configs: LibrdkafkaConfigs, name: str) -> int:
    text = configs.find(name)
    if not (text.isascii() and text.isdecimal()):
        # The handle itself will say so, in librdkafka's words.
        raise UnusableConfig(name, "is no number")
    return int(text)


def _report(handshake: Handshake, log: Log) -> None:
    if handshake.is_pushed:
        words = f" ({handshake.message})" if handshake.message else ""
        _tell(log, logging.DEBUG, f"done{words}")
    elif handshake.fault:
        _tell(log, logging.WARNING, f"failed: {handshake.fault}")
    else:
        _tell(log, logging.DEBUG, "the cluster does not serve it")


def _tell(log: Log, level: int, text: str) -> None:
    # A logger that fails is the application's; its client is made all the same.
    with contextlib.suppress(Exception):
        log.log(level, "configuration push: %s", text)
