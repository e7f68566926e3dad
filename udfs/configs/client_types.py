"""What type of client pushed a configuration, by the keys that it names.

Strategy: each different key is looked up once and gets a bit for every type of client
that knows it; what the keys of a push have in common is the AND of their bits, and so
it is for several pushes of one client. A key that nobody knows says nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from udfs.text_codes import code_texts

from .key_lists import (
    CLIENT_TYPES,
    CONSUMER,
    NOT_OF_SHARE_CONSUMERS,
    OF_SHARE_CONSUMERS_ONLY,
    SHARE_CONSUMER,
)

_ALL = 2 ** len(CLIENT_TYPES) - 1


@dataclass(frozen=True, slots=True)
class ClientTypeKeys:
    """Made by make_client_type_keys."""

    known: Mapping[str, int]
    """Catalogued key to the types that have it, a bit each."""


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
    return ClientTypeKeys(known={one: _bits(one, keys) for one in every})


def find_possible_types(
    config_keys: pa.ListArray, type_keys: ClientTypeKeys
) -> pa.Int64Array:
    """Say what types of client could have sent each push.

    Args:
        config_keys: list of string, the keys of each push.
        type_keys: From make_client_type_keys.
    Returns: A bit for each of CLIENT_TYPES that knows all catalogued keys of the push.
        The AND of several is what types know the keys of all of them.
    Shape: n rows in, n rows out, same order.
    Nulls: A push without keys, or a null list, has all bits.
    """
    coded = code_texts(config_keys.flatten())
    texts = coded.texts.to_pylist()
    known = np.array([type_keys.known.get(one, _ALL) for one in texts], np.int64)
    pushes = pc.list_parent_indices(config_keys).to_numpy()
    possible = np.full(len(config_keys), _ALL, np.int64)
    np.bitwise_and.at(possible, pushes, known[coded.codes])
    return pa.array(possible)


def name_client_types(possible: pa.Int64Array) -> pa.StringArray:
    """Say which type of client it is.

    Args:
        possible: Bits, from find_possible_types.
    Returns: One of CLIENT_TYPES, where only one is possible.
    Shape: n rows in, n rows out, same order.
    Nulls: Null where more than one type, or none, could have sent it.
    """
    return pa.array(map(_single, range(_ALL + 1)), pa.string()).take(possible)


def infer_client_types(
    config_keys: pa.ListArray, type_keys: ClientTypeKeys
) -> pa.StringArray:
    """Say what type of client each push is of, by itself.

    Args:
        config_keys: As find_possible_types takes them.
        type_keys: From make_client_type_keys.
    Returns: As name_client_types.
    Shape: n rows in, n rows out, same order.
    Nulls: As in name_client_types.
    """
    return name_client_types(find_possible_types(config_keys, type_keys))


def _bits(key: str, keys: Mapping[str, frozenset[str]]) -> int:
    return sum(
        1 << place
        for place, name in enumerate(CLIENT_TYPES)
        if key in keys.get(name, ())
    )


def _single(bits: int) -> str | None:
    """Return the type that these bits are, if they are one."""
    names = [name for place, name in enumerate(CLIENT_TYPES) if bits >> place & 1]
    return names[0] if len(names) == 1 else None
