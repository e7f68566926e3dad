"""Quotas as they are, beside what they would be: who would be limited otherwise."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What observed clients have now, and would have."""

    observed: int
    """Different principals with a client id."""
    rows: Sequence[Row]
    """Of clients and keys whose limit, or its entity, differs; by principal, client id
    and key. Of a connection_creation_rate, one an address."""

    @property
    def changes(self) -> Iterator[Row]:
        """The rows without addresses, each once."""
        seen = set()
        for row in self.rows:
            known = row.asDict()
            told = {name: known[name] for name in known if name != "reported_rate"}
            name = tuple(told.values())
            if name not in seen:
                seen.add(name)
                yield Row(**told)

    @property
    def throttled(self) -> Iterator[tuple[str, float]]:
        """Clients that report a higher rate than the limit that they would have."""
        rates: dict[tuple[str, str, str], list[Row]] = {}
        for row in self.rows:
            name = row["principal"], row["client_id"], row["quota_key"]
            rates.setdefault(name, []).append(row)
        for (principal, client_id, _), rows in rates.items():
            rate = sum(row["reported_rate"] or 0.0 for row in rows)
            limit = rows[0]["limit_then"]
            if limit is not None and rate > limit:
                yield client_id or principal, rate

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
) -> Comparison:
    """Resolve the quotas of clients before and after changes.

    Args:
        clients: From select_quota_clients, of one cluster.
        quotas: Rows of client_quotas of it that are current.
        keys: Quota keys that are looked at.
    """
    rates = [
        F.col("reports")[key].getField("reported_rate").alias(key) for key in REPORTED
    ]
    order = ("principal", "client_id", "client_source_address")
    found = clients.select(*order, *rates).orderBy(*order).toArrow()
    batch = pa.RecordBatch.from_arrays(
        [_whole(found, name) for name in found.column_names], names=found.column_names
    )
    entities = quotas.select(*ENTITY_SCHEMA.names).toArrow().cast(ENTITY_SCHEMA)
    whole = pa.RecordBatch.from_arrays(
        [_whole(entities, name) for name in entities.column_names],
        schema=ENTITY_SCHEMA,
    )
    names = ["user_name", "client_id", "client_source_address"]
    asked = batch.select([*order]).rename_columns(names)
    # A key that nothing changes cannot make a difference.
    touched = [key for key in keys if key in {one.quota_key for one in alterations}]
    now, then = (
        resolve_quotas(asked, quota_snapshot(one), touched)
        for one in (whole, alter_quotas(whole, alterations))
    )
    pairs = zip(*(_columns(batch, name) for name in order[:2]), strict=True)
    return Comparison(observed=len({*pairs}), rows=_list_changes(batch, now, then))


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
            reported_rate=client.get(old["quota_key"]),
        )
        for client, old, new in zip(of_client, before, after, strict=True)
    ]


def _differs(first: pa.Array, second: pa.Array) -> pa.BooleanArray:
    """Say where two columns differ; two nulls do not."""
    is_known = pc.equal(pc.is_null(first), pc.is_null(second))
    is_same = pc.fill_null(pc.equal(first, second), True)
    return pc.invert(pc.and_(is_known, is_same))
