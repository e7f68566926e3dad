"""Quota entities: which keys they may have, how their paths are written and read.

Strategy: names are columns of UTF-8 bytes. Percent-encoding looks at bytes alone, so a
column is encoded by tables of bytes, as `cluster.record_keys.sanitize` does one name.
Source: KIP-55, KIP-546; QuotaConfig and Sanitizer of Kafka 4.3.1.
"""

import ipaddress
import string
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from udfs.cluster.record_keys import (
    DEFAULT_ENTITY,
    QUOTA_ENTITIES,
    desanitize,
    quota_entity_path,
)

CONNECTION_KEY = "connection_creation_rate"
"""The one key that addresses have, and nobody else."""
CLIENT_KEYS = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
)
"""Keys of users and client ids."""
QUOTA_KEYS = (*CLIENT_KEYS, CONNECTION_KEY)

USER, CLIENT_ID, IP = QUOTA_ENTITIES
"""Entity types by Kafka's names."""
PAIR = f"{USER},{CLIENT_ID}"
KINDS = (CLIENT_ID, USER, PAIR)
"""Kinds of entities that a broker's tags depend on."""

ENTITY_SCHEMA = pa.schema(
    [
        ("user_name", pa.string()),
        ("is_default_user", pa.bool_()),
        ("client_id", pa.string()),
        ("is_default_client_id", pa.bool_()),
        ("ip", pa.string()),
        ("is_default_ip", pa.bool_()),
        ("quota_key", pa.string()),
        ("quota_value", pa.float64()),
    ]
)
"""One quota of one entity; a name is null where the entity has none, or a default."""

_PRINCIPAL_TYPE = "User:"
_PLAIN = f"{string.ascii_letters}{string.digits}._-".encode()
_ENCODED_BYTES = 3
_WIDTHS = np.full(256, _ENCODED_BYTES, np.uint8)
_WIDTHS[list(_PLAIN)] = 1
_FIRST = np.full(256, ord("%"), np.uint8)
_FIRST[list(_PLAIN)] = list(_PLAIN)
_HEX = np.frombuffer(b"".join(b"%02X" % one for one in range(256)), np.uint8)
_HIGH, _LOW = _HEX[0::2], _HEX[1::2]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaEntity:
    """Whom a quota is set for."""

    parts: tuple[tuple[str, str | None], ...]
    """Entity types and names; a name is null for the default entity."""

    @property
    def path(self) -> str:
        """KIP-55's path, its names percent-encoded."""
        return quota_entity_path(self.parts)

    def row(self, quota_key: str, quota_value: float) -> dict[str, object]:
        """Return a row of ENTITY_SCHEMA."""
        row: dict[str, object] = {"quota_key": quota_key, "quota_value": quota_value}
        names = dict(self.parts)
        for kind, column, flag in (
            (USER, "user_name", "is_default_user"),
            (CLIENT_ID, "client_id", "is_default_client_id"),
            (IP, "ip", "is_default_ip"),
        ):
            row[column] = names.get(kind)
            row[flag] = kind in names and names[kind] is None
        return row


def parse_entity_path(path: str) -> QuotaEntity:
    """Read KIP-55's path of a quota entity.

    Args:
        path: `users/alice/clients/<default>`; names may be percent-encoded.
    Raises: ValueError where it is none.
    """
    words = path.split("/")
    kinds = {plural: kind for kind, plural in QUOTA_ENTITIES.items()}
    pairs = list(zip(words[0::2], words[1::2], strict=False))
    found = [kinds.get(plural) for plural, _ in pairs]
    if len(words) % 2 or None in found or len({*found}) < len(found):
        raise ValueError(
            f"{path!r} is no quota entity; one is users/NAME, clients/ID, "
            f"users/NAME/clients/ID or ips/ADDRESS, where a name may be "
            f"{DEFAULT_ENTITY}"
        )
    parts = [
        (kinds[plural], None if name == DEFAULT_ENTITY else desanitize(name))
        for plural, name in pairs
    ]
    return QuotaEntity(
        parts=tuple(sorted(parts, key=lambda part: KINDS_ORDER[part[0]]))
    )


