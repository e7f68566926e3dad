# Strategy: entries are columns as soon as they are read, and the rules judge them as
# they judge pushed ones.
"""Configurations seen on the wire, from records of their topic to rows of entries.

Source: docs/reference/topics.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from udfs.configs.logical_clients import hash_logical_clients, hash_texts
from udfs.configs.wire_keys import WIRE_KEYS, is_exact_value
from udfs.envelopes.readers import read_wire_envelopes
from udfs.sensitive.client_id_columns import hide_in_batch
from udfs.sensitive.config_key_names import KEYS_SOFTWARE
from udfs.sensitive.sensitive_key_columns import judge_entries
from udfs.sensitive.sensitive_key_rules import ALLOW, REDACT
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .daily_files import Columns, WrittenPart
from .json_records import RecordTables, read_json_values, write_json_records

MALFORMED_WIRE_CONFIGS = "malformed_wire_configs"
CLIENT_TYPES = frozenset({"producer", "consumer", "share_consumer"})
WIRE_ENTRY_SCHEMA = pa.schema(
    [
        ("client_type", pa.string()),
        ("logical_client", pa.string()),
        ("wire_client", pa.string()),
        ("config_key", pa.string()),
        ("config_value", pa.string()),
        ("config_type", pa.string()),
        ("is_exact", pa.bool_()),
        ("other_names", pa.list_(pa.string())),
    ]
)
"""What is known of one entry beside the envelope of its record."""

_TYPES = {key: one.config_type for key, one in WIRE_KEYS.items()}
_OTHER_NAMES = {key: list(one.other_names) for key, one in WIRE_KEYS.items()}

Read = tuple[str, dict[str, str | None]]
"""Client type and entries of one record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireTables(RecordTables):
    """What becomes of records of configurations seen on the wire."""

    max_config_bytes: int
    """Largest value of a record."""


def write_wire_configs(
    batches: Iterator[pa.RecordBatch], tables: WireTables
) -> Iterator[WrittenPart]:
    """Decode records, and write those that cannot be used into files of quarantine.

    Args:
        batches: Records, as `envelopes.read_wire_envelopes` wants them.
        tables: What to write.
    Returns: Parts in the order of the records; pushes has the entries, with the
        columns of the envelope and WIRE_ENTRY_SCHEMA. The last one has only files.
    Shape: A usable record is as many rows as it has entries that may be written.
    Nulls: config_value is null where it is redacted, here or before; config_type where
        the key is none of WIRE_KEYS.
    Errors: NULL_VALUE, TOO_LARGE or MALFORMED_WIRE_CONFIGS, or a fault of the envelope,
        in quarantine; never raises for data.
    """
    return write_json_records(
        batches,
        tables,
        read_envelopes=lambda records: _read_envelopes(records, tables.rules),
        read_values=lambda values: read_bodies(values, tables.max_config_bytes),
        make_rows=lambda columns, read: _make_entries(columns, read, tables.rules),
    )


def read_bodies(
    bodies: pa.BinaryArray, max_bytes: int
) -> tuple[pa.StringArray, list[Read | None]]:
    """Read the values of many records.

    Args:
        max_bytes: The largest one that is read.
    Returns: Of each a status, OK or what is wrong, and what it says, if it is OK.
    """
    return read_json_values(bodies, max_bytes, _read_said, MALFORMED_WIRE_CONFIGS)


def _read_said(said: Any) -> Read | None:  # noqa: ANN401 - whatever JSON holds
    client_type, configs = said["client_type"], said["configs"]
    is_read = client_type in CLIENT_TYPES
    # No text, for Arrow, is what is no string, and half of a surrogate pair.
    texts = (value for value in configs.values() if value is not None)
    "".join((*configs, *texts)).encode("utf-8")
    return (client_type, configs) if is_read else None


def _read_envelopes(
    records: pa.RecordBatch, rules: SensitiveKeyRules
) -> pa.RecordBatch:
    return hide_in_batch(read_wire_envelopes(records), rules)[0]


def _make_entries(
    columns: Columns, read: list[Read | None], rules: SensitiveKeyRules
) -> pa.RecordBatch:
    """Return a row for each entry that may be written."""
    rows = [
        (place, one[0], key, value)
        for place, one in enumerate(read)
        if one is not None
        for key, value in one[1].items()
    ]
    places, types, keys, values = zip(*rows, strict=True) if rows else ((),) * 4
    of_record = pa.array(places, pa.int64())
    entries = {
        name: column.take(of_record)
        for name, column in columns.items()
        if name != "body"
    }
    key_array, type_names = pa.array(keys, pa.string()), [_TYPES.get(k) for k in keys]
    client_types = pa.array(types, pa.string())
    names = entries["client_software_name"].to_pylist()
    who = entries["principal"], entries["client_id"], client_types
    entries |= {
        "client_type": client_types,
        "logical_client": hash_logical_clients(*who),
        "wire_client": hash_texts(*who, entries["client_source_address"]),
        "config_key": key_array,
        "config_type": pa.array(type_names, pa.string()),
        "is_exact": pa.array(map(is_exact_value, keys, values, names), pa.bool_()),
        "other_names": pa.array(
            [_OTHER_NAMES.get(key, []) for key in keys], pa.list_(pa.string())
        ),
    }
    sent = pa.array(values, pa.string())
    software = pa.array([KEYS_SOFTWARE] * len(keys), pa.string())
    verdicts = judge_entries(
        key_array, sent, entries["config_type"], software, rules
    ).field("action")
    no_text = pa.scalar(None, pa.string())
    entries["config_value"] = pc.if_else(pc.equal(verdicts, ALLOW), sent, no_text)
    made = pa.RecordBatch.from_arrays(list(entries.values()), names=list(entries))
    return made.filter(pc.is_in(verdicts, pa.array([ALLOW, REDACT])))
