"""Quota entities and clients for tests: from paths, and at random."""

import pyarrow as pa

from udfs.cluster.record_keys import sanitize
from udfs.quotas import ENTITY_SCHEMA, QUOTA_KEYS, parse_entity_path

CLIENT_SCHEMA = pa.schema(
    [
        ("user_name", pa.string()),
        ("client_id", pa.string()),
        ("client_source_address", pa.string()),
    ]
)
NAMES = ("u1", "u2", "CN=a b*~", "<default>", "mé", "x/y")
CLIENT_IDS = ("c1", "c2", "<default>", "ü %", "a:b")
ADDRESSES = ("10.0.0.1", "10.0.0.2", "::1")


def entity_rows(quotas):
    """Return rows of ENTITY_SCHEMA.

    Args:
        quotas: Pairs of path and value, or of path and key to value; of a value alone
            the key is producer_byte_rate.
    """
    rows = []
    for path, value in quotas:
        values = value if isinstance(value, dict) else {"producer_byte_rate": value}
        entity = parse_entity_path(path)
        rows += [entity.row(key, float(one)) for key, one in values.items()]
    return rows


def entity_batch(quotas):
    return batch_of(entity_rows(quotas))


def batch_of(rows):
    return pa.RecordBatch.from_pylist(rows, schema=ENTITY_SCHEMA)


def client_batch(clients):
    """Return clients: triples, or pairs where the address does not matter."""
    rows = [(*one, "10.0.0.1")[:3] for one in clients]
    return pa.RecordBatch.from_pylist(
        [dict(zip(CLIENT_SCHEMA.names, row, strict=True)) for row in rows],
        schema=CLIENT_SCHEMA,
    )


def random_entities(choose):
    """Return rows of some entities, each once a key."""
    kinds = choose.sample(range(4), choose.randint(0, 3))
    rows = {}
    for _ in range(choose.randint(0, 8)):
        if not kinds:
            break
        path = _random_path(choose, choose.choice(kinds))
        keys = QUOTA_KEYS[-1:] if path.startswith("ips") else QUOTA_KEYS[:2]
        rows[path, choose.choice(keys)] = choose.randint(1, 9)
    return entity_rows((path, {key: value}) for (path, key), value in rows.items())


def _random_path(choose, kind):
    user, client = (_random_name(choose, names) for names in (NAMES, CLIENT_IDS))
    address = choose.choice((*ADDRESSES, "<default>"))
    address = address.replace(":", "%3A")
    return (
        f"users/{user}",
        f"clients/{client}",
        f"users/{user}/clients/{client}",
        f"ips/{address}",
    )[kind]


def _random_name(choose, names):
    if choose.random() < 0.4:
        return "<default>"
    return sanitize(choose.choice(names))


def random_clients(choose, count):
    """Return triples; some have no client id, and some an empty user."""
    users = [*(f"User:{name}" for name in NAMES), "u1", "User:other", ""]
    ids = (*CLIENT_IDS, "c9", "", None)
    return [
        (choose.choice(users), choose.choice(ids), choose.choice(ADDRESSES))
        for _ in range(count)
    ]


def as_tuples(resolved):
    """Return the rows of RESOLVED_SCHEMA as tuples."""
    columns = [column.to_pylist() for column in resolved.columns]
    return list(zip(*columns, strict=True))
