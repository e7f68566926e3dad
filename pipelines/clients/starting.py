"""What happens to a configuration before a handle is made of it.

Strategy: what confluent_kafka would refuse is not pushed. The handshake runs in a
thread of its own, and the application waits for it no longer than
`default.api.timeout.ms`, whatever the network, a resolver or a callback does. What the
cluster has for the client stands over the application's configuration, and that is
pushed. Where a node served PushConfig, the handle says which client instance it is.
Nothing here outlives the call, so a process may be forked at any time.
"""

import contextlib
import logging
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import confluent_kafka

from .catalogs import load_rules
from .configs_in_force import LibrdkafkaConfigs
from .dynamic_values import APPLIED, KEYS, Settled, list_supported, reduce_conf, settle
from .following import Following, Log, tell, tell_configs
from .handshake import Handshake
from .instance_ids import make_instance_id
from .kafka_client.properties import UnusableConfig, make_access
from .key_lists import DEFAULT_KEYS
from .own_configs import (
    OWN_CONFIGS,
    OWN_NAMES,
    InvalidOwnConfig,
    OwnConfigs,
    leave_out_own_configs,
    read_own_configs,
)
from .push_messages import ConfigEntry, NamedSoftware
from .push_plan import PushPlan, Question
from .pushed_entries import choose_entries
from .software_names import DEFAULT_SOFTWARE_NAME, SOFTWARE_VERSION, name_software
from .trial_handles import can_be_tried, is_taken

_MS = 1_000
_SHARE_OF_THREAD = 0.98
"""The thread ends by itself a little before the application stops waiting for it."""

