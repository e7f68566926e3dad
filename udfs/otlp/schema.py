"""Arrow schemas of data points and of what became of each push."""

from dataclasses import dataclass

import pyarrow as pa

OK = "ok"
NULL_VALUE = "null_value"
TRUNCATED_OTLP = "truncated_otlp"
MALFORMED_OTLP = "malformed_otlp"
INVALID_UTF8 = "invalid_utf8"

TIME_OUT_OF_RANGE = "time_out_of_range"
COUNT_OUT_OF_RANGE = "count_out_of_range"

TEXT_MAP = pa.map_(pa.string(), pa.string())
QUANTILE = pa.struct([("quantile", pa.float64()), ("value", pa.float64())])
DISTRIBUTION = pa.struct(
    [
        ("count", pa.int64()),
        ("sum", pa.float64()),
        ("min", pa.float64()),
        ("max", pa.float64()),
        ("explicit_bounds", pa.list_(pa.float64())),
        ("bucket_counts", pa.list_(pa.int64())),
        ("scale", pa.int32()),
        ("zero_count", pa.int64()),
        ("zero_threshold", pa.float64()),
        ("positive_offset", pa.int32()),
        ("positive_bucket_counts", pa.list_(pa.int64())),
        ("negative_offset", pa.int32()),
        ("negative_bucket_counts", pa.list_(pa.int64())),
        ("quantiles", pa.list_(QUANTILE)),
    ]
)
IDENTITY_ATTRIBUTES = (
    "group_id",
    "group_instance_id",
    "group_member_id",
    "transactional_id",
    "client_rack",
)
IDENTITY_FIELDS = [(name, pa.string()) for name in IDENTITY_ATTRIBUTES]
POINT_SCHEMA = pa.schema(
    [
        ("point_index", pa.int32()),
        ("metric", pa.string()),
        ("description", pa.string()),
        ("unit", pa.string()),
        ("kind", pa.string()),
        ("temporality", pa.string()),
        ("is_monotonic", pa.bool_()),
        ("flags", pa.int64()),
        ("value_double", pa.float64()),
        ("value_long", pa.int64()),
        ("distribution", DISTRIBUTION),
        ("time_unix_nano", pa.int64()),
        ("start_time_unix_nano", pa.int64()),
        ("time", pa.timestamp("us", "UTC")),
        ("attributes", TEXT_MAP),
        ("topic_name", pa.string()),
        ("topic_partition", pa.int32()),
        ("node_id", pa.string()),
        *IDENTITY_FIELDS,
        ("resource_attributes", TEXT_MAP),
        ("scope_name", pa.string()),
        ("scope_version", pa.string()),
        ("point_error", pa.string()),
        ("node_role", pa.string()),
    ]
)
PUSH_SCHEMA = pa.schema(
    [
        ("decode_status", pa.string()),
        ("detail", pa.string()),
        ("point_count", pa.int32()),
        ("client_type", pa.string()),
        *IDENTITY_FIELDS,
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedPushes:
    """Some pushes, in the order they came in, and all their data points."""

    pushes: pa.RecordBatch
    """PUSH_SCHEMA, one row a push."""
    points: pa.RecordBatch
    """POINT_SCHEMA, the points of all pushes one after the other."""
    offsets: pa.Int32Array
    """Points of push i are points[offsets[i]:offsets[i + 1]]; one more than pushes."""
