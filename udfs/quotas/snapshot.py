"""All quotas of a cluster, so that what applies to a client is a few look-ups.

Strategy: names, pairs and addresses that quotas are set for have numbers. For each
key there is an array a step: by pair, by user and by client id the row that applies
where no step before had one. The last place of each array is for whom nothing is set;
a row NONE (the last of the values) stands for no quota.

The eight levels, in order, of Kafka 4.3.1 (ClientQuotaManager.DefaultQuotaCallback):
1 user and client id, 2 user and default client id, 3 user, 4 default user and client
id, 5 default user and default client id, 6 default user, 7 client id, 8 default client
id; of an address 1 itself, 2 the default.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .entities import (
    CLIENT_ID,
    CLIENT_KEYS,
    CONNECTION_KEY,
    ENTITY_SCHEMA,
    PAIR,
    USER,
    normalize_addresses,
    write_entity_paths,
)

Rows = npt.NDArray[np.int32]

_KIND_OF_LEVEL = (
    *(None, PAIR, PAIR, USER, PAIR, PAIR, USER),
    *(CLIENT_ID, CLIENT_ID),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyQuotas:
    """What is set for one key of users and client ids."""

    by_pair: Rows
    by_user: Rows
    """Levels 2 and 3, the first that is set."""
    by_client: Rows
    """Levels 4 to 8, the first that is set."""
    by_user_alone: Rows
    """Levels 3 and 6."""
    by_client_alone: Rows
    """Levels 7 and 8."""
    kinds: frozenset[str]
    """Kinds of entities that have the key now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaSnapshot:
    """The quotas of one cluster at one moment."""

    users: pa.StringArray
    client_ids: pa.StringArray
    addresses: pa.StringArray
    pairs: pa.Int64Array
    """Place of the user times (1 + client ids), and the place of the client id."""
    limits: npt.NDArray[np.float64]
    """By row."""
    levels: npt.NDArray[np.int8]
    """By row, 0 for NONE."""
    paths: pa.StringArray
    """Different paths of entities."""
    path_places: Rows
    """By row."""
    by_key: Mapping[str, KeyQuotas]
    by_address: Rows
    """Of connection_creation_rate."""

    @property
    def none(self) -> int:
        """The row that stands for no quota."""
        return len(self.limits) - 1


def quota_snapshot(entities: pa.RecordBatch) -> QuotaSnapshot:
    """Number what quotas are set for, and find the first of each look-up.

    Args:
        entities: As ENTITY_SCHEMA, more columns are passed over. One row an entity and
            key; of two that are the same, the later one counts.
    """
    entities = entities.select(ENTITY_SCHEMA.names)
    users, user_of = _number(entities.column("user_name"))
    client_ids, client_of = _number(entities.column("client_id"))
    spelled = normalize_addresses(entities.column("ip"))
    is_named = pc.is_valid(entities.column("ip"))
    addresses, address_of = _number(pc.if_else(is_named, spelled, None))
    levels = _find_levels(entities)
    pair_of = user_of.astype(np.int64) * (1 + len(client_ids)) + client_of
    is_pair = (levels == 1) & ~np.asarray(is_named)
    pairs = pc.unique(pa.array(pair_of[is_pair]))
    found = pc.index_in(pa.array(pair_of), value_set=pairs)
    pair_place = pc.fill_null(found, len(pairs)).to_numpy()
    keys = entities.column("quota_key")
    is_of_address = np.asarray(pc.or_(is_named, entities.column("is_default_ip")))
    none = entities.num_rows
    places = [
        _Places(1, pair_place, len(pairs)),
        *(_Places(level, user_of, len(users)) for level in (2, 3)),
        _Places(4, client_of, len(client_ids)),
        *(_Places(level, None, 0) for level in (5, 6)),
        _Places(7, client_of, len(client_ids)),
        _Places(8, None, 0),
    ]
    by_key = {}
    for key in CLIENT_KEYS:
        rows = _rows_where(np.asarray(pc.equal(keys, key)) & ~is_of_address)
        kinds = frozenset(_kinds(levels[rows]))
        by_key[key] = _order(
            {one.level: one.put(rows, levels, none) for one in places}, none, kinds
        )
    rows = _rows_where(np.asarray(pc.equal(keys, CONNECTION_KEY)) & is_of_address)
    by_address = _first(
        none,
        _Places(1, address_of, len(addresses)).put(rows, levels, none),
        _Places(2, None, 0).put(rows, levels, none),
    )
    paths, path_places = _number(write_entity_paths(entities))
    return QuotaSnapshot(
        users=users,
        client_ids=client_ids,
        addresses=addresses,
        pairs=pairs,
        limits=np.append(np.asarray(entities.column("quota_value")), np.nan),
        levels=np.append(levels, np.int8(0)),
        paths=paths,
        path_places=np.append(path_places, np.int32(len(paths))),
        by_key=by_key,
        by_address=by_address,
    )


