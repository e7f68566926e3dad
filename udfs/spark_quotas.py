"""The kernel of quotas as DataFrame steps; its meaning stands there."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.pandas import functions
from pyspark.sql.types import (
    ArrayType,
    DoubleType,
    IntegerType,
    StringType,
    StructField,
    StructType,
)

from udfs.quotas import (
    ENTITY_SCHEMA,
    QUOTA_KEYS,
    QuotaSnapshot,
    quota_snapshot,
    resolve_quotas,
)

from .spark_types import arrow_schema
from .spark_workers import keeping_loaded

__all__ = ["QUOTA_TYPE", "explode_quotas", "make_quota_of", "snapshot_of"]

QUOTA_TYPE = StructType(
    [
        StructField("quota_key", StringType()),
        StructField("limit", DoubleType()),
        StructField("level", IntegerType()),
        StructField("entity_path", StringType()),
        StructField("quota_id", StringType()),
        StructField("user_tag", StringType()),
        StructField("client_id_tag", StringType()),
    ]
)
"""What one key means for a client, as the kernel's RESOLVED_SCHEMA has it."""
# The stubs lack the form whose kind is told by its hints.
_pandas_udf: Any = functions.pandas_udf
_QUOTAS = "quotas"
_NO_QUOTAS = quota_snapshot(pa.RecordBatch.from_pylist([], schema=ENTITY_SCHEMA))


def snapshot_of(client_quotas: DataFrame) -> QuotaSnapshot:
    """Collect quotas, which are few, for the kernel.

    Args:
        client_quotas: Rows of one cluster and moment.
    """
    rows = client_quotas.select(*ENTITY_SCHEMA.names).toArrow()
    whole = rows.cast(ENTITY_SCHEMA).combine_chunks().to_batches()
    return quota_snapshot(whole[0]) if whole else _NO_QUOTAS


def explode_quotas(
    clients: DataFrame, quotas: Mapping[str, QuotaSnapshot]
) -> DataFrame:
    """Make a row of each client and quota key; use with transform.

    Args:
        clients: cluster_id, principal, client_id, client_source_address, and more.
        quotas: By cluster id; of another cluster nothing is set.
    Returns: The columns of clients, then QUOTA_TYPE.
    Shape: Five rows a client.
    Nulls: As in `quotas.resolve_quotas`.
    """
    # A row a key would repeat the client's columns on the way out of Python.
    of_client = StructField(_QUOTAS, ArrayType(QUOTA_TYPE))
    returned = StructType([*clients.schema.fields, of_client])
    schema = arrow_schema(returned)

    def resolve(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for cluster_id in pc.unique(batch.column("cluster_id")).to_pylist():
                is_own = pc.equal(batch.column("cluster_id"), cluster_id)
                own = batch.filter(is_own)
                of_cluster = quotas.get(cluster_id, _NO_QUOTAS)
                columns = [*own.columns, _resolve_list(own, of_cluster)]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    resolved = clients.mapInArrow(keeping_loaded(resolve), returned)
    return resolved.select(*clients.columns, F.inline(_QUOTAS))


def _resolve_list(clients: pa.RecordBatch, quotas: QuotaSnapshot) -> pa.Array:
    resolved = resolve_quotas(
        _kernel_clients(
            *map(clients.column, ("principal", "client_id", "client_source_address"))
        ),
        quotas,
    )
    fields = list(arrow_schema(QUOTA_TYPE))
    found = [resolved.column(field.name).cast(field.type) for field in fields]
    starts = np.arange(clients.num_rows + 1, dtype=np.int32) * len(QUOTA_KEYS)
    rows = pa.StructArray.from_arrays(found, fields=fields)
    return pa.ListArray.from_arrays(pa.array(starts), rows)


def _kernel_clients(
    users: pa.Array, client_ids: pa.Array, addresses: pa.Array
) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [users, client_ids, addresses],
        names=["user_name", "client_id", "client_source_address"],
    )


def make_quota_of(quotas: QuotaSnapshot) -> Any:  # noqa: ANN401 - pyspark types it so
    """Return the limit of a user, client id and quota key as a function of Spark.

    Nulls: null where nothing limits, and for what is no key of users and client ids.
    """

    def quota_of(
        user: pd.Series, client_id: pd.Series, quota_key: pd.Series
    ) -> pd.Series:
        return pd.Series(_limits(user, client_id, quota_key, quotas), index=user.index)

    return _pandas_udf(quota_of, DoubleType())


def _limits(
    user: pd.Series, client_id: pd.Series, quota_key: pd.Series, quotas: QuotaSnapshot
) -> Sequence[Any]:
    users, client_ids = (
        pa.array(one, pa.string(), from_pandas=True) for one in (user, client_id)
    )
    addresses = pa.nulls(len(user), pa.string())
    keys = QUOTA_KEYS[:-1]
    resolved = resolve_quotas(
        _kernel_clients(users, client_ids, addresses), quotas, keys
    )
    wanted = pa.array(quota_key, pa.string(), from_pandas=True)
    places = pc.index_in(wanted, value_set=pa.array(keys))
    first = pa.array(range(0, len(keys) * len(user), len(keys)), pa.int64())
    rows = pc.add(first, places.cast(pa.int64()))
    limits: Sequence[Any] = (
        resolved.column("limit").take(rows).to_numpy(zero_copy_only=False)
    )
    return limits
