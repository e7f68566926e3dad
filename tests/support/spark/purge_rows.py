"""Rows of tables, as laxer rules than those of the tests of purges had let them be."""

import dataclasses
from pathlib import Path

import pyarrow as pa

from pipelines.settings.client_config_settings import SensitiveKeyRuleSettings
from pipelines.tables.configs import (
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIG_PUSHES,
    CLIENT_CONFIGS,
    CONFIG_VIOLATIONS,
)
from pipelines.tables.dynamic_configs import (
    CLIENT_SUPPORTED_CONFIGS,
    DYNAMIC_CLIENT_CONFIGS,
    DYNAMIC_CONFIG_CHANGES,
)
from pipelines.tables.traffic import CLIENT_TRAFFIC
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS
from tests.support.spark.table_rows import append_rows
from udfs.configs.logical_clients import hash_texts

from .config_rows import entry, held, hours, instance, span

PIN, OTHER_PIN = "svc pin-51a8", "svc pin-62b9"
"""Client ids."""


def rule(name, action, **conditions):
    fields = dataclasses.fields(SensitiveKeyRuleSettings)
    blank = {one.name: False if one.name == "is_custom" else () for one in fields}
    stated = blank | {"name": name, "action": action} | conditions
    return SensitiveKeyRuleSettings(**stated)


def find_text(settings, text):
    """Return the files below the tables that hold a text."""
    return [
        path.name
        for path in sorted(Path(settings.tables.root_path).rglob("*"))
        if path.is_file() and text.encode() in path.read_bytes()
    ]


def hash_of(*texts):
    return hash_texts(*(pa.array([text], pa.string()) for text in texts))[0].as_py()


HIDDEN_CLIENT = hash_of("User:a", "(redacted)", "producer")


def plant_client_ids(settings, push):
    """Write rows of clients whose ids an older set of rules let through."""
    named = {"client_id": PIN, "logical_client": "pin", "principal": "User:a"}
    linger = [entry("linger.ms", "5", "LONG")]
    pushed = push | named | {"offset": 4, "configs": linger, "client_type": "producer"}
    append_rows(settings.tables, CLIENT_CONFIG_PUSHES, pushed)
    said = {"offset": 5, "entry_index": 0, "client_id": PIN, "rule": "r"}
    append_rows(settings.tables, CONFIG_VIOLATIONS, said | {"config_key": "linger.ms"})
    five = {"linger.ms": held("5", "LONG")}
    append_rows(settings.tables, CLIENT_CONFIGS, instance("three", five, **named))
    other = named | {"client_id": OTHER_PIN, "logical_client": "other"}
    known = named | {"client_id": "(redacted)", "logical_client": HIDDEN_CLIENT}
    append_rows(
        settings.tables,
        CLIENT_CONFIG_HISTORY,
        span("linger.ms", "5", 0, 2, client_instance_ids=["three"], **named),
        span("linger.ms", "5", 1, 3, client_instance_ids=["four"], **other),
        span("linger.ms", "5", 3, client_instance_ids=["five"], **known),
        span("linger.ms", "7", 0, 1, client_instance_ids=["five"], **known),
    )
    append_rows(
        settings.tables,
        CLIENT_WIRE_CONFIGS,
        *(
            one
            | {"wire_client": one["client_id"], "config_key": "acks"}
            | {"config_value": value, "received_at": hours(at)}
            for one, value, at in ((named, "old", 1), (other, "new", 2))
        ),
    )


def plant_traffic(settings):
    """Write one time of two clients, of one that is hidden already, and of another."""
    counts = {"produced_bytes": 100, "throttle_ms_max": 30, "push_ids": ["b"]}
    append_rows(
        settings.tables,
        CLIENT_TRAFFIC,
        counts | {"client_id": PIN},
        {"client_id": OTHER_PIN, "produced_bytes": 20, "push_ids": ["a"]},
        {"client_id": "(redacted)", "produced_bytes": 7, "push_ids": ["c"]},
        {"client_id": "app", "produced_bytes": 5},
    )


def plant_dynamic_configs(settings, values):
    """Write configs of a user and of two clients, registrations, and their lines.

    Args:
        values: One that is hidden now, and one of client.rack.
    """
    append_rows(
        settings.tables,
        DYNAMIC_CLIENT_CONFIGS,
        _span("acks", "1", 0, 1),
        _span("acks", values[0], 1),
        _span("client.rack", values[1], 0),
        _span("linger.ms", "5", 0, 2, client_id=PIN),
        _span("linger.ms", "7", 1, client_id=OTHER_PIN, offset=3),
        _span("linger.ms", "9", 1, client_id="(redacted)", offset=4),
    )
    append_rows(
        settings.tables,
        CLIENT_SUPPORTED_CONFIGS,
        _registration(PIN, 1, "acks"),
        _registration(OTHER_PIN, 2, "linger.ms"),
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
    append_rows(settings.tables, DYNAMIC_CONFIG_CHANGES, *rows)


def _span(key, value, start, end=None, *, client_id="", offset=1):
    row = {"user_name": "alice", "client_id": client_id, "config_key": key}
    row |= {"config_value": value, "offset": offset, "valid_from": hours(start)}
    ended = None if end is None else hours(end)
    return row | {"valid_to": ended, "is_current": end is None}


def _registration(client_id, offset, *keys):
    row = {"user_name": "alice", "client_id": client_id, "offset": offset}
    return row | {"config_keys": list(keys), "registered_at": hours(offset)}
