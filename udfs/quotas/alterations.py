"""Changes of quotas: which of them Kafka would refuse, and what they would make.

Strategy: the controller's checks in its order, with its own texts, so that a change can
be tried without a cluster. What Kafka says of a change that repeats a key or an entity
is left out: there is no way to write one.
Source: ClientQuotaControlManager and QuotaConfig of Kafka 4.3.1.
"""

import ipaddress
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from .entities import (
    CLIENT_KEYS,
    CONNECTION_KEY,
    ENTITY_SCHEMA,
    IP,
    QuotaEntity,
    write_entity_paths,
)

_LONG, _INT, _DOUBLE = "a LONG", "an INT", "a DOUBLE"
_TYPES = {
    "producer_byte_rate": _LONG,
    "consumer_byte_rate": _LONG,
    "request_percentage": _DOUBLE,
    "controller_mutation_rate": _DOUBLE,
    CONNECTION_KEY: _INT,
}
_GREATEST = {_LONG: float(2**63 - 1), _INT: float(2**31 - 1)}
_FRACTION = 1e-6
"""A whole number may be that far from one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """One key of one entity, set or removed."""

    entity: QuotaEntity
    quota_key: str
    quota_value: float | None
    """Null: the key is removed."""


def judge_alteration(
    alteration: Alteration, is_resolvable: Callable[[str], bool]
) -> str | None:
    """Return why Kafka would refuse a change, in Kafka's words.

    Args:
        is_resolvable: Whether a name that is no address is that of a host.
    Nulls: None where it would not.
    """
    refusal = _judge_entity(alteration.entity, is_resolvable)
    if refusal is not None or alteration.quota_value is None:
        return refusal
    return _judge_value(alteration)


def _judge_entity(
    entity: QuotaEntity, is_resolvable: Callable[[str], bool]
) -> str | None:
    names = dict(entity.parts)
    if not names:
        return "Invalid empty client quota entity"
    empty = next((kind for kind, name in entity.parts if name == ""), None)
    if empty is not None:
        return f"Empty {empty} not supported"
    if IP in names and len(names) > 1:
        return (
            "Invalid quota entity combination, IP entity shouldnot be combined with "
            "User or ClientId"
        )
    address = names.get(IP)
    if address is not None and not (_is_address(address) or is_resolvable(address)):
        return f"{address} is not a valid IP or resolvable host."
    return None


def _judge_value(alteration: Alteration) -> str | None:
    key, value = alteration.quota_key, alteration.quota_value or 0.0
    is_of_address = any(kind == IP for kind, _ in alteration.entity.parts)
    if key not in ((CONNECTION_KEY,) if is_of_address else CLIENT_KEYS):
        return f"Invalid configuration key {key}"
    if value <= 0:
        return f"Quota {key} must be greater than 0"
    kind = _TYPES[key]
    if kind == _DOUBLE:
        return None
    if value > _GREATEST[kind]:
        return f"Proposed value for {key} is too large for {kind}."
    if abs(int(value) - value) > _FRACTION:
        return f"{key} cannot be a fractional value."
    return None


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def alter_quotas(
    entities: pa.RecordBatch, alterations: Sequence[Alteration]
) -> pa.RecordBatch:
    """Return the quotas that there would be.

    Args:
        entities: As ENTITY_SCHEMA, more columns are passed over.
        alterations: None that Kafka would refuse; of two of one key the later counts.
    Returns: ENTITY_SCHEMA; removing what is not set changes nothing.
    """
    entities = entities.select(ENTITY_SCHEMA.names)
    newest = {(one.entity.path, one.quota_key): one for one in alterations}
    named = pc.binary_join_element_wise(
        write_entity_paths(entities), entities.column("quota_key"), "\0"
    )
    altered = pa.array(["\0".join(key) for key in newest], pa.string())
    kept = entities.filter(pc.invert(pc.is_in(named, value_set=altered)))
    rows = [
        one.entity.row(one.quota_key, one.quota_value)
        for one in newest.values()
        if one.quota_value is not None
    ]
    added = pa.RecordBatch.from_pylist(rows, schema=ENTITY_SCHEMA)
    return pa.concat_batches([kept.cast(ENTITY_SCHEMA), added])
