"""A table client_configs of many clients, made in minutes.

Spark takes an hour of CPU for ten million maps of eleven structs. Here most columns are
dictionaries, and Arrow writes the files; Delta is told of them in one commit.
"""

import base64
import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipelines.delta_tables.kernel import AddedFile, KernelTable
from pipelines.tables.configs import CLIENT_CONFIGS
from pipelines.tables.contract import create_statement

KEYS = (
    "acks", "batch.size", "buffer.memory", "client.id", "compression.type",
    "delivery.timeout.ms", "enable.idempotence", "linger.ms",
    "max.in.flight.requests.per.connection", "request.timeout.ms", "retries",
)  # fmt: skip
ROWS_PER_FILE = 500_000
START_US = 1_767_225_600_000_000
_TYPED = (("value_boolean", pa.bool_()), ("value_long", pa.int64()), ("value_double", pa.float64()), ("value_list", pa.list_(pa.string())))  # fmt: skip


def make_table(spark, path, clients):
    """Create the table with so many clients; number `id` has the key of make_rows."""
    spark.sql(create_statement(CLIENT_CONFIGS, f"delta.`{path}`"))
    added = []
    for first in range(0, clients, ROWS_PER_FILE):
        rows = make_rows(first, min(first + ROWS_PER_FILE, clients))
        name = f"part-{first:010}.snappy.parquet"
        pq.write_table(rows, Path(path, name), store_schema=False)
        added.append(describe_file(rows, name, Path(path, name)))
    table = KernelTable(spark, CLIENT_CONFIGS.name, f"file:{path}")
    table.append(added, app_id="bench", version=0)


def describe_file(rows, name, path):
    """Return what an append adds."""
    keys = rows.column("client_instance_id")
    lowest, highest = (f(keys).as_py() for f in (pc.min, pc.max))
    name_of = "client_instance_id"
    statistics = {
        "numRecords": rows.num_rows,
        "minValues": {name_of: lowest},
        "maxValues": {name_of: highest},
        "nullCount": {name_of: 0},
    }
    return AddedFile(
        path=name, size=path.stat().st_size, statistics=json.dumps(statistics)
    )


def make_rows(first, last):
    """Return rows of client_configs."""
    count = last - first
    digests = [hashlib.md5(b"%d" % one) for one in range(first, last)]  # noqa: S324 - a number
    keys = [base64.urlsafe_b64encode(one.digest())[:22].decode() for one in digests]
    texts = pa.array([one.hexdigest() for one in digests])
    names = pa.array([f"app-{one}" for one in range(first, last)])
    columns = {
        "client_instance_id": pa.array(keys),
        "client_id": names,
        "principal": repeat("User:service", count),
        "client_software_name": repeat("apache-kafka-java", count),
        "client_software_version": repeat("4.3.1", count),
        "client_source_address": repeat("10.0.0.1", count),
        "client_type": repeat("producer", count),
        "logical_client": texts,
        "received_at": pa.array(np.full(count, START_US), pa.timestamp("us", "UTC")),
        "push_id": pc.binary_join_element_wise(texts, "0000", ""),
        "configs": make_configs(names),
        "content_hash": texts,
        "topic": repeat("clientele.configs", count),
        "partition": pa.array(np.zeros(count, np.int32)),
        "offset": pa.array(np.arange(first, last)),
    }
    names = [name for name in CLIENT_CONFIGS.column_names if name in columns]
    return pa.table({name: columns[name] for name in names})


def repeat(text, count):
    """Return a column of one text."""
    return pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), [text])


def make_configs(names):
    """Return the map of each client: KEYS, of which only client.id differs."""
    count, size = len(names), len(KEYS)
    words = pa.concat_arrays([pa.array([f"value-{len(key)}" for key in KEYS]), names])
    which = np.tile(np.arange(size, dtype=np.int32), count)
    is_default = pa.array(np.array([len(key) % 2 == 0 for key in KEYS])[which])
    keys = pa.DictionaryArray.from_arrays(which, list(KEYS))
    which = which.copy()
    which[KEYS.index("client.id") :: size] = size + np.arange(count)
    values = pa.DictionaryArray.from_arrays(which, words)
    total = count * size
    fields = {
        "config_value": values,
        "config_type": repeat("STRING", total),
        "is_default": is_default,
        "status": repeat("overridden", total),
        **{name: pa.nulls(total, kind) for name, kind in _TYPED},
        "value_string": values,
    }
    items = pa.StructArray.from_arrays(list(fields.values()), names=list(fields))
    offsets = np.arange(0, total + 1, size, dtype=np.int32)
    return pa.MapArray.from_arrays(offsets, keys, items)
