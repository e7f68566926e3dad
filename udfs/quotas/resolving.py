"""What the quotas of a cluster mean for clients: limit, level, and who shares it.

Strategy: whole columns. A client becomes the places of its user, client id and address
in the snapshot; three look-ups a key give the row that applies. Texts of the answer
are taken from texts that were made once a client.

As a broker does it (ClientQuotaManager of Kafka 4.3.1): first the tags, then the limit
of these tags. The two are one, but where a client has no client id: tags with an
empty one are those of a whole user, whatever level led to them. There is a case of
that in `_resolve_unnamed`.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .entities import (
    CLIENT_ID,
    CONNECTION_KEY,
    PAIR,
    QUOTA_KEYS,
    USER,
    cut_principal_types,
    normalize_addresses,
    sanitize_names,
)
from .snapshot import KeyQuotas, QuotaSnapshot, Rows

_FEW_TEXTS = pa.dictionary(pa.int32(), pa.string())
RESOLVED_SCHEMA = pa.schema(
    [
        ("client_index", pa.int32()),
        ("quota_key", _FEW_TEXTS),
        ("limit", pa.float64()),
        ("level", pa.int8()),
        ("entity_path", _FEW_TEXTS),
        ("user_tag", pa.string()),
        ("client_id_tag", pa.string()),
        ("quota_id", pa.string()),
    ]
)

_BOTH, _USER_ONLY, _CLIENT_ONLY, _NO_TAGS = range(4)
"""Which tags a client has: user and client id, one of them, or those of an address."""
_TAGS_OF_LEVEL = np.array(
    [
        *(_CLIENT_ONLY, _BOTH, _BOTH, _USER_ONLY, _BOTH, _BOTH, _USER_ONLY),
        *(_CLIENT_ONLY, _CLIENT_ONLY),
    ],
    np.int8,
)
"""By level; the first one is of no level."""
_TAGS_OF_KINDS = {
    frozenset[str](): _CLIENT_ONLY,
    frozenset({CLIENT_ID}): _CLIENT_ONLY,
    frozenset({USER}): _USER_ONLY,
    frozenset({PAIR}): _BOTH,
}
"""Where one kind of entity alone has a key, nobody looks further."""

Tags = npt.NDArray[np.int8]


def resolve_quotas(
    clients: pa.RecordBatch,
    quotas: QuotaSnapshot,
    keys: Sequence[str] = QUOTA_KEYS,
    *,
    types_ever_set: Mapping[str, Collection[str]] | None = None,
) -> pa.RecordBatch:
    """Say what each key allows each client.

    Args:
        clients: user_name (with its type `User:` or without), client_id,
            client_source_address; texts.
        keys: Of QUOTA_KEYS.
        types_ever_set: By key the kinds of entities (`client-id`, `user`,
            `user,client-id`) that had it since the brokers started, beside those that
            have it now: brokers before KAFKA-19282 go by them. Tags differ by it,
            limits do not.
    Returns: RESOLVED_SCHEMA. user_tag is percent-encoded, client_id_tag is not.
    Shape: One row a client and key: all keys of the first client, in the order of keys,
        then those of the next.
    Nulls: A client without a client id has the empty one. limit: unlimited; level,
        entity_path: nothing is set that applies. Tags and quota_id of
        connection_creation_rate, which each address has for itself.
    """
    names = _Names(clients, quotas)
    count = clients.num_rows
    rows = np.empty((count, len(keys)), np.int32)
    tags = np.empty((count, len(keys)), np.int8)
    for place, key in enumerate(keys):
        if key == CONNECTION_KEY:
            rows[:, place] = quotas.by_address[names.address_places]
            tags[:, place] = _NO_TAGS
            continue
        ever = frozenset((types_ever_set or {}).get(key, ()))
        rows[:, place], tags[:, place] = _resolve_key(names, quotas, key, ever)
    return _make_answer(names, quotas, keys, rows.ravel(), tags.ravel())


class _Names:
    """Clients as texts, and as places in a snapshot."""

    def __init__(self, clients: pa.RecordBatch, quotas: QuotaSnapshot) -> None:
        self.count = clients.num_rows
        self.users = cut_principal_types(_texts(clients, "user_name"))
        self.client_ids = pc.fill_null(_texts(clients, "client_id"), "")
        self.user_places = _find(self.users, quotas.users)
        self.client_places = _find(self.client_ids, quotas.client_ids)
        addresses = normalize_addresses(_texts(clients, "client_source_address"))
        self.address_places = _find(addresses, quotas.addresses)
        room = 1 + len(quotas.client_ids)
        pairs = self.user_places.astype(np.int64) * room + self.client_places
        self.pair_places = _find(pa.array(pairs), quotas.pairs)
        has_no_user = pc.equal(pc.binary_length(self.users), 0)
        has_no_client = pc.equal(pc.binary_length(self.client_ids), 0)
        self.has_no_user = has_no_user.to_numpy(zero_copy_only=False)
        self.has_no_client = has_no_client.to_numpy(zero_copy_only=False)
        self.unnamed = np.flatnonzero(self.has_no_user | self.has_no_client)


def _texts(clients: pa.RecordBatch, name: str) -> pa.StringArray:
    return clients.column(name).cast(pa.string())


def _find(values: pa.Array, among: pa.Array) -> Rows:
    """Return the places of values; of one that is not there, the place behind all."""
    found = pc.fill_null(pc.index_in(values, value_set=among), len(among))
    return np.asarray(found)


def _resolve_key(
    names: _Names, quotas: QuotaSnapshot, key: str, ever: frozenset[str]
) -> tuple[Rows, Tags]:
    """Return for each client the row that applies and its tags."""
    none, of = quotas.none, quotas.by_key[key]
    by_pair = of.by_pair[names.pair_places]
    by_user = of.by_user[names.user_places]
    by_client = of.by_client[names.client_places]
    rows = np.where(by_user == none, by_client, by_user)
    rows = np.where(by_pair == none, rows, by_pair)
    alone = _TAGS_OF_KINDS.get(of.kinds | ever)
    tags = (
        _TAGS_OF_LEVEL[quotas.levels[rows]]
        if alone is None
        else np.full(names.count, alone, np.int8)
    )
    if len(names.unnamed):
        rows[names.unnamed] = _resolve_unnamed(names, of, tags[names.unnamed], none)
    return rows, tags


def _resolve_unnamed(names: _Names, of: KeyQuotas, tags: Tags, none: int) -> Rows:
    """Return the rows of clients without a client id, or without a user's name.

    A quota of `users/alice/clients/<default>` gives alice's client without an id the
    tags (alice, ""), and for these a broker looks at users/alice and users/<default>.
    """
    unnamed = names.unnamed
    has_user = ~names.has_no_user[unnamed] & (tags != _CLIENT_ONLY)
    has_client = ~names.has_no_client[unnamed] & (tags != _USER_ONLY)
    by_user = of.by_user_alone[names.user_places[unnamed]]
    by_client = of.by_client_alone[names.client_places[unnamed]]
    found = np.where(has_client, by_client, none)
    return np.where(has_user, by_user, found).astype(np.int32)


def _make_answer(
    names: _Names,
    quotas: QuotaSnapshot,
    keys: Sequence[str],
    rows: Rows,
    tags: Tags,
) -> pa.RecordBatch:
    client = np.repeat(np.arange(names.count, dtype=np.int32), len(keys))
    key = np.tile(np.arange(len(keys), dtype=np.int32), names.count)
    has_none = rows == quotas.none
    users = sanitize_names(names.users)
    user_tags = _take_tags(users, client, tags, but=_CLIENT_ONLY)
    client_id_tags = _take_tags(names.client_ids, client, tags, but=_USER_ONLY)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(client),
            pa.DictionaryArray.from_arrays(key, pa.array(list(keys), pa.string())),
            pa.array(quotas.limits[rows], mask=has_none),
            pa.array(quotas.levels[rows], mask=has_none),
            pa.DictionaryArray.from_arrays(
                pa.array(quotas.path_places[rows], mask=has_none), quotas.paths
            ),
            user_tags,
            client_id_tags,
            pc.binary_join_element_wise(user_tags, client_id_tags, ":"),
        ],
        schema=RESOLVED_SCHEMA,
    )


def _take_tags(
    names: pa.StringArray, client: Rows, tags: Tags, *, but: int
) -> pa.StringArray:
    """Return the name of each client, and the empty one for one kind of tags."""
    places = np.where(tags == but, np.int32(len(names)), client)
    with_empty = pa.concat_arrays([names, pa.array([""])])
    return with_empty.take(pa.array(places, mask=tags == _NO_TAGS))
