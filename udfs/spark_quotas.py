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

__all__ = [
    "QUOTA_TYPE",
    "explode_quotas",
    "make_quota_of",
    "snapshot_of",
    "snapshots_of",
]

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
_QUOTA_OF_ARGUMENTS = (3, 4)
_NO_QUOTAS = quota_snapshot(pa.RecordBatch.from_pylist([], schema=ENTITY_SCHEMA))


def snapshot_of(client_quotas: DataFrame) -> QuotaSnapshot:
    """Collect quotas, which are few, for the kernel.

    Args:
        client_quotas: Rows of one cluster and moment.
    """
    return _make_snapshot(client_quotas.select(*ENTITY_SCHEMA.names).toArrow())


def snapshots_of(client_quotas: DataFrame) -> dict[str, QuotaSnapshot]:
    """Collect the quotas of each cluster; return them by cluster ID.

    Args:
        client_quotas: Rows of one moment.
    """
    rows = client_quotas.select("cluster_id", *ENTITY_SCHEMA.names).toArrow()
    clusters = rows.column("cluster_id")
    return {
        one: _make_snapshot(rows.filter(pc.equal(clusters, one)).drop(["cluster_id"]))
        for one in pc.unique(clusters).to_pylist()
    }


def _make_snapshot(rows: pa.Table) -> QuotaSnapshot:
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


def make_quota_of(quotas: Mapping[str, QuotaSnapshot]) -> Any:  # noqa: ANN401 - pyspark types it so
    """Return a function of Spark for the limit of a user, client ID and quota key.

    Its fourth argument, the cluster ID, is optional if there is one cluster.

    Args:
        quotas: By cluster ID.
    Returns: A function that returns null if the client is unlimited, the key is not one
        of users and client IDs, or the cluster is unknown. It raises ValueError without
        a cluster ID if there are several clusters.
    """

    def quota_of(*columns: pd.Series) -> pd.Series:
        if len(columns) not in _QUOTA_OF_ARGUMENTS:
            raise ValueError(
                f"quota_of: got {len(columns)} arguments. "
                f"Pass user, client_id, quota_key and, optionally, cluster_id."
            )
        user, client_id, quota_key, *clusters = columns
        if clusters:
            return _limits_by_cluster((user, client_id, quota_key), clusters[0], quotas)
        if len(quotas) > 1:
            known = ", ".join(sorted(quotas))
            raise ValueError(
                f"quota_of: client_quotas contains several clusters: {known}. "
                f"Pass the cluster ID as fourth argument."
            )
        only = next(iter(quotas.values()), _NO_QUOTAS)
        return pd.Series(_limits(user, client_id, quota_key, only), index=user.index)

    return _pandas_udf(quota_of, DoubleType())


def _limits_by_cluster(
    asked: tuple[pd.Series, pd.Series, pd.Series],
    clusters: pd.Series,
    quotas: Mapping[str, QuotaSnapshot],
) -> pd.Series:
    """Return limits; a client of an unknown cluster belongs to the only cluster."""
    found = pd.Series(np.nan, index=clusters.index, dtype="float64")
    named = clusters.fillna(next(iter(quotas)) if len(quotas) == 1 else "")
    for cluster_id, of_cluster in quotas.items():
        is_own = named == cluster_id
        if is_own.any():
            user, client_id, quota_key = (column[is_own] for column in asked)
            limits = _limits(user, client_id, quota_key, of_cluster)
            found[is_own] = np.asarray(limits, dtype="float64")
    return found


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