KINDS_ORDER = {kind: place for place, kind in enumerate(QUOTA_ENTITIES)}


def cut_principal_types(users: pa.StringArray) -> pa.StringArray:
    """Return the names of principals: `User:alice` is `alice`, and so is `alice`.

    Nulls: A null is the empty name.
    """
    users = pc.fill_null(users, "")
    is_typed = pc.starts_with(users, _PRINCIPAL_TYPE)
    if not pc.any(is_typed, min_count=0).as_py():
        return users
    cut = pc.utf8_slice_codeunits(users, len(_PRINCIPAL_TYPE), None)
    return cut if pc.all(is_typed).as_py() else pc.if_else(is_typed, cut, users)


def sanitize_names(names: pa.StringArray) -> pa.StringArray:
    """Percent-encode names as Kafka's Sanitizer does.

    Args:
        names: No null among them.
    """
    offsets, content = _bytes_of(names)
    widths = _WIDTHS[content]
    if (widths == 1).all():
        return names
    ends = np.cumsum(widths, dtype=np.int64)
    starts = ends - widths
    encoded = np.empty(ends[-1], np.uint8)
    encoded[starts] = _FIRST[content]
    places = np.flatnonzero(widths > 1)
    encoded[starts[places] + 1] = _HIGH[content[places]]
    encoded[starts[places] + 2] = _LOW[content[places]]
    moved = np.concatenate([[0], ends])[offsets]
    # Beyond 2 GiB of names, Arrow's texts have other offsets.
    wide = pa.LargeStringArray.from_buffers(
        len(names), pa.py_buffer(moved), pa.py_buffer(encoded)
    )
    return wide.cast(pa.string())


def _bytes_of(
    names: pa.StringArray,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Return where each name begins, from 0, and where the last ends; and the bytes."""
    _, places, content = names.buffers()
    if not len(names) or content is None:
        return np.zeros(len(names) + 1, np.int64), np.empty(0, np.uint8)
    whole = np.frombuffer(places, np.int32)
    offsets = whole[names.offset : names.offset + len(names) + 1].astype(np.int64)
    part = np.frombuffer(content, np.uint8)[offsets[0] : offsets[-1]]
    return offsets - offsets[0], part


def write_entity_paths(entities: pa.RecordBatch) -> pa.StringArray:
    """Return KIP-55's paths of entities.

    Args:
        entities: As ENTITY_SCHEMA.
    """
    parts = []
    for kind, column, flag in (
        (USER, "user_name", "is_default_user"),
        (CLIENT_ID, "client_id", "is_default_client_id"),
        (IP, "ip", "is_default_ip"),
    ):
        names = entities.column(column)
        safe = sanitize_names(pc.fill_null(names, ""))
        name = pc.if_else(entities.column(flag), DEFAULT_ENTITY, safe)
        is_there = pc.or_(pc.is_valid(names), entities.column(flag))
        path = pc.binary_join_element_wise(QUOTA_ENTITIES[kind], name, "/")
        parts.append(pc.if_else(is_there, path, None))
    return pc.binary_join_element_wise(*parts, "/", null_handling="skip")


def normalize_addresses(addresses: pa.StringArray) -> pa.StringArray:
    """Return addresses in one spelling: of one with a colon, the one that Python has.

    An IPv4 address inside an IPv6 one is that IPv4 address, as in Java. What is no
    address stays as it is.

    Nulls: A null is the empty text.
    """
    addresses = pc.fill_null(addresses, "")
    has_colon = pc.match_substring(addresses, ":")
    if not pc.any(has_colon, min_count=0).as_py():
        return addresses
    different = pc.unique(addresses.filter(has_colon))
    # Different ones of IPv6 only: each costs some microseconds.
    spelled = pa.array(map(_spell_address, different.to_pylist()), pa.string())
    places = pc.index_in(addresses, value_set=different)
    return pc.coalesce(spelled.take(places), addresses)


def _spell_address(text: str) -> str:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return text
    return str(address.ipv4_mapped or address)
