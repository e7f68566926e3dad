"""Who a client stays when its process starts anew, as a hash.

Strategy: each text is written with its length in front, so that no two clients are
written alike; each different one is hashed once.
"""

import hashlib

import pyarrow as pa
import pyarrow.compute as pc

from .client_types import name_client_types

CLIENT_TYPE = pa.struct([("client_type", pa.string()), ("logical_client", pa.string())])
"""What all pushes of a client instance say of it together."""
_HASH_BYTES = 16
_COLON, _NULL = ":", "-"
_NOTHING = pa.scalar("", pa.large_string())


def hash_logical_clients(
    principals: pa.StringArray,
    client_ids: pa.StringArray,
    client_types: pa.StringArray,
) -> pa.StringArray:
    """Hash who clients are.

    Args:
        client_ids: string, same length.
        client_types: string, same length.
    Returns: 32 hexadecimal digits, by BLAKE2b.
    Shape: n rows in, n rows out, same order.
    Nulls: A null is not the empty text.
    """
    return hash_texts(principals, client_ids, client_types)


def name_logical_clients(
    principals: pa.StringArray, client_ids: pa.StringArray, possible: pa.Int64Array
) -> pa.StructArray:
    """Say who clients are, by the types that are possible.

    Args:
        client_ids: string, same length.
        possible: Bits, from config_client_types.find_possible_types; same length.
    Returns: CLIENT_TYPE.
    Shape: n rows in, n rows out, same order.
    Nulls: As in name_client_types, and in hash_logical_clients.
    """
    types = name_client_types(possible)
    hashes = hash_logical_clients(principals, client_ids, types)
    return pa.StructArray.from_arrays([types, hashes], fields=list(CLIENT_TYPE))


def hash_texts(*columns: pa.StringArray) -> pa.StringArray:
    """Hash what several columns say together.

    Args:
        columns: string, all of one length.
    Returns: 32 hexadecimal digits, by BLAKE2b.
    Shape: n rows in, n rows out, same order.
    Nulls: A null is not the empty text.
    """
    parts = [_with_length(one) for one in columns]
    written = pc.binary_join_element_wise(*parts, _NOTHING)
    coded = written.dictionary_encode()
    hashes = [
        hashlib.blake2b(one.encode(), digest_size=_HASH_BYTES).hexdigest()
        for one in coded.dictionary.to_pylist()
    ]
    return pa.array(hashes, pa.string()).take(coded.indices)


def _with_length(texts: pa.StringArray) -> pa.LargeStringArray:
    """Return texts with their lengths in front; a mark for a null."""
    large = texts.cast(pa.large_string())
    lengths = pc.binary_length(large).cast(pa.large_string())
    colon = pa.scalar(_COLON, pa.large_string())
    return pc.fill_null(pc.binary_join_element_wise(lengths, large, colon), _NULL)
