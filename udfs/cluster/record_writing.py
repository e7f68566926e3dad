"""Metadata records of our own, for sources that have none: framed bytes.

Source: KIP-1326 for RegisterBroker 5; common/metadata/*.json of Kafka 4.3.1.
"""

from collections.abc import Sequence

from .record_bytes import Fields, write_record

REGISTER_BROKER_VERSION = 5
ZERO_INCARNATION = "A" * 22
"""Of a broker whose incarnation nobody told."""
UNKNOWN_EPOCH = -1


def write_register_broker(
    *,
    broker_id: int,
    endpoints: Sequence[Fields],
    rack: str | None,
    fenced: bool,
    static_configs: Sequence[tuple[str, str | None]] | None,
    incarnation_id: str = ZERO_INCARNATION,
    broker_epoch: int = UNKNOWN_EPOCH,
    features: Sequence[Fields] = (),
    in_controlled_shutdown: bool = False,
    is_migrating_zk_broker: bool = False,
    log_dirs: Sequence[str] | None = None,
    cordoned_log_dirs: Sequence[str] | None = None,
    version: int = REGISTER_BROKER_VERSION,
) -> bytes:
    """Write a RegisterBroker record.

    Args:
        endpoints: name, host, port and security_protocol (PLAINTEXT, SSL, …) of each.
        static_configs: Names and values.
        features: name, min_version and max_version of each.
        version: What it lacks is left out.
    Nulls: None for static_configs or log directories: not told. A config's None is a
        value. No rack is None.
    """
    fields = {
        "broker_id": broker_id,
        "is_migrating_zk_broker": is_migrating_zk_broker,
        "incarnation_id": incarnation_id,
        "broker_epoch": broker_epoch,
        "endpoints": endpoints,
        "features": features,
        "rack": rack,
        "fenced": fenced,
        "in_controlled_shutdown": in_controlled_shutdown,
        "log_dirs": log_dirs,
        "cordoned_log_dirs": cordoned_log_dirs,
        "static_configs": static_configs
        if static_configs is None
        else [{"name": name, "value": value} for name, value in static_configs],
    }
    return write_record("RegisterBroker", version, fields)


def write_unregister_broker(broker_id: int, broker_epoch: int = UNKNOWN_EPOCH) -> bytes:
    """Write an UnregisterBroker record."""
    fields = {"broker_id": broker_id, "broker_epoch": broker_epoch}
    return write_record("UnregisterBroker", 0, fields)


def write_config(
    resource_type: int, resource_name: str, name: str, value: str | None
) -> bytes:
    """Write a Config record; value None removes the config."""
    fields = {
        "resource_type": resource_type,
        "resource_name": resource_name,
        "name": name,
        "value": value,
    }
    return write_record("Config", 0, fields)


def write_feature_level(name: str, feature_level: int) -> bytes:
    """Write a FeatureLevel record."""
    fields = {"name": name, "feature_level": feature_level}
    return write_record("FeatureLevel", 0, fields)


def write_client_quota(
    entity: Sequence[tuple[str, str | None]], key: str, value: float | None
) -> bytes:
    """Write a ClientQuota record.

    Args:
        entity: Entity types and names; the name None is the default entity.
        value: None removes the quota.
    """
    fields = {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity],
        "key": key,
        "value": 0.0 if value is None else value,
        "remove": value is None,
    }
    return write_record("ClientQuota", 0, fields)
