"""The configuration of each client instance, as of its newest push.

A row of client_configs is compared by the coordinates of its push. Its entries are
compared only if the same push may have other statuses now.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from udfs.configs.described_configs import ENTRY_TYPE
from udfs.row_keys import (
    as_mask,
    column_of,
    conform,
    filter_known,
    filter_unknown,
    find_equal,
    find_places,
    number_keys,
    take_beside,
)
from udfs.text_codes import Mask

from .rows import CONFIG_SCHEMA, INSTANCE, NEWEST, PLACE, PUSH_SCHEMA, WHO
from .types import POSSIBLE, name_clients

NAMED = ("client_type", "logical_client")
"""Columns that all pushes of a client instance determine together."""
KNOWN_SCHEMA = pa.schema([CONFIG_SCHEMA.field(n) for n in (*WHO, *NEWEST, *NAMED)])
"""Columns of client_configs that are compared with pushes."""
AGAIN_SCHEMA = pa.schema([CONFIG_SCHEMA.field(n) for n in (INSTANCE, *NEWEST, *NAMED)])
"""A row of client_configs whose entries are described again, and its new type."""
_ENTRIES = pa.list_(ENTRY_TYPE)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestPushes:
    """The newest push of each client instance of a batch, compared with the table."""

    pushes: pa.Table
    """PUSH_SCHEMA."""
    known: pa.Table
    """KNOWN_SCHEMA, the rows of the table of the same client instances."""
    is_newer: Mask
    """Whether the table has an older push, or none."""
    is_same: Mask
    """Whether the table has this push."""

    @property
    def described(self) -> pa.Table:
        """Pushes that the batch describes anyway."""
        return self.pushes.filter(pa.array(self.is_newer | self.is_same))

    @property
    def is_late(self) -> Mask:
        """Whether the table has a newer push."""
        return ~self.is_newer & ~self.is_same


def select_newest(pushes: pa.Table) -> tuple[pa.Table, Mask]:
    """Return the newest push of each client instance, and whether it has others.

    If Kafka holds a record twice, the first one counts.
    """
    order = [(name, "ascending") for name in NEWEST]
    order += [(name, "descending") for name in ("partition", "offset")]
    ordered = pushes.take(pc.sort_indices(pushes, order)).combine_chunks()
    (numbers,) = number_keys([ordered], [INSTANCE])
    last = np.zeros(numbers.max(initial=-1) + 1, np.int64)
    np.maximum.at(last, numbers, np.arange(len(numbers)))
    is_repeated = np.bincount(numbers, minlength=len(last)) > 1
    return ordered.take(pa.array(last)).combine_chunks(), is_repeated


def compare_newest(newest: pa.Table, known: pa.Table) -> NewestPushes:
    """Compare the newest pushes of a batch with the rows of the table.

    Args:
        newest: From select_newest.
        known: KNOWN_SCHEMA, the rows of the table of the same client instances.
    """
    places = find_places(newest, known, [INSTANCE])
    beside = take_beside(known, places).combine_chunks()
    is_later, is_same = np.zeros(len(places), np.bool_), places >= 0
    for name in NEWEST:
        ours, theirs = column_of(newest, name), column_of(beside, name)
        is_later |= is_same & as_mask(pc.greater(ours, theirs))
        is_same &= as_mask(pc.equal(ours, theirs))
    return NewestPushes(
        pushes=newest,
        known=known,
        is_newer=is_later | (places < 0),
        is_same=is_same,
    )


def name_newest(newest: NewestPushes, types: pa.Table) -> pa.Table:
    """Return the newest pushes with the types that all of their pushes determine.

    Args:
        types: From summarise_possible_types.
    """
    places = find_places(newest.pushes, types, WHO)
    return name_clients(newest.pushes, column_of(take_beside(types, places), POSSIBLE))


def select_retyped(newest: NewestPushes, types: pa.Table) -> pa.Table:
    """Return rows of the table whose type changes because of a late push.

    Args:
        types: As name_newest takes them.
    Returns: AGAIN_SCHEMA.
    """
    late = newest.pushes.filter(pa.array(newest.is_late))
    rows = filter_known(newest.known, late, [INSTANCE])
    rows = filter_known(rows, types, WHO)
    places = find_places(rows, types, WHO)
    named = name_clients(rows, column_of(take_beside(types, places), POSSIBLE))
    before = column_of(rows, "client_type")
    is_same = find_equal(column_of(named, "client_type"), before)
    return named.filter(pa.array(~is_same)).select(AGAIN_SCHEMA.names)


def choose_again(
    newest: NewestPushes, retyped: pa.Table, concerned: pa.Table
) -> pa.Table:
    """Return the rows of the table to describe again, each once.

    Args:
        retyped: From select_retyped; takes precedence.
        concerned: AGAIN_SCHEMA, rows whose defaults have changed.
    Returns: AGAIN_SCHEMA without rows that the batch describes anyway.
    """
    both = [retyped, filter_unknown(concerned, retyped, [INSTANCE])]
    return filter_unknown(pa.concat_tables(both), newest.described, [INSTANCE])


def rename(pushes: pa.Table, again: pa.Table) -> pa.Table:
    """Return pushes with the type and the logical client of rows described again."""
    beside = again.take(pa.array(find_places(pushes, again, [INSTANCE])))
    for name in NAMED:
        place = pushes.schema.get_field_index(name)
        pushes = pushes.set_column(
            place, pushes.schema.field(name), beside.column(name)
        )
    return pushes


def list_places(changed: pa.Table) -> pa.Table:
    """Return PLACE of changed defaults, as client_configs has it.

    Args:
        changed: KEY of config_defaults, where an unknown type is the empty string.
    """
    places = changed.select(list(PLACE))
    kind = PLACE[2]
    is_unknown = pc.equal(places.column(kind), "")
    unknown = places.filter(is_unknown)
    nulls = pa.nulls(unknown.num_rows, pa.string())
    at = places.schema.get_field_index(kind)
    return pa.concat_tables([places, unknown.set_column(at, kind, nulls)])


def filter_concerned(rows: pa.Table, changed: pa.Table) -> pa.Table:
    """Keep rows of client_configs that have a key whose default has changed.

    Args:
        rows: PLACE and configs, among others.
        changed: KEY of config_defaults.
    """
    entries = list_entries(column_of(rows, "configs"))
    parents = pc.list_parent_indices(entries).to_numpy().astype(np.int64)
    of_rows = {name: column_of(rows, name).take(pa.array(parents)) for name in PLACE}
    of_rows[PLACE[2]] = pc.fill_null(of_rows[PLACE[2]], "")
    keys = of_rows | {"config_key": entries.flatten().field("config_key")}
    is_changed = find_places(pa.table(keys), changed, [*PLACE, "config_key"]) >= 0
    is_concerned = np.zeros(rows.num_rows, np.bool_)
    is_concerned[parents[is_changed]] = True
    return rows.filter(pa.array(is_concerned))


def make_configs(pushes: pa.Table, described: pa.ListArray) -> pa.Table:
    """Return rows of client_configs.

    Args:
        pushes: PUSH_SCHEMA.
        described: From resolve_config_defaults, of the same pushes.
    Returns: CONFIG_SCHEMA.
    """
    entries = described.flatten()
    held = [entries.field(one.name) for one in ENTRY_TYPE if one.name != "config_key"]
    kind = CONFIG_SCHEMA.field("configs").type
    maps = pa.MapArray.from_arrays(
        described.offsets,
        entries.field("config_key"),
        pa.StructArray.from_arrays(held, fields=list(kind.item_type)),
    )
    place = PUSH_SCHEMA.get_field_index("configs")
    return conform(pushes.set_column(place, "configs", maps), CONFIG_SCHEMA)


def filter_different(rows: pa.Table, known: pa.Table) -> pa.Table:
    """Keep rows whose type or entries differ from those of the table.

    Args:
        rows: CONFIG_SCHEMA.
        known: INSTANCE, client_type and configs of the rows of the table; rows of other
            client instances are dropped.
    """
    rows = filter_known(rows, known, [INSTANCE])
    beside = known.take(pa.array(find_places(rows, known, [INSTANCE])))
    beside = beside.combine_chunks()
    kinds = (column_of(one, "client_type") for one in (rows, beside))
    is_same = find_equal(*kinds)
    ours, theirs = (list_entries(column_of(one, "configs")) for one in (rows, beside))
    counts = [pc.list_value_length(one).to_numpy() for one in (ours, theirs)]
    is_same &= counts[0] == counts[1]
    compared = np.flatnonzero(is_same)
    ours, theirs = (one.take(pa.array(compared)) for one in (ours, theirs))
    parents = pc.list_parent_indices(ours).to_numpy().astype(np.int64)
    flat = ours.flatten(), theirs.flatten()
    for field in ENTRY_TYPE:
        is_equal = find_equal(*(one.field(field.name) for one in flat))
        is_same[compared[parents[~is_equal]]] = False
    return rows.filter(pa.array(~is_same))


def list_entries(maps: pa.MapArray) -> pa.ListArray:
    """Return maps as lists of ENTRY_TYPE; a null map has no entries."""
    maps = maps.take(pa.array(np.arange(len(maps))))
    keys, items = maps.keys.cast(pa.string()), maps.items
    fields = [keys, *(items.field(n).cast(t) for n, t in _HELD)]
    entries = pa.StructArray.from_arrays(fields, fields=list(ENTRY_TYPE))
    return pa.ListArray.from_arrays(maps.offsets, entries).cast(_ENTRIES)


_HELD = [(field.name, field.type) for field in ENTRY_TYPE if field.name != "config_key"]
