"""Pushed configurations to the files of three tables, in one pass.

The ledger gets each usable push, config_violations each sensitive entry, quarantine
each record that cannot be used, without its body. What the rules hide goes nowhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from udfs.configs.client_types import ClientTypeKeys, infer_client_types
from udfs.configs.entries import (
    CONTEXT_COLUMNS,
    PUSHED_ENTRY_TYPE,
    judge_config_entries,
)
from udfs.configs.logical_clients import hash_logical_clients
from udfs.configs.pushes import OK, decode_config_pushes
from udfs.configs.violations import list_violations
from udfs.envelopes.readers import RECORD_SCHEMA, read_config_envelopes
from udfs.sensitive.client_id_columns import (
    add_client_id_hits,
    hide_in_batch,
)
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .daily_files import (
    Columns,
    DailyFiles,
    Floors,
    WrittenPart,
    columns_of,
    days_of,
    is_beyond,
)
from .rejected_records import write_rejected
from .table_files import TableFile, TableLayout

CONFIG_PUSH_TYPES = pa.schema(
    [
        ("client_type", pa.string()),
        ("logical_client", pa.string()),
        ("decode_status", pa.string()),
        ("content_hash", pa.string()),
        ("configs", pa.list_(PUSHED_ENTRY_TYPE)),
    ]
)
"""What is known of a usable push beside its envelope."""
PUSHED_SCHEMA = pa.schema(
    [
        *read_config_envelopes(
            pa.RecordBatch.from_pylist([], schema=RECORD_SCHEMA)
        ).schema,
        *CONFIG_PUSH_TYPES,
    ]
)
"""Columns of a usable push: its envelope and CONFIG_PUSH_TYPES."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigTables:
    """What becomes of pushes: the layouts of three tables, and what they hold."""

    pushes: TableLayout
    violations: TableLayout
    quarantine: TableLayout
    violations_floors: Floors
    quarantine_floors: Floors
    source_job: str
    """Name of the job in rows of quarantine."""
    max_config_bytes: int
    """Largest body of a push, in bytes."""
    rules: SensitiveKeyRules
    type_keys: ClientTypeKeys


def write_config_pushes(
    batches: Iterator[pa.RecordBatch], tables: ConfigTables
) -> Iterator[WrittenPart]:
    """Decode pushes and write the rows of three tables into files.

    Args:
        batches: Records, as `envelopes.read_config_envelopes` wants them.
        tables: What to write.
    Returns: Parts in the order of the records; the last one has only files. Pushes
        whose bodies were read have the columns of the envelope and CONFIG_PUSH_TYPES.
    Shape: Each record is counted once, each usable one is a row of `pushes`.
    Nulls: As in `entries.judge_config_entries`.
    Errors: A record that cannot be used, or a body that cannot be decoded, is a row
        of quarantine; never raises for data.
    """
    pushes, quarantine = DailyFiles(tables.pushes), DailyFiles(tables.quarantine)
    violations = DailyFiles(tables.violations)
    reject = partial(
        write_rejected,
        quarantine=quarantine,
        floors=tables.quarantine_floors,
        source_job=tables.source_job,
    )
    for records in batches:
        batch, hiding_rules = hide_in_batch(
            read_config_envelopes(records), tables.rules
        )
        is_usable = pc.is_null(batch.column("envelope_fault"))
        faulty = columns_of(batch.filter(pc.invert(is_usable)))
        reasons = faulty["envelope_fault"], faulty["envelope_detail"]
        files = list(reject(faulty, *reasons))
        columns, found = _decode(batch.filter(is_usable), tables)
        found = add_client_id_hits(found, hiding_rules.filter(is_usable))
        no_detail = pa.nulls(len(columns["topic"]), pa.string())
        status = columns["decode_status"]
        files += reject(columns, status, no_detail)
        files += _write_violations(columns, found, violations, tables)
        files += pushes.write(columns, days_of(columns["received_at"]))
        yield WrittenPart(
            records=records.num_rows, pushes=_select_pushes(columns), files=files
        )
    last = [*violations.end(), *quarantine.end(), *pushes.end()]
    yield WrittenPart(records=0, files=last)


def _decode(
    usable: pa.RecordBatch, tables: ConfigTables
) -> tuple[Columns, pa.ListArray]:
    """Return envelope and result of each push, and what the rules found in it."""
    columns = columns_of(usable)
    bodies = columns.pop("body")
    decoded = decode_config_pushes(bodies, max_bytes=tables.max_config_bytes)
    context = usable.select(list(CONTEXT_COLUMNS))
    judged = judge_config_entries(decoded, context, rules=tables.rules)
    for name in ("decode_status", "content_hash", "configs"):
        columns[name] = judged.column(name)
    configs = columns["configs"]
    keys = pa.ListArray.from_arrays(
        configs.offsets, configs.flatten().field("config_key")
    )
    columns["client_type"] = infer_client_types(keys, tables.type_keys)
    columns["logical_client"] = hash_logical_clients(
        columns["principal"], columns["client_id"], columns["client_type"]
    )
    return columns, judged.column("violations")


def _select_pushes(columns: Columns) -> pa.RecordBatch:
    batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    return batch.filter(pc.equal(columns["decode_status"], OK))


def _write_violations(
    columns: Columns,
    found: pa.ListArray,
    violations: DailyFiles,
    tables: ConfigTables,
) -> Iterator[TableFile]:
    listed = list_violations(found, columns["redactions"], tables.rules)
    is_new = is_beyond(
        columns["partition"], columns["offset"], tables.violations_floors
    )
    listed = listed.filter(pa.array(is_new[listed.column("push").to_numpy()]))
    if listed.num_rows == 0:
        return
    of_push = listed.column("push")
    rows = columns_of(listed)
    for name in tables.violations.columns:
        if name not in rows:
            rows[name] = columns[name].take(of_push)
    yield from violations.write(rows, days_of(rows["received_at"]))
