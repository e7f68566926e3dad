"""Who a client stays is told apart by every text of it."""

import itertools

import pyarrow as pa

from udfs.configs.logical_clients import hash_logical_clients

HASHES = [
    "648700ce5977a234f5903c51ad0f044b",
    "feea9a8b4c4692b6bc7e9a3a445955da",
]
"""Of two clients, as tables hold them."""
TEXTS = ["", None, "a", "1:a", "a1:", "-", "ä"]


def hash_all(rows):
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    arrays = [pa.array(list(column), pa.string()) for column in columns]
    return hash_logical_clients(*arrays).to_pylist()


def test_no_two_clients_have_one_hash():
    rows = list(itertools.product(TEXTS, repeat=3))
    hashes = hash_all(rows)
    assert len(set(hashes)) == len(rows)
    assert all(len(one) == 32 for one in hashes)


def test_a_client_keeps_its_hash():
    """Tables hold it: another way to write it would make other clients of all."""
    rows = [("User:a", None, "producer"), ("User:a", "x", None)]
    hashes = hash_all(rows)
    assert hash_all(rows[1:]) == hashes[1:]
    assert hashes == HASHES
    assert hash_all([]) == []
