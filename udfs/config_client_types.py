"""What type of client pushed a configuration, by the keys that it names.

Strategy: each different key is looked up once and gets a bit for every type of client
that knows it; what the keys of a push have in common is the AND of their bits. A key
that nobody knows says nothing.
Source: KIP-1324, "Default Configuration"; ShareConsumerConfig of Apache Kafka 4.3.1.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .default_config_keys import (
    ADMIN_KEYS,
    CONSUMER_KEYS,
    PRODUCER_KEYS,
    SHARE_CONSUMER_KEYS,
)
from .text_codes import code_texts

PRODUCER, CONSUMER, SHARE_CONSUMER = "producer", "consumer", "share_consumer"
ADMIN, STREAMS = "admin", "streams"
CLIENT_TYPES = (PRODUCER, CONSUMER, SHARE_CONSUMER, ADMIN, STREAMS)
DEFAULT_KEYS: Mapping[str, frozenset[str]] = {
    PRODUCER: frozenset(PRODUCER_KEYS),
    CONSUMER: frozenset(CONSUMER_KEYS),
    SHARE_CONSUMER: frozenset(SHARE_CONSUMER_KEYS),
    ADMIN: frozenset(ADMIN_KEYS),
}
"""The keys that each type of client pushes where its user names none."""
NOT_OF_SHARE_CONSUMERS = frozenset(
    {
        "auto.offset.reset",
        "enable.auto.commit",
        "group.instance.id",
        "group.protocol",
        "group.remote.assignor",
        "heartbeat.interval.ms",
        "interceptor.classes",
        "isolation.level",
        "partition.assignment.strategy",
        "session.timeout.ms",
    }
)
"""Keys of a consumer that a share consumer refuses."""
OF_SHARE_CONSUMERS_ONLY = "share."
"""How the keys begin that the catalogs list among a consumer's, and no consumer has."""

Bits = npt.NDArray[np.int64]
_ALL = 2 ** len(CLIENT_TYPES) - 1


@dataclass(frozen=True, slots=True)
class ClientTypeKeys:
    """Made by make_client_type_keys."""

    known: Mapping[str, int]
    """Catalogued key to the types that have it, a bit each."""
    pushed: Mapping[str, int]
    """Catalogued key to the types that push it by default, a bit each."""


def make_client_type_keys(catalogs: Mapping[str, Iterable[str]]) -> ClientTypeKeys:
    """Make catalogs ready to be asked.

    Args:
        catalogs: Client type, a share consumer's excepted, to the keys that it knows.
    Returns: The same; it can be sent to workers.
    """
    keys = {name: frozenset(known) for name, known in catalogs.items()}
    consumers = keys.get(CONSUMER, frozenset())
    shared = {one for one in consumers if one.startswith(OF_SHARE_CONSUMERS_ONLY)}
    keys[SHARE_CONSUMER] = consumers - NOT_OF_SHARE_CONSUMERS
    keys[CONSUMER] = consumers - shared
    every = frozenset[str]().union(*keys.values())
    return ClientTypeKeys(
        known={one: _bits(one, keys) for one in every},
        pushed={one: _bits(one, DEFAULT_KEYS) for one in every},
    )


def infer_client_types(
    config_keys: pa.ListArray, type_keys: ClientTypeKeys
) -> pa.StringArray:
    """Say what type of client each push is of.

    Args:
        config_keys: list of string, the keys of each push.
        type_keys: From make_client_type_keys.
    Returns: One of CLIENT_TYPES: the only one that knows all catalogued keys of the
        push; or else, of those that do, the only one that pushes all of them by
        default.
    Shape: n rows in, n rows out, same order.
    Nulls: Null where more than one type, or none, could have sent them.
    """
    coded = code_texts(config_keys.flatten())
    texts = coded.texts.to_pylist()
    known = np.array([type_keys.known.get(one, _ALL) for one in texts], np.int64)
    pushed = np.array([type_keys.pushed.get(one, _ALL) for one in texts], np.int64)
    pushes = pc.list_parent_indices(config_keys).to_numpy()
    possible = _common(known[coded.codes], pushes, len(config_keys))
    usual = possible & _common(pushed[coded.codes], pushes, len(config_keys))
    types = pa.array([_single(bits) for bits in range(_ALL + 1)], pa.string())
    return pc.coalesce(types.take(pa.array(possible)), types.take(pa.array(usual)))


def _bits(key: str, keys: Mapping[str, frozenset[str]]) -> int:
    return sum(
        1 << place
        for place, name in enumerate(CLIENT_TYPES)
        if key in keys.get(name, ())
    )


def _common(bits: Bits, pushes: npt.NDArray[np.int64], count: int) -> Bits:
    """Return the AND over the entries of each push; all bits where it has none."""
    found = np.full(count, _ALL, np.int64)
    np.bitwise_and.at(found, pushes, bits)
    return found


def _single(bits: int) -> str | None:
    """Return the type that these bits are, if they are one."""
    names = [name for place, name in enumerate(CLIENT_TYPES) if bits >> place & 1]
    return names[0] if len(names) == 1 else None
