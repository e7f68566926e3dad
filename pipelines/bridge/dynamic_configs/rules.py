"""What may be asked of dynamic client configs, and what may be set.

Strategy: the checks of DescribeClientQuotas and AlterClientQuotas in their order, with
their texts where they have one. Texts name keys and what is wanted, never a value.
Deliberate differences: an entity type that is not known is INVALID_REQUEST here, as
the proposal has nothing else, and UNSUPPORTED_VERSION there; an entity and a filter
must have a user.
Source: KIP-649; ClientQuotasImage and ClientQuotaControlManager of Kafka 4.3.1.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pipelines.kafka_client.client_configs import (
    Alteration,
    Component,
    DescribeRequest,
    Entity,
    Match,
    Op,
)
from pipelines.settings.dynamic_config_keys import (
    BOOLEAN,
    DOUBLE,
    LIST,
    STRING,
    WHOLE_RANGES,
    DynamicConfigKey,
    DynamicConfigKeys,
)
from udfs.dynamic_configs.records import CLIENT_ID, USER
from udfs.sensitive.client_ids import find_client_id_rule
from udfs.sensitive.config_key_names import KEYS_SOFTWARE
from udfs.sensitive.sensitive_key_rules import ALLOW
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .refusals import Refusal, invalid

SESSION, HEARTBEAT = "session.timeout.ms", "heartbeat.interval.ms"
MAX_NAME_BYTES = 1_024
"""Of a user or a client id that configs are set for; records repeat it."""
MAX_VALUE_BYTES = 1_024
_TYPES = (USER, CLIENT_ID)
_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")
_LOGICAL = ("true", "false")

Values = Mapping[str, str]
"""What is set for one entity."""


class Judged(NamedTuple):
    """What an alteration comes to; one of both."""

    refusal: Refusal | None
    changes: Mapping[str, str | None]
    """Keys that would have another value, or none any more."""


def judge_filter(components: Sequence[Component]) -> Refusal | None:
    """Say why nothing is described; None where something may be."""
    seen = set[str]()
    for one in components:
        refusal = _judge_type(one.entity_type, seen) or _judge_match(one)
        if refusal is not None:
            return refusal
        seen.add(one.entity_type)
    if USER not in seen:
        return invalid("A filter of dynamic client configs needs a user component.")
    return None


def _judge_type(entity_type: str, seen: Iterable[str]) -> Refusal | None:
    if not entity_type:
        return invalid("Invalid empty entity type.")
    if entity_type in seen:
        return invalid(f"Entity type {entity_type} cannot appear more than once.")
    if entity_type not in _TYPES:
        return invalid(
            "Unknown entity type: dynamic client configs have user and client-id."
        )
    return None


def _judge_match(one: Component) -> Refusal | None:
    if one.match_type == Match.EXACT:
        if one.match is None:
            return invalid("Request specified EXACT match, but match string was null.")
        if not one.match:
            return invalid(f"Empty {one.entity_type} not supported")
        return None
    if one.match_type not in (Match.DEFAULT, Match.ANY):
        return invalid(f"Unknown match type {one.match_type}.")
    if one.match is not None:
        name = Match(one.match_type).name
        return invalid(f"Request specified {name} match, but a string was given.")
    return None


def is_match(entity: Entity, request: DescribeRequest) -> bool:
    """Say whether a filter that was judged takes an entity."""
    names = dict(entity)
    if request.strict and len(names) != len(request.components):
        return False
    return all(
        one.entity_type in names and _is_name(names[one.entity_type], one)
        for one in request.components
    )


def _is_name(name: str | None, component: Component) -> bool:
    if component.match_type == Match.EXACT:
        return name == component.match
    # As in Kafka, any includes the default.
    return component.match_type == Match.ANY or name is None


def order_entity(entity: Entity) -> tuple[object, ...]:
    """Return what sorts entities: a user, its default client id, its client ids."""
    names = dict(entity)
    client_id = names.get(CLIENT_ID)
    return names[USER] or "", CLIENT_ID in names, client_id is not None, client_id or ""


class AlterationRules:
    """Judges what admins want to set."""

    def __init__(self, keys: DynamicConfigKeys, rules: SensitiveKeyRules) -> None:
        """Take the keys that may be set, and what hides secrets."""
        self.keys = keys
        self._rules = rules

    def judge(self, alteration: Alteration, current: Values) -> Judged:
        """Judge the alteration of one entity; the first bad key rejects it.

        Args:
            current: What is set for the entity now.
        """
        refusal = self._judge_entity(alteration.entity)
        changes: dict[str, str | None] = {}
        for op in alteration.ops if refusal is None else ():
            refusal = self._judge_op(op, changes)
            if refusal is not None:
                break
            changes[op.key] = None if op.remove else op.value
        refusal = refusal or _judge_pair(changes, current)
        if refusal is not None:
            return Judged(refusal, {})
        different = {k: v for k, v in changes.items() if current.get(k) != v}
        return Judged(None, different)

    def takes(self, key: str, value: str) -> bool:
        """Say whether this bridge knows a key, and would set it to a value."""
        return key in self.keys and self._judge_value(self.keys[key], value) is None

    def show_key(self, key: str) -> str:
        """Return a key as it may be told; anybody may have written the topic."""
        return self._rules.show_key(key)

    def _judge_entity(self, entity: Entity) -> Refusal | None:
        names: dict[str, str | None] = {}
        for entity_type, name in entity:
            refusal = _judge_type(entity_type, names)
            if refusal is not None:
                return refusal
            if name == "":
                return invalid(f"Empty {entity_type} not supported")
            if len((name or "").encode()) > MAX_NAME_BYTES:
                return invalid(f"A {entity_type} of more than {MAX_NAME_BYTES} bytes.")
            names[entity_type] = name
        if names.get(USER) is None:
            return invalid("Dynamic client configs need a user with a name.")
        client_id = names.get(CLIENT_ID)
        rule = client_id and find_client_id_rule(client_id, self._rules)
        if rule:
            return invalid(
                f"The client-id looks like a secret, by rule {rule}, and would be "
                f"written."
            )
        return None

    def _judge_op(self, op: Op, before: Mapping[str, object]) -> Refusal | None:
        if op.key in before:
            return invalid(f"Config key {self._rules.show_key(op.key)} is there twice")
        # What a file of keys no longer has can still be removed.
        if op.remove:
            return None
        if op.key not in self.keys:
            shown = self._rules.show_key(op.key)
            known = ", ".join(sorted(self.keys)[:_SHOWN_KEYS])
            return invalid(
                f"Unknown dynamic client config {shown}: this bridge takes {known}"
                f"{', …' if len(self.keys) > _SHOWN_KEYS else ''}"
            )
        wanted = self._judge_value(self.keys[op.key], op.value)
        return None if wanted is None else invalid(f"{op.key}: expects {wanted}")

    def _judge_value(self, key: DynamicConfigKey, value: str) -> str | None:
        """Return what is wanted; None where the value is that."""
        if key.words:
            is_word = value in key.words
            return None if is_word else f"one of {', '.join(key.words)}"
        if key.type_name == BOOLEAN:
            return None if value.lower() in _LOGICAL else "true or false"
        if key.type_name in (STRING, LIST):
            return self._judge_text(key, value)
        return _judge_number(key, value)

    def _judge_text(self, key: DynamicConfigKey, value: str) -> str | None:
        if len(value.encode()) > MAX_VALUE_BYTES:
            return f"at most {MAX_VALUE_BYTES} bytes"
        if not self._rules.may_hide((value,)):
            return None
        verdict = self._rules.judge_value(key.name, value, key.type_name, KEYS_SOFTWARE)
        is_shown = verdict.action == ALLOW
        return None if is_shown else f"no secret, as rule {verdict.rule} takes it for"


_SHOWN_KEYS = 20


def _judge_number(key: DynamicConfigKey, value: str) -> str | None:
    number: float | None = None
    if key.type_name in WHOLE_RANGES:
        if value.isascii() and _WHOLE.fullmatch(value):
            number = int(value)
    elif key.type_name == DOUBLE:
        number = _read_double(value)
    is_low = number is None or (key.low is not None and number < key.low)
    if number is None or is_low or (key.high is not None and number > key.high):
        return f"{_name_type(key)}{_name_range(key)}"
    return None


def _read_double(value: str) -> float | None:
    try:
        number = float(value) if value.isascii() and "_" not in value else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _name_type(key: DynamicConfigKey) -> str:
    return "a number" if key.type_name == DOUBLE else "a whole number"


def _name_range(key: DynamicConfigKey) -> str:
    if key.low is None:
        return "" if key.high is None else f" of at most {key.high}"
    least = f" of at least {key.low}"
    return least if key.high is None else f"{least} and at most {key.high}"


def _judge_pair(changes: Mapping[str, str | None], current: Values) -> Refusal | None:
    """Refuse a heartbeat that comes no sooner than the session ends."""
    if not (changes.get(SESSION) or changes.get(HEARTBEAT)):
        return None
    session, heartbeat = (
        changes.get(key, current.get(key)) for key in (SESSION, HEARTBEAT)
    )
    if not (_is_whole(session) and _is_whole(heartbeat)):
        return None
    if int(heartbeat or 0) < int(session or 0):
        return None
    return invalid(f"{HEARTBEAT}: expects less than the entity's {SESSION}")


def _is_whole(value: str | None) -> bool:
    return value is not None and value.isascii() and bool(_WHOLE.fullmatch(value))
