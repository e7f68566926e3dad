"""Quotas now and after a change: which clients get another limit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading.quota_clients import REPORTED
from udfs.quotas import (
    ENTITY_SCHEMA,
    Alteration,
    alter_quotas,
    quota_snapshot,
    resolve_quotas,
)

_ORDER = ("principal", "client_id", "client_source_address")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What observed clients have now, and would have."""

    observed: int
    """Different principals with a client id."""
    rows: Sequence[Row]
    """Of clients and keys whose limit, or its entity, differs; by principal, client id
    and key. Of a connection_creation_rate, one an address."""
    throttled: Sequence[tuple[str, float]]
    """Clients of quota-ids with a new limit whose reported rates together exceed that
    limit on all live brokers, and the sum of these rates."""

    @property
    def changes(self) -> Iterator[Row]:
        """The rows, each once: the addresses of a client are left out."""
        yield from dict.fromkeys(self.rows)

    def list_concerned(self, path: str, quota_key: str) -> list[str]:
        """Return the clients that an entity's quota limits, now or then."""
        found = {
            f"{row['principal']} {row['client_id']}".strip()
            for row in self.rows
            if row["quota_key"] == quota_key
            and path in {row["entity_path_now"], row["entity_path_then"]}
        }
        return sorted(found)


def compare(
    clients: DataFrame,
    quotas: DataFrame,
    alterations: Sequence[Alteration],
    keys: Sequence[str],
    live_brokers: int | None,
) -> Comparison:
    """Resolve the quotas of clients before and after changes.

    Args:
        clients: From select_quota_clients, of one cluster.
        quotas: Rows of client_quotas of it that are current.
        keys: Quota keys that are looked at.
        live_brokers: Number of live brokers, each of which applies a limit; None:
            unknown, so that throttled is empty.
    """
    rates = [
        F.col("reports")[key].getField("reported_rate").alias(key) for key in REPORTED
    ]
    found = clients.select(*_ORDER, *rates).orderBy(*_ORDER).toArrow()
    batch = pa.RecordBatch.from_arrays(
        [_whole(found, name) for name in found.column_names], names=found.column_names
    )
    entities = quotas.select(*ENTITY_SCHEMA.names).toArrow().cast(ENTITY_SCHEMA)
    whole = pa.RecordBatch.from_arrays(
        [_whole(entities, name) for name in entities.column_names],
        schema=ENTITY_SCHEMA,
    )
    return compare_clients(batch, whole, alterations, keys, live_brokers)


def compare_clients(
    clients: pa.RecordBatch,
    quotas: pa.RecordBatch,
    alterations: Sequence[Alteration],
    keys: Sequence[str],
    live_brokers: int | None,
) -> Comparison:
    """Do what compare does, for collected rows.

    Args:
        clients: principal, client_id, client_source_address, and the reported rate of
            each key of REPORTED, in a column with its name.
        quotas: ENTITY_SCHEMA.
    """
    names = ["user_name", "client_id", "client_source_address"]
    asked = clients.select([*_ORDER]).rename_columns(names)
    # A key that nothing changes cannot make a difference.
    touched = [key for key in keys if key in {one.quota_key for one in alterations}]
    now, then = (
        resolve_quotas(asked, quota_snapshot(one), touched)
        for one in (quotas, alter_quotas(quotas, alterations))
    )
    pairs = zip(*(_columns(clients, name) for name in _ORDER[:2]), strict=True)
    return Comparison(
        observed=len({*pairs}),
        rows=_list_changes(clients, now, then),
        throttled=_find_throttled(clients, now, then, live_brokers or 0),
    )


def _whole(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    one: pa.Array = (
        pa.concat_arrays(column.chunks)
        if column.num_chunks
        else pa.array([], column.type)
    )
    return one


def _columns(batch: pa.RecordBatch, name: str) -> list[str]:
    values: list[str] = batch.column(name).to_pylist()
    return values


def _list_changes(
    clients: pa.RecordBatch, now: pa.RecordBatch, then: pa.RecordBatch
) -> list[Row]:
    is_other = _differs(now.column("limit"), then.column("limit"))
    paths = [one.column("entity_path").cast(pa.string()) for one in (now, then)]
    places = pc.indices_nonzero(pc.or_(is_other, _differs(*paths)))
    of_client = clients.take(now.column("client_index").take(places)).to_pylist()
    before, after = (one.take(places).to_pylist() for one in (now, then))
    return [
        Row(
            principal=client["principal"],
            client_id=client["client_id"],
            quota_key=old["quota_key"],
            limit_now=old["limit"],
            entity_path_now=old["entity_path"],
            limit_then=new["limit"],
            entity_path_then=new["entity_path"],
        )
        for client, old, new in zip(of_client, before, after, strict=True)
    ]


def _find_throttled(
    clients: pa.RecordBatch, now: pa.RecordBatch, then: pa.RecordBatch, brokers: int
) -> list[tuple[str, float]]:
    changed = _differs(now.column("limit"), then.column("limit"))
    places = then.column("client_index")
    found = []
    for key in REPORTED:
        of_key = pc.equal(then.column("quota_key"), key)
        named = pa.table(
            {
                "quota_id": then.column("quota_id"),
                "name": _name_clients(clients).take(places),
                "rate": clients.column(key).take(places),
                "limit": then.column("limit"),
                "changed": changed,
            }
        ).filter(of_key)
        shared = named.group_by("quota_id", use_threads=False).aggregate(
            [
                *(("name", "min"), ("name", "count_distinct"), ("rate", "sum")),
                *(("limit", "max"), ("changed", "any")),
            ]
        )
        for row in shared.filter(pc.field("changed_any")).to_pylist():
            rate, limit = row["rate_sum"], row["limit_max"]
            if brokers and None not in (rate, limit) and rate > limit * brokers:
                others = row["name_count_distinct"] - 1
                name = row["name_min"] + (f" and {others} more" if others else "")
                found.append((name, rate))
    return sorted(found)


def _name_clients(clients: pa.RecordBatch) -> pa.Array:
    client_ids = clients.column("client_id")
    is_named = pc.not_equal(client_ids, "")
    names: pa.Array = pc.if_else(is_named, client_ids, clients.column("principal"))
    return names


def _differs(first: pa.Array, second: pa.Array) -> pa.BooleanArray:
    """Say where two columns differ; two nulls do not."""
    is_known = pc.equal(pc.is_null(first), pc.is_null(second))
    is_same = pc.fill_null(pc.equal(first, second), True)
    return pc.invert(pc.and_(is_known, is_same))
