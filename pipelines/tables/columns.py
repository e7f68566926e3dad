"""The columns of the Delta tables: name, SQL type, nullability, comment.

A group of columns that several tables share is stated once. Times are UTC; nanosecond
times of the wire stay whole numbers beside the microseconds that Spark can hold.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    name: str
    sql_type: str
    """As Spark SQL writes it."""
    comment: str
    """What readers of the table are told."""
    is_nullable: bool = True
    """False is enforced by Delta at every write."""


def required(name: str, sql_type: str, comment: str) -> Column:
    """Return a column that is never null."""
    return Column(name, sql_type, comment, is_nullable=False)


def without_requirements(columns: Sequence[Column]) -> tuple[Column, ...]:
    """Return the same columns for rows that may lack any of them."""
    return tuple(replace(column, is_nullable=True) for column in columns)


COORDINATES = (
    required("topic", "STRING", "Kafka topic that the record was read from."),
    required("partition", "INT", "Kafka partition of the record."),
    required("offset", "BIGINT", "Kafka offset of the record in its partition."),
)

EVENT_DATE = required("event_date", "DATE", "Date of received_at in UTC; partitions.")

RECEIVED = (
    required("received_at", "TIMESTAMP", "When the bridge received the push (UTC)."),
    required("push_id", "STRING", "Made by the bridge; unique per accepted push."),
)

CLIENT = (
    required(
        "client_instance_id",
        "STRING",
        "Client instance id as Kafka prints a Uuid: base64url, 22 characters.",
    ),
    Column("client_id", "STRING", "client.id of the connection; null when unset."),
    required("principal", "STRING", "Authenticated principal of the connection."),
    required(
        "client_software_name",
        "STRING",
        "ClientSoftwareName of ApiVersions; `unknown` when it was not sent.",
    ),
    required(
        "client_software_version",
        "STRING",
        "ClientSoftwareVersion of ApiVersions; `unknown` when it was not sent.",
    ),
    required("client_source_address", "STRING", "Address that the client came from."),
)

CONNECTION = (
    required("client_source_port", "INT", "Port that the client came from."),
    required("listener", "STRING", "Listener of the bridge that took the push."),
    required("bridge_id", "STRING", "Bridge that took the push."),
)

IDENTITY = (*CLIENT, *CONNECTION)
"""Who a client is, and by which connection."""

CLUSTER = (
    Column(
        "cluster_id",
        "STRING",
        "Cluster that the connection was for; null: it had not said its id.",
    ),
    Column(
        "broker_id",
        "INT",
        "Broker behind the proxy's port; null: the connection ended at the bridge.",
    ),
)
"""Where a connection led."""

SUBSCRIPTION = (
    required("subscription_id", "INT", "SubscriptionId of the push, as Kafka's crc."),
    required("push_interval_ms", "INT", "Push interval of the client, milliseconds."),
    required(
        "compression_type",
        "STRING",
        "Codec of the body by Kafka's name; another text is kept as received.",
    ),
    required("terminating", "BOOLEAN", "Whether the client said it was its last push."),
)

CLIENT_TYPE = Column(
    "client_type",
    "STRING",
    "producer, consumer, share_consumer, admin or streams, by the names of the "
    "metrics; null when they do not say.",
)

MEMBERSHIP = (
    Column("group_id", "STRING", "Consumer group; resource attribute."),
    Column("group_instance_id", "STRING", "Static member id; resource attribute."),
    Column("group_member_id", "STRING", "Member id; resource attribute."),
    Column("transactional_id", "STRING", "Transactional id; resource attribute."),
    Column("client_rack", "STRING", "client.rack; resource attribute."),
)

DISTRIBUTION_TYPE = (
    "STRUCT<count: BIGINT, sum: DOUBLE, min: DOUBLE, max: DOUBLE, "
    "explicit_bounds: ARRAY<DOUBLE>, bucket_counts: ARRAY<BIGINT>, scale: INT, "
    "zero_count: BIGINT, zero_threshold: DOUBLE, positive_offset: INT, "
    "positive_bucket_counts: ARRAY<BIGINT>, negative_offset: INT, "
    "negative_bucket_counts: ARRAY<BIGINT>, "
    "quantiles: ARRAY<STRUCT<quantile: DOUBLE, value: DOUBLE>>>"
)

POINT_INDEX = required("point_index", "INT", "Place of the point in its push, from 0.")

POINT = (
    required("metric", "STRING", "Metric name as sent."),
    Column("description", "STRING", "Description; null when unset."),
    Column("unit", "STRING", "Unit; null when unset."),
    required(
        "kind",
        "STRING",
        "gauge, sum, histogram, exponential_histogram or summary.",
    ),
    Column(
        "temporality",
        "STRING",
        "unspecified, delta or cumulative; null for a gauge and a summary.",
    ),
    Column("is_monotonic", "BOOLEAN", "Whether a sum only grows; null otherwise."),
    Column("flags", "BIGINT", "DataPointFlags, as sent."),
    Column("value_double", "DOUBLE", "as_double; NaN and infinities are kept."),
    Column("value_long", "BIGINT", "as_int; integers stay integers."),
    Column(
        "distribution",
        DISTRIBUTION_TYPE,
        "Counts, buckets and quantiles; null for a gauge and a sum.",
    ),
    Column("time_unix_nano", "BIGINT", "Time of the point, ns since 1970; null: none."),
    Column("start_time_unix_nano", "BIGINT", "Start of its interval, ns since 1970."),
    Column("time", "TIMESTAMP", "time_unix_nano, cut to microseconds (UTC)."),
    Column("attributes", "MAP<STRING, STRING>", "Point attributes, names normalised."),
    Column("topic_name", "STRING", "Point attribute topic."),
    Column("topic_partition", "INT", "Point attribute partition; null: not an int."),
    Column(
        "node_id",
        "STRING",
        "Broker ID in decimal digits, from the point attribute node_id (or node.id), "
        "which attributes keeps as sent; negative for a bootstrap connection. As sent "
        "if its spelling is unknown.",
    ),
    *MEMBERSHIP,
    Column("resource_attributes", "MAP<STRING, STRING>", "Other resource attributes."),
    Column("scope_name", "STRING", "Instrumentation scope; null when unset."),
    Column("scope_version", "STRING", "Version of that scope; null when unset."),
    Column(
        "point_error",
        "STRING",
        "What could not be stored: time_out_of_range, count_out_of_range, or null.",
    ),
    Column(
        "node_role",
        "STRING",
        "Connection that node_id names: broker, coordinator (to the same broker), or "
        "bootstrap; null without a node.",
    ),
)

BODY = Column("body", "BINARY", "Metrics field of the push, exactly as received.")


def names(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the names of the columns, in order."""
    return tuple(column.name for column in columns)
