"""What the kernel of metadata records makes of a record: one struct a record type.

Source: `common/metadata/*.json` of Kafka 4.3.1; RegisterBroker 5 of KIP-1326.
"""

import pyarrow as pa

ENDPOINT_TYPE = pa.struct(
    [
        ("name", pa.string()),
        ("host", pa.string()),
        ("port", pa.int32()),
        ("security_protocol", pa.string()),
    ]
)
"""security_protocol by Kafka's name (PLAINTEXT, SSL, …); an unknown id as digits."""
FEATURE_TYPE = pa.struct(
    [("name", pa.string()), ("min_version", pa.int32()), ("max_version", pa.int32())]
)
STATIC_CONFIG_TYPE = pa.struct([("name", pa.string()), ("value", pa.string())])
QUOTA_ENTITY_TYPE = pa.struct(
    [("entity_type", pa.string()), ("entity_name", pa.string())]
)
"""entity_name is null for the default entity."""
_BROKER_EPOCH = [("broker_id", pa.int32()), ("broker_epoch", pa.int64())]

RECORD_TYPES = {
    "RegisterBroker": pa.struct(
        [
            ("broker_id", pa.int32()),
            ("is_migrating_zk_broker", pa.bool_()),
            ("incarnation_id", pa.string()),
            ("broker_epoch", pa.int64()),
            ("endpoints", pa.list_(ENDPOINT_TYPE)),
            ("features", pa.list_(FEATURE_TYPE)),
            ("rack", pa.string()),
            ("fenced", pa.bool_()),
            ("in_controlled_shutdown", pa.bool_()),
            ("log_dirs", pa.list_(pa.string())),
            ("cordoned_log_dirs", pa.list_(pa.string())),
            ("static_configs", pa.list_(STATIC_CONFIG_TYPE)),
        ]
    ),
    "UnregisterBroker": pa.struct(_BROKER_EPOCH),
    "FenceBroker": pa.struct(_BROKER_EPOCH),
    "UnfenceBroker": pa.struct(_BROKER_EPOCH),
    "BrokerRegistrationChange": pa.struct(
        [
            *_BROKER_EPOCH,
            ("fenced", pa.int8()),
            ("in_controlled_shutdown", pa.int8()),
            ("log_dirs", pa.list_(pa.string())),
            ("cordoned_log_dirs", pa.list_(pa.string())),
        ]
    ),
    "Config": pa.struct(
        [
            ("resource_type", pa.int8()),
            ("resource_name", pa.string()),
            ("name", pa.string()),
            ("value", pa.string()),
        ]
    ),
    "FeatureLevel": pa.struct([("name", pa.string()), ("feature_level", pa.int16())]),
    "ClientQuota": pa.struct(
        [
            ("entity", pa.list_(QUOTA_ENTITY_TYPE)),
            ("key", pa.string()),
            ("value", pa.float64()),
            ("remove", pa.bool_()),
        ]
    ),
}
"""By record type: Kafka's name of the record, without `Record` behind it. A tagged
field that is absent is null, an empty one is empty; what a version lacks is null.
Incarnation ids are base64url texts of 22 characters."""

RECORDS_SCHEMA = pa.schema(
    [
        ("record_type", pa.string()),
        ("record_version", pa.int32()),
        ("frame_error", pa.string()),
        *RECORD_TYPES.items(),
    ]
)
"""One row a record, in order. Of a record with a frame_error all structs are null;
record_type and record_version are what its frame says, where it could be read."""

FRAME_ERRORS = (
    "truncated",
    "unknown_frame_version",
    "unknown_record",
    "unknown_version",
    "malformed",
    "trailing_bytes",
)
