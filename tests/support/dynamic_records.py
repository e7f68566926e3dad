"""Records of the topic of dynamic client configs, as a bridge writes them."""

import random
from datetime import UTC, datetime

from udfs.dynamic_configs import (
    ConfigRecord,
    DynamicRecord,
    SupportedRecord,
    record_key,
    record_value,
)

TOPIC = "client_configs"
START_MS = 1_795_000_000_000
"""Of all tests: 2026-11-18."""
KAFKA_TIME = datetime(2026, 11, 18, tzinfo=UTC)
RECORD_DDL = (
    "topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, key BINARY, "
    "value BINARY"
)
DEFAULT = object()
"""The user's default client id."""


def altered(value, ms=0, *, key="acks", user="alice", client=None, by="User:admin"):
    """Return what sets a config, or removes it: None.

    Args:
        client: A client id, DEFAULT, or None for the user's own.
    """
    is_default = client is DEFAULT
    client_id = None if is_default else client
    return ConfigRecord(user, client_id, is_default, key, value, by, START_MS + ms)


def registered(*keys, ms=0, user="alice", client="app", version="1"):
    """Return a registration; of keys that are (None,) one that is forgotten."""
    said = None if keys == (None,) else keys
    return SupportedRecord(user, client, "library", version, said, START_MS + ms)


def as_pair(record):
    """Return key and value; of what is pairs already, these."""
    if not isinstance(record, DynamicRecord):
        return record
    is_forgotten = isinstance(record, SupportedRecord) and record.config_keys is None
    return record_key(record), None if is_forgotten else record_value(record)


def place(records, first=0):
    """Return rows of Kafka's source, one offset after the other."""
    return [
        (TOPIC, 0, offset, KAFKA_TIME, *as_pair(record))
        for offset, record in enumerate(records, first)
    ]


def random_records(seed, count=60):
    """Return alterations and registrations of few names, so that they meet."""
    chosen = random.Random(seed)  # noqa: S311 - no secret
    records = []
    for _ in range(count):
        # Some come at one time, some before those that were written before them.
        ms = chosen.randrange(20)
        client = chosen.choice([None, DEFAULT, "app", "app-2"])
        if chosen.random() < 0.2:
            keys = chosen.sample(["acks", "session.timeout.ms"], chosen.randrange(1, 3))
            records.append(registered(*keys, ms=ms, client=chosen.choice([None, "a"])))
        else:
            value = chosen.choice(["0", "1", None])
            key = chosen.choice(["acks", "session.timeout.ms"])
            user = chosen.choice(["alice", "bob"])
            records.append(altered(value, ms, key=key, user=user, client=client))
    return records
