"""The history of logical clients, made from all of their pushes.

A client instance holds the values of a push until its next push, or until it ends. Its
end is known from telemetry, if it sends any. Silence is an end if telemetry of other
clients is known from after it, because the telemetry job may lag. An end after the
newest push of the logical client stays open here; readers compute it.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.tables.configs import CLIENT_CONFIG_HISTORY
from pipelines.tables.telemetry import IDLE_AFTER_INTERVALS
from udfs.configs.client_types import ClientTypeKeys
from udfs.configs.histories import HISTORY_SCHEMA, HOLDING_SCHEMA, TIME, make_histories
from udfs.row_keys import (
    as_mask,
    column_of,
    conform,
    filter_unknown,
    find_equal,
    find_places,
    number_keys,
    take_beside,
)
from udfs.text_codes import Mask

from .rows import FAMILY, INSTANCE, PUSH_SCHEMA, FoldedRows
from .types import name_clients, share_possible_types

KEY = CLIENT_CONFIG_HISTORY.merge_key
HISTORY_PUSH_SCHEMA = pa.schema(
    [
        PUSH_SCHEMA.field(name)
        for name in (*FAMILY, INSTANCE, "received_at", "push_id", "configs")
    ]
)
"""Columns of a push that the history needs."""
REPLACED_SCHEMA = pa.schema(
    [
        (INSTANCE, pa.string()),
        ("received_at", TIME),
        ("newest_at", TIME),
    ]
)
"""A client instance, its last push, and the newest push of its logical client."""
TERMINATED_SCHEMA = pa.schema([(INSTANCE, pa.string()), ("terminated_at", TIME)])
TELEMETRY_SCHEMA = pa.schema(
    [(INSTANCE, pa.string()), ("received_at", TIME), ("push_interval_ms", pa.int64())]
)
"""The newest push of a client instance, and of all others in a row of a null one."""
END_SCHEMA = pa.schema([(INSTANCE, pa.string()), ("ended_at", TIME)])
_MICROS_PER_MS = 1000


def make_turns(own: pa.Table, others: pa.Table, type_keys: ClientTypeKeys) -> pa.Table:
    """Return the pushes of logical clients with the time until which each counts.

    Args:
        own: HISTORY_PUSH_SCHEMA, all pushes of some families.
        others: The same of other families by the same client instances; configs are
            null. As another logical client, an instance is no longer what it was.
        type_keys: From make_client_type_keys.
    Returns: The rows of own with client_type, logical_client and next_at, when the same
        instance pushed again; null for its last push.
    """
    possible = share_possible_types(own, type_keys)
    turns = name_clients(own, possible)
    narrow = [INSTANCE, "received_at", "push_id"]
    pushes = pa.concat_tables([own.select(narrow), others.select(narrow)])
    (numbers,) = number_keys([pushes], [INSTANCE])
    keyed = pushes.append_column("number", pa.array(numbers))
    names = ("number", "received_at", "push_id")
    order = pc.sort_indices(keyed, [(name, "ascending") for name in names]).to_numpy()
    is_last = np.ones(len(order), np.bool_)
    is_last[:-1] = numbers[order][1:] != numbers[order][:-1]
    following = np.zeros(len(order), np.int64)
    following[order[:-1]] = order[1:]
    has_none = np.zeros(len(order), np.bool_)
    has_none[order] = is_last
    next_at = column_of(pushes, "received_at").take(pa.array(following, mask=has_none))
    return turns.append_column("next_at", next_at.slice(0, own.num_rows))


def select_replaced(turns: pa.Table) -> pa.Table:
    """Return the last push of instances whose logical client has a newer push.

    Returns: REPLACED_SCHEMA.
    """
    (numbers,) = number_keys([turns], ["logical_client"])
    received_us = column_of(turns, "received_at").cast(pa.int64()).to_numpy()
    newest = np.zeros(numbers.max(initial=-1) + 1, np.int64)
    np.maximum.at(newest, numbers, received_us)
    newest_at = pa.array(newest[numbers]).cast(TIME)
    dated = turns.append_column("newest_at", newest_at)
    is_last = np.asarray(column_of(turns, "next_at").is_null())
    is_replaced = is_last & (received_us < newest[numbers])
    return conform(dated.filter(pa.array(is_replaced)), REPLACED_SCHEMA)


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """Telemetry of some client instances."""

    terminated: pa.Table
    """TERMINATED_SCHEMA, of client_instances."""
    newest: pa.Table
    """TELEMETRY_SCHEMA, of client_pushes."""

    @classmethod
    def none(cls) -> "Telemetry":
        """Return the telemetry of a cluster without any."""
        return cls(
            terminated=TERMINATED_SCHEMA.empty_table(),
            newest=TELEMETRY_SCHEMA.empty_table(),
        )


def find_ends(replaced: pa.Table, telemetry: Telemetry) -> pa.Table:
    """Return the instances that ended before the newest push of their client.

    Args:
        replaced: From select_replaced.
        telemetry: Of these instances, and the newest push of all others.
    Returns: END_SCHEMA.
    """
    newest, terminated = telemetry.newest, telemetry.terminated
    last = take_beside(newest, find_places(replaced, newest, [INSTANCE]))
    silence_us = pc.multiply(
        column_of(last, "push_interval_ms"), IDLE_AFTER_INTERVALS * _MICROS_PER_MS
    )
    silent_us = pc.add(column_of(last, "received_at").cast(pa.int64()), silence_us)
    known_to = pc.max(newest.column("received_at"))
    is_known = pc.less_equal(silent_us, known_to.cast(pa.int64()))
    silent_at = pc.if_else(is_known, silent_us, None).cast(TIME)
    known = take_beside(terminated, find_places(replaced, terminated, [INSTANCE]))
    ended_at = pc.coalesce(column_of(known, "terminated_at"), silent_at)
    # An instance that pushed its configuration later had not ended.
    is_end = pc.and_(
        pc.greater_equal(ended_at, column_of(replaced, "received_at")),
        pc.less(ended_at, column_of(replaced, "newest_at")),
    )
    ends = replaced.select([INSTANCE]).append_column("ended_at", ended_at)
    return conform(ends.filter(pa.array(as_mask(is_end))), END_SCHEMA)


def fold_history(
    turns: pa.Table, ends: pa.Table, known: pa.Table, kept_from_us: int | None
) -> FoldedRows:
    """Compare the history that pushes make with the table.

    Args:
        turns: From make_turns, of some families.
        ends: From find_ends.
        known: HISTORY_SCHEMA, the rows of the table of the same families. Their other
            logical clients are those that instances were taken for before they had
            pushed more keys.
        kept_from_us: Retention deletes rows that ended before this time, microseconds
            since 1970; such rows are not compared. Null: none.
    """
    ended_at = column_of(
        take_beside(ends, find_places(turns, ends, [INSTANCE])), "ended_at"
    )
    holdings = turns.append_column("held_from", turns.column("received_at"))
    held_to = pc.coalesce(column_of(turns, "next_at"), ended_at)
    holdings = holdings.append_column("held_to", held_to)
    made = _make_histories(conform(holdings, HOLDING_SCHEMA))
    places = find_places(made, known, KEY)
    beside = take_beside(known, places).combine_chunks()
    is_new = places < 0
    is_same = np.logical_and.reduce(
        [
            find_equal(column_of(made, n), column_of(beside, n))
            for n in made.column_names
        ]
    )
    gone = filter_unknown(known, made, KEY)
    if kept_from_us is not None:
        is_old = _find_closed(made, kept_from_us)
        is_same |= is_old & (is_new | _find_closed(beside, kept_from_us))
        gone = gone.filter(pa.array(~_find_closed(gone, kept_from_us)))
    return FoldedRows(
        new=made.filter(pa.array(is_new & ~is_same)),
        changed=made.filter(pa.array(~is_new & ~is_same)),
        gone=gone,
    )


def _make_histories(holdings: pa.Table) -> pa.Table:
    arrays = [column_of(holdings, name) for name in holdings.column_names]
    batch = pa.RecordBatch.from_arrays(arrays, schema=HOLDING_SCHEMA)
    return pa.Table.from_batches([make_histories(batch)], HISTORY_SCHEMA)


def _find_closed(rows: pa.Table, before_us: int) -> Mask:
    """Return whether rows ended before a time."""
    valid_to = column_of(rows, "valid_to").cast(pa.int64())
    is_old = as_mask(pc.less(valid_to, before_us))
    is_closed: Mask = is_old & ~as_mask(column_of(rows, "is_current"))
    return is_closed
