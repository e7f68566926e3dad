"""Who a client stays when its process starts anew, as a hash.

Strategy: each text is written with its length in front, so that no two clients are
written alike; each different one is hashed once.
"""

import hashlib

import pyarrow as pa
import pyarrow.compute as pc

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
        principals: string.
        client_ids: string, same length.
        client_types: string, same length.
    Returns: 32 hexadecimal digits, by BLAKE2b.
    Shape: n rows in, n rows out, same order.
    Nulls: A null is not the empty text.
    """
    return hash_texts(principals, client_ids, client_types)


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
