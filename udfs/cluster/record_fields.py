"""Fields of the metadata records that are read: which, of which type, since when.

Source: common/metadata/*.json of Kafka 4.3.1; RegisterBroker 5 of KIP-1326.
"""

from collections.abc import Mapping
from typing import NamedTuple

FRAME_VERSION = 1
"""The only one; 0 was a preview in Kafka 2.8."""

BOOL, INT8, INT16, UINT16 = "bool", "int8", "int16", "uint16"
INT32, INT64, FLOAT64 = "int32", "int64", "float64"
STRING = "string"
UUID = "uuid"
"""A base64url text of 22 characters, as Kafka prints its Uuid."""
PROTOCOL = "protocol"
"""An int16; its name in SECURITY_PROTOCOLS, or its digits."""

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""By id. Source: SecurityProtocol of Kafka 4.3.1."""


class Field(NamedTuple):
    """One field of a record, or of the items of an array in one."""

    name: str
    """As the Arrow schema has it."""
    kind: str
    since: int = 0
    """First version of the record that has it."""
    tag: int | None = None
    """None: in its place. Otherwise it stands among the tagged fields, or is absent."""
    is_nullable: bool = False
    is_array: bool = False
    items: "tuple[Field, ...]" = ()
    """Of an array of structs; kind says nothing then."""


class RecordFields(NamedTuple):
    """One type of record."""

    api_key: int
    latest: int
    """Versions 0 up to this one are read."""
    fields: tuple[Field, ...]


def _array(
    name: str,
    items: tuple[Field, ...],
    *,
    since: int = 0,
    tag: int | None = None,
) -> Field:
    return Field(name, "", since, tag, is_array=True, items=items)


def _uuids(name: str, since: int, tag: int, *, is_nullable: bool = False) -> Field:
    return Field(name, UUID, since, tag, is_nullable=is_nullable, is_array=True)


_ENDPOINT = (
    Field("name", STRING),
    Field("host", STRING),
    Field("port", UINT16),
    Field("security_protocol", PROTOCOL),
)
_FEATURE = (
    Field("name", STRING),
    Field("min_version", INT16),
    Field("max_version", INT16),
)
_STATIC_CONFIG = (Field("name", STRING), Field("value", STRING, is_nullable=True))
_QUOTA_ENTITY = (
    Field("entity_type", STRING),
    Field("entity_name", STRING, is_nullable=True),
)
_BROKER_EPOCH = (Field("broker_id", INT32), Field("broker_epoch", INT64))

RECORD_FIELDS: Mapping[str, RecordFields] = {
    "RegisterBroker": RecordFields(
        0,
        5,
        (
            Field("broker_id", INT32),
            Field("is_migrating_zk_broker", BOOL, since=2),
            Field("incarnation_id", UUID),
            Field("broker_epoch", INT64),
            _array("endpoints", _ENDPOINT),
            _array("features", _FEATURE),
            Field("rack", STRING, is_nullable=True),
            Field("fenced", BOOL),
            Field("in_controlled_shutdown", BOOL, since=1),
            _uuids("log_dirs", since=3, tag=0),
            _uuids("cordoned_log_dirs", since=4, tag=1, is_nullable=True),
            _array("static_configs", _STATIC_CONFIG, since=5, tag=2),
        ),
    ),
    "UnregisterBroker": RecordFields(1, 0, _BROKER_EPOCH),
    "FenceBroker": RecordFields(7, 0, _BROKER_EPOCH),
    "UnfenceBroker": RecordFields(8, 0, _BROKER_EPOCH),
    "BrokerRegistrationChange": RecordFields(
        17,
        3,
        (
            *_BROKER_EPOCH,
            Field("fenced", INT8, tag=0),
            Field("in_controlled_shutdown", INT8, since=1, tag=1),
            _uuids("log_dirs", since=2, tag=2),
            _uuids("cordoned_log_dirs", since=3, tag=3, is_nullable=True),
        ),
    ),
    "Config": RecordFields(
        4,
        0,
        (
            Field("resource_type", INT8),
            Field("resource_name", STRING),
            Field("name", STRING),
            Field("value", STRING, is_nullable=True),
        ),
    ),
    "FeatureLevel": RecordFields(
        12, 0, (Field("name", STRING), Field("feature_level", INT16))
    ),
    "ClientQuota": RecordFields(
        14,
        0,
        (
            _array("entity", _QUOTA_ENTITY),
            Field("key", STRING),
            Field("value", FLOAT64),
            Field("remove", BOOL),
        ),
    ),
}
"""By record type; the only types that are ever published."""
TOPIC_FIELDS: Mapping[str, RecordFields] = {
    "Topic": RecordFields(2, 0, (Field("name", STRING), Field("topic_id", UUID))),
    "RemoveTopic": RecordFields(9, 0, (Field("topic_id", UUID),)),
}
"""By record type; read to find the configs of removed topics, never published."""

BEGIN_TRANSACTION, END_TRANSACTION, ABORT_TRANSACTION = 23, 24, 25
"""API keys of the records around a metadata transaction."""
RECORD_NAMES: Mapping[int, str] = {
    **{one.api_key: name for name, one in RECORD_FIELDS.items()},
    **{one.api_key: name for name, one in TOPIC_FIELDS.items()},
    3: "Partition",
    5: "PartitionChange",
    10: "DelegationToken",
    11: "UserScramCredential",
    15: "ProducerIds",
    18: "AccessControlEntry",
    19: "RemoveAccessControlEntry",
    20: "NoOp",
    21: "ZkMigrationState",
    22: "RemoveUserScramCredential",
    BEGIN_TRANSACTION: "BeginTransaction",
    END_TRANSACTION: "EndTransaction",
    ABORT_TRANSACTION: "AbortTransaction",
    26: "RemoveDelegationToken",
    27: "RegisterController",
    28: "ClearElr",
}
"""API key to record type, of all records that Kafka 4.3.1 has."""


def name_record(api_key: int) -> str:
    """Return the type of a record; `record-<API key>` where Kafka has none."""
    return RECORD_NAMES.get(api_key, f"record-{api_key}")
