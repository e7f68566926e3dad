"""Configurations of the sample fleet, pushed by clients or inferred by the proxy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from udfs.configs.content_hashes import hash_entries
from udfs.configs.histories import HOLDING_SCHEMA, make_histories
from udfs.configs.logical_clients import hash_logical_clients, hash_texts
from udfs.configs.value_columns import VALUE_TYPE, type_values
from udfs.text_codes import code_texts

from .sample_columns import describe
from .sample_fleet import AMSTERDAM, CONSUMER, PRODUCER, Instance

Row = dict[str, Any]
CONFIG_TOPIC, WIRE_TOPIC = "clientele.configs", "clientele.wire_configs"
_DEFAULTS = {
    PRODUCER: {
        "acks": ("STRING", "all"),
        "batch.size": ("INT", "16384"),
        "buffer.memory": ("LONG", "33554432"),
        "compression.type": ("STRING", "none"),
        "delivery.timeout.ms": ("INT", "120000"),
        "enable.idempotence": ("BOOLEAN", "true"),
        "linger.ms": ("LONG", "5"),
        "max.in.flight.requests.per.connection": ("INT", "5"),
        "request.timeout.ms": ("INT", "30000"),
        "retries": ("INT", "2147483647"),
    },
    CONSUMER: {
        "auto.offset.reset": ("STRING", "latest"),
        "enable.auto.commit": ("BOOLEAN", "true"),
        "fetch.max.wait.ms": ("INT", "500"),
        "fetch.min.bytes": ("INT", "1"),
        "isolation.level": ("STRING", "read_uncommitted"),
        "max.poll.interval.ms": ("INT", "300000"),
        "max.poll.records": ("INT", "500"),
        "session.timeout.ms": ("INT", "45000"),
    },
}
"""Client type to key to type and default, for keys that KIP-1324 clients push."""
_OTHER_TYPES = {"client.id": "STRING", "group.id": "STRING"}
_SECRET_TYPE = "PASSWORD"  # noqa: S105 - the name of a type
_TYPED = tuple(one.name for one in VALUE_TYPE if one.name != "value_error")


@dataclass(frozen=True, slots=True)
class _Push:
    """One pushed configuration."""

    instance: Instance
    received_at: datetime
    push_id: str
    configs: list[Row]


def make_config_rows(instances: Sequence[Instance]) -> dict[str, list[Row]]:
    """Return rows of the tables of pushed configurations, by name of the table."""
    pushes = sorted(_list_pushes(instances), key=lambda one: one.received_at)
    rows = [_row_of(push, offset) for offset, push in enumerate(pushes)]
    newest = {row["client_instance_id"]: row for row in rows}
    return {
        "client_config_pushes": rows,
        "client_configs": [
            row | {"configs": _type_entries(row["configs"])} for row in newest.values()
        ],
        "client_config_history": _make_history(pushes, rows),
        "config_defaults": _make_defaults(rows),
        "config_violations": list(_list_violations(rows)),
    }


def make_wire_rows(instances: Sequence[Instance]) -> list[Row]:
    """Return rows of client_wire_configs, one for each client and key."""
    rows = []
    for one in instances:
        for key, value in _seen_on_wire(one).items():
            who = (one.principal, one.client_id, one.client_type)
            # Before its last push: the proxy sees nothing of it afterwards.
            received_at = one.last_push - timedelta(minutes=1)
            rows.append(
                describe(one)
                | {
                    "wire_client": _hash(*who, one.address),
                    "logical_client": _hash_client(one),
                    "config_key": key,
                    "config_value": value,
                    "config_type": _DEFAULTS[one.client_type].get(key, ("STRING",))[0],
                    "is_exact": (key, value) != ("compression.type", "none"),
                    "other_names": [],
                    "received_at": received_at,
                    "push_id": f"sample-wire-{one.number}",
                    "topic": WIRE_TOPIC,
                    "partition": 0,
                    "offset": one.number,
                }
            )
    return rows


def _seen_on_wire(one: Instance) -> Mapping[str, str]:
    if one.wire is not None:
        return one.wire
    acks = (one.pushed or {}).get("acks")
    is_seen = one.cluster_id == AMSTERDAM and one.client_type == PRODUCER and acks
    return {"acks": str(acks)} if is_seen else {}


def _list_pushes(instances: Sequence[Instance]) -> Iterator[_Push]:
    for one in instances:
        # Clients push their configuration before their first telemetry.
        first = one.first_push - timedelta(milliseconds=200)
        half = first + (one.ended - one.started) / 2
        for place, (at, told) in enumerate(((first, one.pushed), (half, one.repushed))):
            if told is not None:
                push_id = f"sample-config-{one.number}-{place}"
                yield _Push(one, at, push_id, list(_list_entries(one, told)))


def _list_entries(one: Instance, told: Mapping[str, str | None]) -> Iterator[Row]:
    known = _DEFAULTS[one.client_type]
    names = {"client.id": one.client_id, "group.id": one.group_id}
    values = {key: value for key, value in names.items() if value} | dict(told)
    for key in sorted(known.keys() | values.keys()):
        kind, default = known.get(key, (_OTHER_TYPES.get(key, _SECRET_TYPE), None))
        if key == "linger.ms" and one.software_version < "4":
            default = "0"
        is_default = key not in values
        yield {
            "config_key": key,
            "config_value": default if is_default else values[key],
            "config_type": kind,
            "is_default": is_default,
        }


def _row_of(push: _Push, offset: int) -> Row:
    one, entries = push.instance, push.configs
    texts = {
        name: pa.array([entry[name] for entry in entries], pa.string())
        for name in ("config_key", "config_value", "config_type")
    }
    (content_hash,) = hash_entries(
        np.array([len(entries)], np.int64),
        code_texts(texts["config_key"]),
        texts["config_value"],
        code_texts(texts["config_type"]),
        np.array([entry["is_default"] for entry in entries], np.bool_),
    )
    return describe(one) | {
        "topic": CONFIG_TOPIC,
        "partition": 0,
        "offset": offset,
        "event_date": push.received_at.date(),
        "received_at": push.received_at,
        "push_id": push.push_id,
        "logical_client": _hash_client(one),
        "decode_status": "ok",
        "content_hash": content_hash,
        "configs": entries,
    }


def _hash_client(one: Instance) -> str:
    columns = [
        pa.array([text], pa.string())
        for text in (one.principal, one.client_id, one.client_type)
    ]
    return str(hash_logical_clients(*columns)[0].as_py())


def _hash(*texts: str | None) -> str:
    return str(hash_texts(*(pa.array([one], pa.string()) for one in texts))[0].as_py())


def _type_entries(entries: Sequence[Row]) -> dict[str, Row]:
    """Return the entries of client_configs, by key."""
    values = pa.array([one["config_value"] for one in entries], pa.string())
    kinds = pa.array([one["config_type"] for one in entries], pa.string())
    typed = type_values(values, kinds).to_pylist()
    found = {}
    for entry, value in zip(entries, typed, strict=True):
        kept = {name: value[name] for name in _TYPED}
        told = {k: v for k, v in entry.items() if k != "config_key"}
        found[entry["config_key"]] = told | kept | {"status": _status_of(entry)}
    return found


def _status_of(entry: Row) -> str:
    if entry["config_value"] is None:
        return "redacted"
    if entry["is_default"]:
        return "default"
    defaults = {**_DEFAULTS[PRODUCER], **_DEFAULTS[CONSUMER]}
    _, default = defaults.get(entry["config_key"], (None, None))
    return "set_to_default" if entry["config_value"] == default else "overridden"


def _make_history(pushes: Sequence[_Push], rows: Sequence[Row]) -> list[Row]:
    """Return rows of client_config_history, by the kernel that the job uses.

    A configuration is valid until the next push of its instance. If another instance of
    the logical client pushed later, it is valid until its own instance ended.
    """
    newest: dict[str, datetime] = {}
    following: dict[str, datetime] = {}
    ends: list[datetime | None] = []
    for row in reversed(rows):
        newest.setdefault(row["logical_client"], row["received_at"])
    for push, row in zip(reversed(pushes), reversed(rows), strict=True):
        one = push.instance
        end = following.get(one.client_instance_id)
        if end is None and one.ended < newest[row["logical_client"]]:
            # A very short time range has no push in some lifetimes.
            end = one.last_push
        ends.append(end)
        following[one.client_instance_id] = push.received_at
    holdings = [
        {name: row[name] for name in HOLDING_SCHEMA.names if name in row}
        | {"held_from": row["received_at"], "held_to": end, "configs": push.configs}
        for push, row, end in zip(pushes, rows, reversed(ends), strict=True)
    ]
    batch = pa.RecordBatch.from_pylist(holdings, schema=HOLDING_SCHEMA)
    made: list[Row] = make_histories(batch).to_pylist()
    return made


def _make_defaults(rows: Sequence[Row]) -> list[Row]:
    found: dict[tuple[str, ...], Row] = {}
    for row in rows:
        of = ("client_software_name", "client_software_version", "client_type")
        for entry in row["configs"]:
            if not entry["is_default"]:
                continue
            key = (*(row[name] for name in of), entry["config_key"])
            known = found.setdefault(
                key,
                {name: row[name] for name in of}
                | {
                    "config_key": entry["config_key"],
                    "config_type": entry["config_type"],
                    "default_value": entry["config_value"],
                    "first_seen": row["received_at"],
                    "first_push_id": row["push_id"],
                    "evidence_count": 0,
                    "conflicting_values": [],
                },
            )
            known["evidence_count"] += 1
    return list(found.values())


def _list_violations(rows: Sequence[Row]) -> Iterator[Row]:
    for row in rows:
        hidden = [one for one in row["configs"] if one["config_value"] is None]
        for place, entry in enumerate(hidden):
            yield row | {
                "entry_index": place,
                "config_key": entry["config_key"],
                "rule": None,
                "action": "redacted",
                "found_by": "bridge",
            }
