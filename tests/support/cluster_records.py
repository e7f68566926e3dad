"""Records of the cluster's topic, as a feed writes them."""

import dataclasses
import json
import random
from datetime import UTC, datetime

import pyarrow as pa

from udfs.cluster.record_keys import (
    broker_entity,
    config_entity,
    feature_entity,
    full_set_key,
    quota_entity_path,
    record_key,
)
from udfs.cluster.record_writing import (
    write_client_quota,
    write_config,
    write_feature_level,
    write_register_broker,
    write_unregister_broker,
)
from udfs.files.cluster_record_files import KEYED_RECORD_SCHEMA

TOPIC = "cluster"
START_MS = 1_795_000_000_000
"""Of all tests: 2026-11-18."""
CLUSTER = "cluster-1"
KAFKA_TIME = datetime(2026, 11, 18, tzinfo=UTC)
BROKER, TOPIC_CONFIG, METRICS, GROUP = 4, 2, 16, 32
RECORD_DDL = (
    "topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, key BINARY, "
    "value BINARY, headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sent:
    """A record before it has a place in the topic."""

    key: str
    value: bytes | None
    ms: int = 0
    """Since START_MS."""
    source: str = "admin_api"
    headers: dict = dataclasses.field(default_factory=dict)


def sent(key, value, ms=0, *, source="admin_api", **headers):
    """Return a record; a header that is None is left out."""
    known = {name: str(text) for name, text in headers.items() if text is not None}
    return Sent(key=key, value=value, ms=ms, source=source, headers=known)


def endpoint(port=9092, host="127.0.0.1", protocol="PLAINTEXT"):
    return {
        "name": protocol,
        "host": host,
        "port": port,
        "security_protocol": protocol,
    }


def broker(number, ms=0, configs=None, **options):
    """Return a registration; options of the record and headers together."""
    names = (
        *("endpoints", "rack", "fenced", "incarnation_id", "broker_epoch", "version"),
        *("features", "log_dirs", "cordoned_log_dirs", "in_controlled_shutdown"),
    )
    fields = {"endpoints": [endpoint(9090 + number)], "rack": None, "fenced": False}
    fields |= {name: options.pop(name) for name in names if name in options}
    told = None if configs is None else list(configs.items())
    value = write_register_broker(broker_id=number, static_configs=told, **fields)
    key = record_key("RegisterBroker", broker_entity(number))
    return sent(key, value, ms, **options)


def gone(number, ms=0, **options):
    key = record_key("UnregisterBroker", broker_entity(number))
    return sent(key, write_unregister_broker(number), ms, **options)


def config(kind, name, key, value, ms=0, **options):
    topic_key = record_key("Config", config_entity(kind, name), key)
    return sent(topic_key, write_config(kind, name, key, value), ms, **options)


def quota(entity, key, value, ms=0, **options):
    """Return a quota; the entity by type, None being the default."""
    parts = [(kind.replace("_", "-"), name) for kind, name in entity.items()]
    topic_key = record_key("ClientQuota", quota_entity_path(parts), key)
    return sent(topic_key, write_client_quota(parts, key, value), ms, **options)


def level(number, ms=0, **options):
    key = record_key("FeatureLevel", feature_entity("metadata.version"))
    value = write_feature_level("metadata.version", number)
    return sent(key, value, ms, source="metadata_log", **options)


def full_set(
    records,
    ms=0,
    set_id="set-1",
    covers=("brokers", "configs", "quotas", "subscriptions"),
    count=None,
    **options,
):
    """Return the records of a set, and the one that closes it."""
    named = [
        dataclasses.replace(one, headers=one.headers | {"set_id": set_id})
        for one in records
    ]
    said = {"v": 1, "records": len(named) if count is None else count}
    value = json.dumps(said | {"covers": list(covers)}).encode()
    return [*named, sent(full_set_key(set_id), value, ms, set_id=set_id, **options)]


def place(records, first=0):
    """Return rows of Spark's Kafka source."""
    rows = []
    for offset, one in enumerate(records, first):
        headers = {
            "cluster_id": CLUSTER,
            "source": one.source,
            "observed_at_ms": str(START_MS + one.ms),
        } | one.headers
        if one.source != "admin_api":
            headers.setdefault("timestamp_ms", str(START_MS + one.ms))
        encoded = [(name, text.encode()) for name, text in headers.items()]
        key = None if one.key is None else one.key.encode()
        rows.append((TOPIC, 0, offset, KAFKA_TIME, key, one.value, encoded))
    return rows


def as_batch(rows):
    """Return such rows as a worker gets them."""
    names = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
    known = [dict(zip(names, row, strict=True)) for row in rows]
    for one in known:
        one["headers"] = [{"key": k, "value": v} for k, v in one["headers"]]
    return pa.RecordBatch.from_pylist(known, schema=KEYED_RECORD_SCHEMA)


def random_records(seed):
    """Return records of a small cluster, of which sets may be cut off."""
    rng = random.Random(seed)  # noqa: S311 - a test

    def one(at):
        value = rng.choice([None, "1", "2"])
        number = rng.randint(1, 2)
        return rng.choice(
            [
                lambda: broker(
                    number,
                    at,
                    {"log.segment.bytes": value, "x": "1"} if value else None,
                    endpoints=[endpoint(rng.choice([1, 2]))],
                    defaults=rng.choice(["", "log.segment.bytes"]),
                ),
                lambda: gone(number, at),
                lambda: config(BROKER, str(number), "log.segment.bytes", value, at),
                lambda: config(BROKER, "", "log.segment.bytes", value, at),
                lambda: config(
                    METRICS, "s", rng.choice(["metrics", "interval.ms"]), value, at
                ),
                lambda: quota(
                    {"user": rng.choice(["a", None])},
                    "producer_byte_rate",
                    None if value is None else float(value),
                    at,
                ),
            ]
        )()

    records, at = [], 0
    for number in range(25):
        at += rng.choice([-1, 0, 0, 1, 3])
        made = [one(at) for _ in range(rng.randint(1, 4))]
        if rng.random() < 0.3:
            count = rng.choice([len(made), len(made), len(made) + 1])
            made = full_set(made, at, set_id=f"set-{number}", count=count)
        records += made
    return records
