"""BrokerRegistrationRequest 0 to 6: what a broker says of itself to its controller.

Strategy: read by the cursor, as kio knows versions up to 4. What a registration says is
kept as the RegisterBroker record that a controller makes of it, in the first version
that has all its fields, so that nothing is told that the broker did not.
What comes back when bytes are short or bad: MalformedBytes, and nothing else.
Source: BrokerRegistrationRequest.json of Kafka 4.3.1; KIP-1326 for versions 5 and 6:
CordonedLogDirs is tag 0, StaticConfigs stands behind PreviousBrokerEpoch.
"""

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from pipelines.kafka_client.primitives import Cursor, MalformedBytes
from udfs.cluster.record_bytes import format_uuid, name_protocol
from udfs.cluster.record_writing import write_register_broker

API_KEY = 62
LATEST_VERSION = 6
_RECORD_VERSIONS = {0: 1, 1: 2, 2: 3, 3: 3, 4: 3, 5: 4, 6: 5}
"""Version of the request to that of the record."""
_MIGRATION_SINCE, _LOG_DIRS_SINCE, _EPOCH_SINCE = 1, 2, 3
_CORDONED_SINCE, _STATIC_CONFIGS_SINCE = 5, 6
_CORDONED_TAG = 0
_PORT_AND_PROTOCOL = struct.Struct(">Hh")
_RANGE = struct.Struct(">hh")
_UUID = struct.Struct("16s")
_LISTENER_BYTES = 1 + 1 + _PORT_AND_PROTOCOL.size + 1
_FEATURE_BYTES = 1 + _RANGE.size + 1
_CONFIG_BYTES = 1 + 1 + 1


class BrokerRegistration(NamedTuple):
    """What a broker registers with."""

    cluster_id: str
    broker_id: int
    previous_broker_epoch: int | None
    """Before a clean shutdown; None where the version does not say."""
    record: bytes
    """The framed RegisterBroker record, with epoch -1: the controller gives it one."""


def read_broker_registration(body: bytes, api_version: int) -> BrokerRegistration:
    """Read the body of a request.

    Raises: MalformedBytes, also for a version beyond 6.
    """
    if not 0 <= api_version <= LATEST_VERSION:
        raise MalformedBytes(f"BrokerRegistrationRequest {api_version}")
    cursor = Cursor(body)
    broker_id = cursor.read_int32()
    cluster_id = _read_text(cursor)
    told: dict[str, Any] = {
        "incarnation_id": _read_uuid(cursor),
        "endpoints": _read_array(cursor, _read_listener, _LISTENER_BYTES),
        "features": _read_array(cursor, _read_feature, _FEATURE_BYTES),
        "rack": cursor.read_compact_string(),
    }
    if api_version >= _MIGRATION_SINCE:
        told["is_migrating_zk_broker"] = cursor.read_bool()
    if api_version >= _LOG_DIRS_SINCE:
        told["log_dirs"] = _read_array(cursor, _read_uuid, _UUID.size)
    epoch = None
    if api_version >= _EPOCH_SINCE:
        epoch = cursor.read_int64()
    static_configs = None
    if api_version >= _STATIC_CONFIGS_SINCE:
        static_configs = _read_array(cursor, _read_static_config, _CONFIG_BYTES)
    told |= _read_tags(cursor, api_version)
    if cursor.remaining_bytes:
        raise MalformedBytes(f"{cursor.remaining_bytes} bytes behind the request")
    record = write_register_broker(
        broker_id=broker_id,
        fenced=True,  # As every broker is that registers.
        static_configs=static_configs,
        version=_RECORD_VERSIONS[api_version],
        **told,
    )
    return BrokerRegistration(cluster_id, broker_id, epoch, record)


def _read_tags(cursor: Cursor, api_version: int) -> dict[str, Any]:
    told = {}
    for _ in range(cursor.read_uvarint()):
        tag = cursor.read_uvarint()
        content = Cursor(cursor.take(cursor.read_uvarint()))
        if tag != _CORDONED_TAG or api_version < _CORDONED_SINCE:
            continue
        told["cordoned_log_dirs"] = _read_array(content, _read_uuid, _UUID.size)
        if content.remaining_bytes:
            raise MalformedBytes("a tagged field does not fill its size")
    return told


def _read_array(
    cursor: Cursor, read: Callable[[Cursor], Any], item_bytes: int
) -> list[Any]:
    length = cursor.read_array_length(is_compact=True, item_bytes=item_bytes)
    if length is None:
        raise MalformedBytes("an array is null")
    return [read(cursor) for _ in range(length)]


def _read_listener(cursor: Cursor) -> dict[str, Any]:
    name, host = _read_text(cursor), _read_text(cursor)
    port, protocol = cursor.unpack(_PORT_AND_PROTOCOL)
    cursor.skip_tagged_fields()
    return {
        "name": name,
        "host": host,
        "port": port,
        "security_protocol": name_protocol(protocol),
    }


def _read_feature(cursor: Cursor) -> dict[str, Any]:
    name = _read_text(cursor)
    min_version, max_version = cursor.unpack(_RANGE)
    cursor.skip_tagged_fields()
    return {"name": name, "min_version": min_version, "max_version": max_version}


def _read_static_config(cursor: Cursor) -> tuple[str, str | None]:
    name, value = _read_text(cursor), cursor.read_compact_string()
    cursor.skip_tagged_fields()
    return name, value


def _read_uuid(cursor: Cursor) -> str:
    (raw,) = cursor.unpack(_UUID)
    return format_uuid(raw)


def _read_text(cursor: Cursor) -> str:
    text = cursor.read_compact_string()
    if text is None:
        raise MalformedBytes("a text is null")
    return text
