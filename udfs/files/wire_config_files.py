# Strategy: a record is JSON that our own bridge has made, one for a connection and
# change, so there are few: the standard library reads them one by one. Their entries
# are columns from there on, and the rules judge them as they judge pushed ones.
"""Configurations seen on the wire, from records of their topic to rows of entries.

Source: docs/reference/topics.md.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from udfs.configs.logical_clients import hash_logical_clients, hash_texts
from udfs.configs.pushes import NULL_VALUE, OK, TOO_LARGE
from udfs.configs.wire_keys import WIRE_KEYS, is_exact_value
from udfs.envelopes.readers import read_wire_envelopes
from udfs.sensitive.client_id_columns import find_client_id_rules, hide_client_ids
from udfs.sensitive.config_key_names import KEYS_SOFTWARE
from udfs.sensitive.sensitive_key_columns import judge_entries
from udfs.sensitive.sensitive_key_rules import ALLOW, REDACT
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .daily_files import Columns, DailyFiles, Floors, WrittenPart
from .rejected_records import write_rejected
from .table_files import TableLayout

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
class WireTables:
    """What becomes of records of configurations seen on the wire."""

    quarantine: TableLayout
    quarantine_floors: Floors
    source_job: str
    """Name of the job in rows of quarantine."""
    max_config_bytes: int
    """Largest value of a record."""
    rules: SensitiveKeyRules


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
    quarantine = DailyFiles(tables.quarantine)
    reject = partial(
        write_rejected,
        quarantine=quarantine,
        floors=tables.quarantine_floors,
        source_job=tables.source_job,
    )
    for records in batches:
        batch = _hide_client_ids(read_wire_envelopes(records), tables.rules)
        is_usable = pc.is_null(batch.column("envelope_fault"))
        faulty = _columns_of(batch.filter(pc.invert(is_usable)))
        reasons = faulty["envelope_fault"], faulty["envelope_detail"]
        files = list(reject(faulty, *reasons))
        usable = batch.filter(is_usable)
        statuses, read = read_bodies(usable.column("body"), tables.max_config_bytes)
        columns = _columns_of(usable)
        no_detail = pa.nulls(usable.num_rows, pa.string())
        files += reject(columns, statuses, no_detail)
        entries = _make_entries(columns, read, tables.rules)
        yield WrittenPart(records=records.num_rows, pushes=entries, files=files)
    yield WrittenPart(records=0, files=list(quarantine.end()))


def read_bodies(
    bodies: pa.BinaryArray, max_bytes: int
) -> tuple[pa.StringArray, list[Read | None]]:
    """Read the values of many records.

    Args:
        max_bytes: The largest one that is read.
    Returns: Of each a status, OK or what is wrong, and what it says, if it is OK.
    """
    read = [_read_body(body, max_bytes) for body in bodies.to_pylist()]
    statuses = [one if isinstance(one, str) else OK for one in read]
    said = [None if isinstance(one, str) else one for one in read]
    return pa.array(statuses, pa.string()), said


def _read_body(body: bytes | None, max_bytes: int) -> Read | str:
    if body is None:
        return NULL_VALUE
    if len(body) > max_bytes:
        return TOO_LARGE
    try:
        said = json.loads(body.decode("utf-8"))
        client_type, configs = said["client_type"], said["configs"]
        is_read = client_type in CLIENT_TYPES
        # No text, for Arrow, is what is no string, and half of a surrogate pair.
        texts = (value for value in configs.values() if value is not None)
        "".join((*configs, *texts)).encode("utf-8")
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return MALFORMED_WIRE_CONFIGS
    return (client_type, configs) if is_read else MALFORMED_WIRE_CONFIGS


def _hide_client_ids(batch: pa.RecordBatch, rules: SensitiveKeyRules) -> pa.RecordBatch:
    place = batch.schema.get_field_index("client_id")
    client_ids = batch.column(place)
    shown = hide_client_ids(client_ids, find_client_id_rules(client_ids, rules))
    return batch.set_column(place, "client_id", shown)


def _columns_of(batch: pa.RecordBatch) -> Columns:
    return dict(zip(batch.schema.names, batch.columns, strict=True))


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
    who = entries["principal"], entries["client_id"], client_types
    entries |= {
        "client_type": client_types,
        "logical_client": hash_logical_clients(*who),
        "wire_client": hash_texts(*who, entries["client_source_address"]),
        "config_key": key_array,
        "config_type": pa.array(type_names, pa.string()),
        "is_exact": pa.array(map(is_exact_value, keys, values), pa.bool_()),
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
