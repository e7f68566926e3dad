"""What values the keys of logical clients had, and when, from their pushes.

Strategy: an entry of a push is held from that push until the next one of its client
instance. All entries are sorted by client, key, value and start; where one starts after
everything before it has ended, a new interval begins. Times are places among the
different times, so that one running maximum over all groups finds these breaks.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from udfs.text_codes import CodedTexts, Codes, code_texts, combine_codes

from .entries import PUSHED_ENTRY_TYPE

TIME = pa.timestamp("us", "UTC")
HOLDING_SCHEMA = pa.schema(
    [
        ("logical_client", pa.string()),
        ("principal", pa.string()),
        ("client_id", pa.string()),
        ("client_type", pa.string()),
        ("client_instance_id", pa.string()),
        ("push_id", pa.string()),
        ("held_from", TIME),
        ("held_to", TIME),
        ("configs", pa.list_(PUSHED_ENTRY_TYPE)),
    ]
)
"""One push, and how long what it says was so; held_to is null where it still is."""
HISTORY_SCHEMA = pa.schema(
    [
        *(HOLDING_SCHEMA.field(place) for place in range(4)),
        ("config_key", pa.string()),
        ("value_id", pa.string()),
        *(field for field in PUSHED_ENTRY_TYPE if field.name != "config_key"),
        ("valid_from", TIME),
        ("valid_to", TIME),
        ("is_current", pa.bool_()),
        ("client_instance_ids", pa.list_(pa.string())),
    ]
)
"""One value of one key of one logical client in one stretch of time."""
REDACTED_ID = "-"
"""value_id of what is hidden."""
_HASH_BYTES = 16

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Entries:
    """Entries of pushes, in the order of their group and start."""

    rows: Numbers
    """Places among the entries of the input."""
    pushes: Numbers
    """Places of their pushes."""
    stretches: Numbers
    """From 0, growing: which row of the history they belong to."""
    ends: Numbers
    """Places among `times`; the place behind the last is "not ended"."""
    times: Numbers
    """Different times, microseconds since 1970, ascending."""


def make_histories(holdings: pa.RecordBatch) -> pa.RecordBatch:
    """Make the history of some logical clients.

    Args:
        holdings: HOLDING_SCHEMA; all pushes of each logical client in it, in any order.
    Returns: HISTORY_SCHEMA, by stretches in which at least one client instance of the
        logical client held the value. Type and flag are those of the first push in it;
        of pushes at the same microsecond the least, first by type. So two stretches
        that become one, when their values are hidden, have what the pushes would give.
    Shape: A push that was replaced in the same microsecond leaves no row.
    Units: Times are microseconds since 1970, UTC.
    Nulls: valid_to is null where one still holds it; config_value where it was
        redacted, and then value_id is REDACTED_ID.
    """
    configs = holdings.column("configs")
    flat = configs.flatten()
    parents = pc.list_parent_indices(configs).to_numpy()
    value_ids = _identify_values(flat.field("config_value"))
    keys = code_texts(flat.field("config_key"))
    clients = code_texts(holdings.column("logical_client"))
    groups = [CodedTexts(clients.codes[parents], clients.texts), keys, value_ids]
    entries = _find_stretches(holdings, parents, groups, _rank_kinds(flat))
    first = np.flatnonzero(np.diff(entries.stretches, prepend=-1))
    first_rows = pa.array(entries.rows[first], pa.int64())
    first_pushes = pa.array(entries.pushes[first], pa.int64())
    columns = {
        name: holdings.column(name).take(first_pushes)
        for name in ("logical_client", "principal", "client_id", "client_type")
    }
    columns |= {
        field.name: flat.field(field.name).take(first_rows)
        for field in PUSHED_ENTRY_TYPE
    }
    columns["value_id"] = value_ids.texts.take(
        pa.array(value_ids.codes[entries.rows[first]])
    )
    columns["valid_from"] = holdings.column("held_from").take(first_pushes)
    columns["valid_to"] = _ends_of(entries, first)
    columns["is_current"] = columns["valid_to"].is_null()
    instances = code_texts(holdings.column("client_instance_id"))
    columns["client_instance_ids"] = _list_instances(entries, instances, len(first))
    return pa.RecordBatch.from_arrays(
        [columns[name] for name in HISTORY_SCHEMA.names], schema=HISTORY_SCHEMA
    )


def _identify_values(values: pa.StringArray) -> CodedTexts:
    """Return a text for each value that is never null: a hash of it, or a mark."""
    coded = values.dictionary_encode()
    hashes = [
        hashlib.blake2b(one.encode(), digest_size=_HASH_BYTES).hexdigest()
        for one in coded.dictionary.to_pylist()
    ]
    texts = pa.array([*hashes, REDACTED_ID], pa.string())
    return CodedTexts(
        pc.fill_null(coded.indices, len(hashes)).to_numpy().astype(np.int64), texts
    )


def _rank_kinds(entries: pa.StructArray) -> Numbers:
    """Number entries by type and flag, nulls first."""
    types = pc.fill_null(entries.field("config_type"), "")
    ranks = pc.rank(types, tiebreaker="dense").to_numpy().astype(np.int64)
    flags = pc.fill_null(entries.field("is_default"), fill_value=False)
    kinds: Numbers = 2 * ranks + flags.to_numpy(zero_copy_only=False)
    return kinds


def _find_stretches(
    holdings: pa.RecordBatch,
    parents: Numbers,
    groups: list[CodedTexts],
    kinds: Numbers,
) -> _Entries:
    starts, stops = (
        holdings.column(name).cast(pa.int64()) for name in ("held_from", "held_to")
    )
    times = np.unique(pa.concat_arrays([starts, stops]).drop_null().to_numpy())
    start_places = np.searchsorted(times, starts.to_numpy())
    never = len(times)
    stop_places = np.where(
        stops.is_null().to_numpy(zero_copy_only=False),
        never,
        np.searchsorted(times, pc.fill_null(stops, 0).to_numpy()),
    )
    rows = np.flatnonzero((start_places < stop_places)[parents])
    pushes = parents[rows]
    _, group = combine_codes([one.take(rows) for one in groups])
    order = np.lexsort((kinds[rows], start_places[pushes], group))
    rows, pushes, group = rows[order], pushes[order], group[order]
    # A group's ends are greater than all of those before it, so that one running
    # maximum serves all groups.
    ends = group * (never + 1) + stop_places[pushes]
    latest = np.maximum.accumulate(ends)
    begins = group * (never + 1) + start_places[pushes]
    is_new = np.ones(len(rows), np.bool_)
    is_new[1:] = (begins[1:] > latest[:-1]) | (group[1:] != group[:-1])
    return _Entries(
        rows=rows,
        pushes=pushes,
        stretches=np.cumsum(is_new) - 1,
        ends=stop_places[pushes],
        times=times,
    )


def _ends_of(entries: _Entries, first: Numbers) -> pa.Array:
    """Return the latest end in each stretch; null where one has none."""
    if len(first) == 0:
        return pa.array([], TIME)
    latest = np.maximum.reduceat(entries.ends, first)
    is_open = latest == len(entries.times)
    micros = entries.times[np.where(is_open, 0, latest)]
    return pa.array(micros, pa.int64(), mask=is_open).cast(TIME)


def _list_instances(
    entries: _Entries, instances: CodedTexts, count: int
) -> pa.ListArray:
    """Return the client instances of each stretch, sorted."""
    ranks: Codes = np.empty(len(instances.texts), np.int64)
    order = pc.sort_indices(instances.texts)
    ranks[order.to_numpy()] = np.arange(len(ranks))
    places = entries.stretches * len(ranks) + ranks[instances.codes[entries.pushes]]
    different = np.unique(places)
    stretches, rank = np.divmod(different, len(ranks))
    counts = np.bincount(stretches, minlength=count)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    texts = instances.texts.take(order).take(pa.array(rank))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), texts)