logger = logging.getLogger("kafka_clientele")


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What an application makes a client of."""

    client_type: str
    """One of CLIENT_TYPES."""
    given: dict[str, Any] = field(repr=False)
    """All of it; secrets among it."""
    serdes: tuple[str, ...]
    """The names that the client's class takes out itself."""
    own: OwnConfigs
    log: Log

    @property
    def conf(self) -> dict[str, Any]:
        """What confluent_kafka is given of it."""
        return leave_out_own_configs(self.given)

    @property
    def configs(self) -> LibrdkafkaConfigs:
        """What is in force without any dynamic config."""
        return LibrdkafkaConfigs(self.client_type, self.given, OWN_CONFIGS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What a handle is made of."""

    conf: dict[str, Any] = field(repr=False)
    """Secrets among it."""
    client_instance_id: uuid.UUID | None
    """None where the cluster does not know it."""
    following: Following | None = None
    """None where dynamic configs are not followed."""


def prepare(client_type: str, *given: Any, **more: Any) -> Prepared:  # noqa: ANN401 - as confluent_kafka takes them
    """Push the configuration of a client that is about to be made, and return its own.

    Args:
        client_type: One of CLIENT_TYPES.
        given: What the constructor was given.
        more: The same; these stand before what is in the dictionary.
    Raises: KafkaException, for a config of this library that cannot be; TypeError where
        confluent_kafka raises it. Nothing else: a push is best effort.
    """
    return prepare_given(read_given(client_type, *given, **more))


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
    return prepare_given(_read(client_type, dict(conf), serdes))


def read_given(client_type: str, *given: Any, **more: Any) -> Given:  # noqa: ANN401 - as confluent_kafka takes them
    """Read what a constructor was given. Raises: As prepare does."""
    if len(given) > 1 or any(not isinstance(one, Mapping) for one in given):
        raise TypeError("expected configuration dict")
    return _read(client_type, {**(given[0] if given else {}), **more}, ())


def prepare_given(given: Given) -> Prepared:
    """Ask for dynamic configs, push, and return what to make a handle of."""
    return _try(given, lambda: _start(given)) or _plain(given.conf)


def prepare_settled(given: Given, settled: Settled) -> Prepared:
    """Push a configuration with other dynamic values, for a handle made anew.

    In this thread: the application is in a call that may take this time.
    """

    def push() -> Prepared:
        plan = _make_plan(given, list(settled.entries), None)
        handshake = Handshake(plan)
        if plan.is_pushing:
            handshake.run()
            _report(handshake, given.log)
        return _finish(plan, handshake, settled.conf)

    return _try(given, push) or _plain(settled.conf)


def _try(given: Given, start: Callable[[], Prepared]) -> Prepared | None:
    own, log = given.own, given.log
    if not own.is_enabled and not _is_asking(given):
        return None
    # Whoever pushes hears of a push.
    say = _tell if own.is_enabled else tell
    try:
        return start()
    except UnusableConfig as error:
        say(log, logging.WARNING, f"not done, since {error}")
    except Exception as error:  # noqa: BLE001 - whatever it is, the client is made
        say(log, logging.WARNING, f"failed: {type(error).__name__}")
    return None


def _plain(conf: dict[str, Any]) -> Prepared:
    return Prepared(conf=conf, client_instance_id=None)


def _start(given: Given) -> Prepared:
    """Ask and push; return what a handle is made of."""
    is_enabled = given.own.is_enabled
    entries = _choose(given, given.conf, warns=True) if is_enabled else []
    question = _make_question(given)
    if not entries and question is None:
        return _plain(given.conf)
    plan = _make_plan(given, entries, question)
    if not is_taken(given.client_type, given.conf, given.serdes):
        raise UnusableConfig("confluent_kafka", "does not take the configuration")
    handshake = run_bounded(plan, given.own.timeout_ms)
    _report(handshake, given.log)
    settled = handshake.settled or Settled(conf=given.conf, told={})
    prepared = _finish(plan, handshake, settled.conf)
    if question is None:
        return prepared
    _report_dynamic(handshake, given)
    following = _follow(given, plan, question, settled)
    is_known = handshake.is_asked or bool(handshake.fault)
    is_followed = is_known and not handshake.is_turned_off
    return replace(prepared, following=following if is_followed else None)


def _make_plan(
    given: Given, entries: list[ConfigEntry], question: Question | None
) -> PushPlan:
    own, configs = given.own, given.configs
    return PushPlan(
        access=make_access(configs.find, given.given),
        software=_name_software(configs, given.given),
        entries=entries,
        api_key=own.api_key,
        timeout_ms=int(own.timeout_ms * _SHARE_OF_THREAD),
        retry_backoff_ms=_read_int(configs, "retry.backoff.ms"),
        retry_backoff_max_ms=_read_int(configs, "retry.backoff.max.ms"),
        is_pushing=bool(entries),
        question=question,
    )


def _is_asking(given: Given) -> bool:
    return given.own.is_dynamic and bool(KEYS[given.client_type])


def _make_question(given: Given) -> Question | None:
    if not _is_asking(given):
        return None
    conf = given.conf
    takes = partial(is_taken, given.client_type, serdes=given.serdes)

    def takes_part(tried: dict[str, Any]) -> bool:
        find = LibrdkafkaConfigs(given.client_type, tried, {}).find
        return is_taken(given.client_type, reduce_conf(tried, find))

    def settle_given(values: Mapping[str, str]) -> Settled:
        tries = takes if can_be_tried(conf, given.serdes) else takes_part
        settled = settle(given.client_type, conf, values, tries)
        if not given.own.is_enabled:
            return settled
        applied = [key for key, one in settled.told.items() if one.state == APPLIED]
        entries = _choose(given, settled.conf, applied=applied)
        return replace(settled, entries=tuple(entries))

    return Question(
        api_key=given.own.dynamic_api_key,
        supported_configs=list_supported(given.client_type, given.configs.find),
        settle=settle_given,
    )


def _follow(
    given: Given, plan: PushPlan, question: Question, settled: Settled
) -> Following:
    max_age_ms = _read_int(given.configs, "metadata.max.age.ms")
    return Following(
        given.client_type,
        plan,
        question,
        settled,
        max_age_s=max_age_ms / _MS,
        log=given.log,
        callback=given.own.on_dynamic_config,
    )


def _finish(plan: PushPlan, handshake: Handshake, conf: dict[str, Any]) -> Prepared:
    if not handshake.is_advertised:
        return _plain(conf)
    named = {SOFTWARE_VERSION: plan.software.naming_version}
    return Prepared(
        conf=conf | named, client_instance_id=plan.software.client_instance_id
    )


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
    seen = handshake.abandon()
    if thread.is_alive() and not seen.fault:
        seen.fault = f"not done in {timeout_ms} ms"
    return seen


def _read(client_type: str, conf: dict[str, Any], serdes: tuple[str, ...]) -> Given:
    try:
        own = read_own_configs(conf)
    except InvalidOwnConfig as error:
        code = confluent_kafka.KafkaError._INVALID_ARG  # noqa: SLF001 - its public name
        fault = confluent_kafka.KafkaError(code, str(error))
        raise confluent_kafka.KafkaException(fault) from None
    log = conf.get("logger") or logger
    return Given(client_type=client_type, given=conf, serdes=serdes, own=own, log=log)


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
    given: Given,
    conf: Mapping[str, Any],
    *,
    applied: Iterable[str] = (),
    warns: bool = False,
) -> list[ConfigEntry]:
    """Return what is pushed of a configuration; warn of what is not.

    Args:
        given: The application's.
        conf: What a handle is made of.
        applied: Keys that the cluster has set; it hears of them though they are not in
            KIP-1324's list, unless the application has a list of its own.
        warns: Whether what is not pushed is said.
    """
    own, client_type = given.own, given.client_type
    kept = {name: value for name, value in given.given.items() if name in OWN_NAMES}
    configs = LibrdkafkaConfigs(client_type, {**kept, **conf}, OWN_CONFIGS)
    is_default_list = own.allowed_keys is None
    keys = own.allowed_keys or (*DEFAULT_KEYS[client_type], *applied)
    chosen = choose_entries(
        keys,
        configs.find_config,
        rules=load_rules(),
        software_name=DEFAULT_SOFTWARE_NAME,
        is_default_list=is_default_list,
        first_config_type_id=own.first_config_type_id,
    )
    for warning in chosen.warnings if warns else ():
        _tell(given.log, logging.WARNING, warning)
    return list(chosen.entries)


def _read_int(configs: LibrdkafkaConfigs, name: str) -> int:
    text = configs.find(name)
    if not (text.isascii() and text.isdecimal()):
        # The handle itself will say so, in librdkafka's words.
        raise UnusableConfig(name, "is no number")
    return int(text)


def _report(handshake: Handshake, log: Log) -> None:
    if not handshake.plan.is_pushing:
        return
    if handshake.is_pushed:
        words = f" ({handshake.message})" if handshake.message else ""
        _tell(log, logging.DEBUG, f"done{words}")
    elif handshake.fault:
        _tell(log, logging.WARNING, f"failed: {handshake.fault}")
    else:
        _tell(log, logging.DEBUG, "the cluster does not serve it")


def _report_dynamic(handshake: Handshake, given: Given) -> None:
    log = given.log
    fault = handshake.dynamic_fault or handshake.fault
    if handshake.settled is not None:
        tell_configs(log, given.client_type, handshake.settled.told)
    elif handshake.is_turned_off or not fault:
        tell(log, logging.DEBUG, "the cluster does not serve them")
    elif handshake.dynamic_fault or not handshake.plan.is_pushing:
        # Else the push has said it.
        tell(log, logging.WARNING, f"failed: {fault}")


def _tell(log: Log, level: int, text: str) -> None:
    # A logger that fails is the application's; its client is made all the same.
    with contextlib.suppress(Exception):
        log.log(level, "configuration push: %s", text)