def _number(names: pa.StringArray) -> tuple[pa.StringArray, Rows]:
    """Return the different names, and for each row the place of its own.

    Nulls: A row without a name has the place behind the last.
    """
    different = pc.drop_null(pc.unique(names))
    places = pc.fill_null(pc.index_in(names, value_set=different), len(different))
    # A null is found where the value set has none: it has no name all the same.
    places = pc.if_else(pc.is_valid(names), places, len(different))
    return different, np.asarray(places).astype(np.int32)


def _find_levels(entities: pa.RecordBatch) -> npt.NDArray[np.int8]:
    flags = {
        name: np.asarray(entities.column(name))
        for name in ("is_default_user", "is_default_client_id", "is_default_ip")
    }
    named = {
        name: np.asarray(pc.is_valid(entities.column(name)))
        for name in ("user_name", "client_id", "ip")
    }
    user, client = named["user_name"], named["client_id"]
    any_user, any_client = flags["is_default_user"], flags["is_default_client_id"]
    return np.select(
        [
            named["ip"],
            flags["is_default_ip"],
            user & client,
            user & any_client,
            user,
            any_user & client,
            any_user & any_client,
            any_user,
            client,
            any_client,
        ],
        [np.int8(level) for level in (1, 2, 1, 2, 3, 4, 5, 6, 7, 8)],
        default=np.int8(0),
    )


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the rows of one level belong."""

    level: int
    place_of: Rows | None
    """By row; null where all clients have the same place."""
    room: int

    def put(self, rows: Rows, levels: npt.NDArray[np.int8], none: int) -> Rows:
        own = rows[levels[rows] == self.level]
        placed = np.full(self.room + 1, none, np.int32)
        if self.place_of is not None:
            placed[self.place_of[own]] = own
        elif len(own):
            placed[:] = own[-1]
        return placed


def _first(none: int, *steps: Rows) -> Rows:
    """Return of each place the first row that there is; one place is that of all."""
    room = max(map(len, steps))
    found = np.full(room, none, np.int32)
    for step in steps:
        found = np.where(found == none, step, found).astype(np.int32)
    return found


def _order(by_level: Mapping[int, Rows], none: int, kinds: frozenset[str]) -> KeyQuotas:
    return KeyQuotas(
        by_pair=by_level[1],
        by_user=_first(none, by_level[2], by_level[3]),
        by_client=_first(none, *(by_level[number] for number in (4, 5, 6, 7, 8))),
        by_user_alone=_first(none, by_level[3], by_level[6]),
        by_client_alone=_first(none, by_level[7], by_level[8]),
        kinds=kinds,
    )


def _rows_where(mask: npt.NDArray[np.bool_]) -> Rows:
    return np.flatnonzero(mask).astype(np.int32)


def _kinds(levels: npt.NDArray[np.int8]) -> set[str]:
    found = {_KIND_OF_LEVEL[level] for level in np.unique(levels).tolist()}
    return {kind for kind in found if kind is not None}
