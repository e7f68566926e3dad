"""How fast quotas are resolved: the kernel, beside a reference that goes step by step.

    python -m tests.bench.quotas [clients]

A million different clients of 20,000 users against 10,000 entities of all kinds, all
five keys, one core; three rounds, each with its reference. A first call is told by
itself: it pays for memory that the machine had not handed out before.
"""

import os
import random
import sys
import time

import pyarrow as pa

from tests.support.quotas.quota_reference import resolve_all
from tests.support.quotas.quota_rows import CLIENT_SCHEMA, as_tuples, entity_batch
from udfs.quotas import QUOTA_KEYS, quota_snapshot, resolve_quotas

CLIENTS, USERS, ENTITIES = 1_000_000, 20_000, 10_000
REFERENCE_CLIENTS = 20_000
ROUNDS = 3
SEED = 20_261_125


def make_clients(count):
    """Return different clients."""
    return pa.RecordBatch.from_arrays(
        [
            pa.array([f"User:user-{place % USERS}" for place in range(count)]),
            pa.array([f"service-client-{place}" for place in range(count)]),
            pa.array([f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in range(count)]),
        ],
        schema=CLIENT_SCHEMA,
    )


def make_entities(count, choose):
    """Return quotas of as many different entities, of every kind."""
    numbers = range(count // 4)
    keys = QUOTA_KEYS[:-1]
    paths = [f"users/user-{place * 7 % USERS}" for place in numbers]
    paths += [f"clients/service-client-{place * 251}" for place in numbers]
    paths += [
        f"users/user-{place * 3 % USERS}/clients/service-client-{place * 3}"
        for place in numbers
    ]
    defaults = [
        "users/<default>",
        "clients/<default>",
        "users/<default>/clients/<default>",
    ]
    quotas = [(path, {choose.choice(keys): 1 + len(path)}) for path in paths]
    quotas += [(path, {keys[place]: 7}) for place, path in enumerate(defaults)]
    quotas += [(f"ips/10.0.{n >> 8}.{n & 255}", {QUOTA_KEYS[-1]: 5}) for n in numbers]
    return entity_batch(quotas)


def measure(clients, entities):
    """Time one round of both; return rows a second."""
    begin = time.process_time()
    snapshot = quota_snapshot(entities)
    made = time.process_time()
    resolved = resolve_quotas(clients, snapshot)
    done = time.process_time()
    few = clients.slice(0, REFERENCE_CLIENTS)
    triples = list(zip(*(column.to_pylist() for column in few.columns), strict=True))
    rows = entities.to_pylist()
    begun = time.process_time()
    expected = resolve_all(rows, triples)
    ended = time.process_time()
    assert as_tuples(resolved.slice(0, len(expected))) == expected
    fast = resolved.num_rows / (done - made)
    slow = len(expected) / (ended - begun)
    return made - begin, fast, slow


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else CLIENTS
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    pa.set_cpu_count(1)
    choose = random.Random(SEED)  # noqa: S311 - no secret is made of it
    clients, entities = make_clients(count), make_entities(ENTITIES, choose)
    print(f"{count} clients, {entities.num_rows} entities, {len(QUOTA_KEYS)} keys")
    begun = time.process_time()
    first = resolve_quotas(clients, quota_snapshot(entities)).num_rows
    print(f"first call: {first / (time.process_time() - begun) / 1e6:.2f} M/s")
    for number in range(1, ROUNDS + 1):
        snapshot_s, fast, slow = measure(clients, entities)
        print(
            f"round {number}: snapshot {snapshot_s * 1000:.0f} ms, kernel "
            f"{fast / 1e6:.2f} M/s, reference {slow / 1e6:.3f} M/s, "
            f"{fast / slow:.0f} times"
        )


if __name__ == "__main__":
    main()
