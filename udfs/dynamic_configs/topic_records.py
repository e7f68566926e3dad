"""One record of the topic of dynamic client configs, as the histories take it."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

ALTERATION, REGISTRATION = "alteration", "registration"
REGISTRATIONS = "registrations"
"""Values of record_type; the last one tells that the registrations' topic has grown."""
_TIME = pa.timestamp("us", "UTC")

TOPIC_RECORD_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("record_type", pa.string()),
        ("at", _TIME),
        ("altered_by", pa.string()),
        ("user_name", pa.string()),
        ("client_id", pa.string()),
        ("is_default_client_id", pa.bool_()),
        ("config_key", pa.string()),
        ("config_value", pa.string()),
        ("client_software_name", pa.string()),
        ("client_software_version", pa.string()),
        ("config_keys", pa.list_(pa.string())),
    ]
)
"""What the decode of the topic hands to the histories, one row a record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRecord:
    """A record that was read."""

    topic: str
    partition: int
    offset: int
    record_type: str
    at: int
    """When the bridge took it: microseconds since 1970."""
    user_name: str
    """Empty: of nobody, as in REGISTRATIONS."""
    client_id: str = ""
    """Empty: none, or the default."""
    is_default_client_id: bool = False
    altered_by: str | None = None
    config_key: str | None = None
    """Of an alteration."""
    config_value: str | None = None
    """Null: the config is removed."""
    client_software_name: str | None = None
    """Of a registration, as the rest."""
    client_software_version: str | None = None
    config_keys: tuple[str, ...] | None = None
    """Null: the registration is gone."""


def iter_records(rows: pa.Table) -> Iterator[TopicRecord]:
    """Return records in the order of their offsets.

    Args:
        rows: TOPIC_RECORD_SCHEMA; one topic and partition.
    """
    whole = rows.select(TOPIC_RECORD_SCHEMA.names).cast(TOPIC_RECORD_SCHEMA)
    place = whole.schema.get_field_index("at")
    whole = whole.set_column(place, "at", whole.column("at").cast(pa.int64()))
    ordered = whole.sort_by([("partition", "ascending"), ("offset", "ascending")])
    for row in ordered.to_pylist():
        keys = row["config_keys"]
        yield TopicRecord(**row | {"config_keys": None if keys is None else (*keys,)})
