"""Rows of clients' data and of dynamic client configs, as laxer rules had let them be."""

from pipelines.tables.dynamic_configs import (
    CLIENT_SUPPORTED_CONFIGS,
    DYNAMIC_CLIENT_CONFIGS,
    DYNAMIC_CONFIG_CHANGES,
)
from pipelines.tables.traffic import CLIENT_TRAFFIC

from .config_rows import append, hours


def plant_traffic(spark, settings, client_ids):
    """Write one time of two clients, of one that is hidden already, and of another."""
    pin, other = client_ids
    counts = {"produced_bytes": 100, "throttle_ms_max": 30, "push_ids": ["b"]}
    append(
        spark,
        settings,
        CLIENT_TRAFFIC,
        counts | {"client_id": pin},
        {"client_id": other, "produced_bytes": 20, "push_ids": ["a"]},
        {"client_id": "(redacted)", "produced_bytes": 7, "push_ids": ["c"]},
        {"client_id": "app", "produced_bytes": 5},
    )


def plant_dynamic_configs(spark, settings, client_ids, values):
    """Write configs of a user and of two clients, registrations, and their lines.

    Args:
        client_ids: Two that are hidden now.
        values: One that is hidden now, and one of client.rack.
    """
    append(
        spark,
        settings,
        DYNAMIC_CLIENT_CONFIGS,
        _span("acks", "1", 0, 1),
        _span("acks", values[0], 1),
        _span("client.rack", values[1], 0),
        _span("linger.ms", "5", 0, 2, client_id=client_ids[0]),
        _span("linger.ms", "7", 1, client_id=client_ids[1], offset=3),
        _span("linger.ms", "9", 1, client_id="(redacted)", offset=4),
    )
    append(
        spark,
        settings,
        CLIENT_SUPPORTED_CONFIGS,
        _registration(client_ids[0], 1, "acks"),
        _registration(client_ids[1], 2, "linger.ms"),
        _registration("app", 3, "acks", "client.rack"),
    )
    lines = (
        ("users/alice", f"acks 1 -> {values[0]}"),
        ("users/alice", f"client.rack set to {values[1]}"),
        ("users/alice/clients/svc%20pin-51a8", "linger.ms set to 5"),
        ("users/alice/clients/app", "library 1 supports acks, client.rack"),
        ("users/alice/clients/<default>", None),
    )
    rows = [
        {"offset": offset, "entity": entity, "change": change}
        | {"record_type": "registration" if offset == 4 else "alteration"}
        for offset, (entity, change) in enumerate(lines, 1)
    ]
    append(spark, settings, DYNAMIC_CONFIG_CHANGES, *rows)


def _span(key, value, start, end=None, *, client_id="", offset=1):
    row = {"user_name": "alice", "client_id": client_id, "config_key": key}
    row |= {"config_value": value, "offset": offset, "valid_from": hours(start)}
    ended = None if end is None else hours(end)
    return row | {"valid_to": ended, "is_current": end is None}


def _registration(client_id, offset, *keys):
    row = {"user_name": "alice", "client_id": client_id, "offset": offset}
    return row | {"config_keys": list(keys), "registered_at": hours(offset)}
