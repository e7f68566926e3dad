"""One record of the cluster's topic, as the histories take it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from .record_schemas import RECORD_TYPES

OK = "ok"
FULL_SET = "full_set"
"""record_type of the record that closes a full set."""
ADMIN_API = "admin_api"
"""Who sees broker and values, and neither incarnations nor exact times."""
_TIME = pa.timestamp("us", "UTC")

FULL_SET_TYPE = pa.struct([("records", pa.int64()), ("covers", pa.list_(pa.string()))])
CLUSTER_RECORD_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("record_key", pa.string()),
        ("cluster_id", pa.string()),
        ("source", pa.string()),
        ("valid_from", _TIME),
        ("not_before", _TIME),
        ("observed_at", _TIME),
        ("metadata_offset", pa.int64()),
        ("metadata_epoch", pa.int32()),
        ("set_id", pa.string()),
        ("static_configs_status", pa.string()),
        ("defaults", pa.string()),
        ("withheld", pa.int32()),
        ("decode_status", pa.string()),
        ("record_type", pa.string()),
        ("record_version", pa.int32()),
        (FULL_SET, FULL_SET_TYPE),
        *RECORD_TYPES.items(),
    ]
)
"""What the decode of the topic hands to the histories, one row a record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRecord:
    """A record whose envelope was read."""

    topic: str
    partition: int
    offset: int
    key: str | None
    cluster_id: str
    source: str
    at: int
    """When it was so: microseconds since 1970."""
    not_before: int | None = None
    """The last look that saw the former state; null: `at` is exact."""
    observed_at: int | None = None
    """When the cluster was polled, or the file was read."""
    metadata_offset: int | None = None
    metadata_epoch: int | None = None
    set_id: str | None = None
    static_configs: str | None = None
    """What became of the question for static configs, where one was asked."""
    defaults: frozenset[str] | None = None
    """Names of static configs that have Kafka's default; null: not told."""
    withheld: int = 0
    """Entries that hold secrets and were left out."""
    status: str = OK
    """OK, or the fault of its frame."""
    record_type: str | None = None
    record_version: int | None = None
    fields: Mapping[str, Any] | None = None
    """Those of its type; null where it was not read."""

    @property
    def is_of_admin_api(self) -> bool:
        """Return whether a look has found it, and no log."""
        return self.source == ADMIN_API


def iter_records(rows: pa.Table) -> Iterator[ClusterRecord]:
    """Return records in the order of their offsets.

    Args:
        rows: CLUSTER_RECORD_SCHEMA; one topic and partition.
    """
    whole = rows.select(CLUSTER_RECORD_SCHEMA.names).cast(CLUSTER_RECORD_SCHEMA)
    for name in ("valid_from", "not_before", "observed_at"):
        place = whole.schema.get_field_index(name)
        whole = whole.set_column(place, name, whole.column(name).cast(pa.int64()))
    for row in whole.sort_by(
        [("partition", "ascending"), ("offset", "ascending")]
    ).to_pylist():
        defaults, record_type = row["defaults"], row["record_type"]
        is_read = row["decode_status"] == OK
        yield ClusterRecord(
            topic=row["topic"],
            partition=row["partition"],
            offset=row["offset"],
            key=row["record_key"],
            cluster_id=row["cluster_id"],
            source=row["source"],
            at=row["valid_from"],
            not_before=row["not_before"],
            observed_at=row["observed_at"],
            metadata_offset=row["metadata_offset"],
            metadata_epoch=row["metadata_epoch"],
            set_id=row["set_id"],
            static_configs=row["static_configs_status"],
            defaults=None if defaults is None else frozenset(defaults.split(",")),
            withheld=row["withheld"] or 0,
            status=row["decode_status"],
            record_type=record_type,
            record_version=row["record_version"],
            fields=row[record_type] if is_read and record_type else None,
        )
