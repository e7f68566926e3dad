"""What some pushes say of their client instances, by whole columns.

Of all pushes of a client instance at most four decide: the oldest, the newest, the
newest that knows a client type, and the newest with data points. Of several that are
the oldest it is the one of the least broker, so that it does not matter which of them
comes first. So pushes are reduced to those, as the rows they are, and rows that were
reduced apart are reduced together again.

A row of the table is made of four parts, each from the newest push that knows it, by
(received_at, push_id): the connection with its termination from any push, the client
type from a push that has one, the memberships from a push with data points, first_seen
and the broker from the oldest. Behind the proxy each push may come by another broker,
and a part that changed with each of them would be a change for each: so the broker is
that of first_seen, and the view `clients` has the newest.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

KEY = "client_instance_id"
NEWEST_BY = ("received_at", "push_id")
CLIENT_TYPE = "client_type"
BROKER_ID = "broker_id"
"""From the oldest push: nothing is to be written each time that it is another one."""
FIRST_SEEN = "first_seen"
TERMINATED_AT = "terminated_at"
IS_INFORMED = "is_informed"
OLDEST_NEEDED = "oldest_needed"

REDUCE_ROWS = 50_000
"""Pushes that wait to be reduced, in rows of some hundred bytes."""
REDUCE_BYTES = 32 << 20
"""The same, where rows are larger."""

_NO_BROKER = 2**31
"""Stands behind all of them."""

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceColumns:
    """Which columns of a push say what of its client instance."""

    connection: tuple[str, ...]
    """From the newest push."""
    membership: tuple[str, ...]
    """From the newest push with data points."""


class _Deciding(NamedTuple):
    """Places of the pushes that decide, one a client instance; -1 where none does."""

    oldest: Places
    newest: Places
    typed: Places
    informed: Places


class DecidingPushes:
    """Collects pushes and keeps those that decide.

    Memory: REDUCE_ROWS rows and twice the rows that decide, or REDUCE_BYTES.
    """

    def __init__(self, columns: tuple[str, ...]) -> None:
        """Begin with no pushes; `columns` are those that are kept."""
        self._columns = columns
        self._waiting: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0
        self._limit = REDUCE_ROWS

    def add(self, pushes: pa.RecordBatch) -> pa.Table | None:
        """Take pushes that have all the columns, and maybe others.

        Returns: Pushes that decide, of those taken up to now, where they would be too
            much to be kept; they are forgotten then.
        """
        kept = pushes.select(list(self._columns))
        self._waiting.append(kept)
        self._rows += kept.num_rows
        self._bytes += kept.nbytes
        if self._bytes > REDUCE_BYTES:
            reduced = self.reduce()
            self._waiting, self._rows, self._bytes = [], 0, 0
            return reduced
        if self._rows > self._limit:
            reduced = select_deciding(pa.Table.from_batches(self._waiting))
            self._waiting, self._rows = reduced.to_batches(), reduced.num_rows
            self._bytes = reduced.nbytes
            self._limit = REDUCE_ROWS + 2 * self._rows
        return None

    def reduce(self) -> pa.Table | None:
        """Return the pushes that decide, of those that are kept, if there are any."""
        if not self._rows:
            return None
        return select_deciding(pa.Table.from_batches(self._waiting))


def select_deciding(pushes: pa.Table) -> pa.Table:
    """Keep the pushes that decide who their client instances are.

    Args:
        pushes: client_instance_id, received_at, push_id, client_type, broker_id,
            point_count, and any other columns.
    Returns: The same columns.
    Shape: At most four rows a client instance, in the order they came in.
    Nulls: client_type, broker_id and point_count may be null, the others not.
    """
    _, deciding = _find_deciding(pushes)
    places = np.unique(np.concatenate(deciding))
    return pushes.take(pa.array(places[places >= 0]))


def reduce_pushes(pushes: pa.Table, columns: InstanceColumns) -> pa.Table:
    """Reduce pushes to what they say of each client instance.

    Args:
        pushes: As select_deciding wants them, with the columns named and terminating.
        columns: Which column is from which push.
    Returns: client_instance_id, the columns named, client_type, broker_id, first_seen,
        terminated_at, is_informed (whether a push had data points) and oldest_needed:
        received_at of the oldest of the newest pushes that a part was taken from.
    Shape: One row a client instance.
    Nulls: client_type where no push knows it; membership where is_informed is false;
        terminated_at where the newest push did not terminate.
    """
    ids, deciding = _find_deciding(pushes)
    newest = pushes.take(pa.array(deciding.newest))
    found: dict[str, pa.Array] = {KEY: ids}
    found |= {name: newest.column(name) for name in columns.connection}
    found[CLIENT_TYPE] = _take(pushes.column(CLIENT_TYPE), deciding.typed)
    for name in columns.membership:
        found[name] = _take(pushes.column(name), deciding.informed)
    received_at = newest.column("received_at")
    for name, source in ((BROKER_ID, BROKER_ID), (FIRST_SEEN, "received_at")):
        found[name] = _take(pushes.column(source), deciding.oldest)
    found[TERMINATED_AT] = pc.if_else(
        newest.column("terminating"), received_at, pa.scalar(None, received_at.type)
    )
    found[IS_INFORMED] = pa.array(deciding.informed >= 0)
    # The newest push of all is always there; where another is not, it stands for it.
    times = pushes.column("received_at").cast(pa.int64()).to_numpy()
    parts = (deciding.newest, deciding.typed, deciding.informed)
    needed = [times[np.where(one < 0, deciding.newest, one)] for one in parts]
    found[OLDEST_NEEDED] = pa.array(np.minimum.reduce(needed)).cast(received_at.type)
    return pa.table(found)


def find_differences(
    facts: pa.Table, known: pa.Table, columns: InstanceColumns
) -> npt.NDArray[np.bool_]:
    """Say of which client instances the facts say something else than the table.

    Args:
        facts: From reduce_pushes.
        known: What the table says of the same client instances, in the same order.
        columns: As for reduce_pushes.
    Shape: One flag a client instance.
    Nulls: A row of `known` that is null throughout is a client instance that the table
        does not have: it differs. What no push knows differs from nothing.
    """
    differs = ~_flags(known.column(KEY).is_valid())
    for name in (*columns.connection, TERMINATED_AT):
        differs |= ~_equal_nulls(facts.column(name), known.column(name))
    stated = facts.column(CLIENT_TYPE)
    is_stated = _flags(stated.is_valid())
    differs |= is_stated & ~_equal_nulls(stated, known.column(CLIENT_TYPE))
    is_informed = _flags(facts.column(IS_INFORMED))
    for name in columns.membership:
        is_same = _equal_nulls(facts.column(name), known.column(name))
        differs |= is_informed & ~is_same
    return differs | _is_first(facts, known)


def merge_facts(
    facts: pa.Table, known: pa.Table, columns: InstanceColumns
) -> dict[str, pa.ChunkedArray]:
    """Return what the table is to say of client instances, by column.

    Args:
        facts: From reduce_pushes.
        known: As find_differences takes it.
        columns: As for reduce_pushes.
    Shape: One row a client instance, in the same order.
    Nulls: A part that no push knows keeps what the table says.
    """
    merged = {name: facts.column(name) for name in (KEY, *columns.connection)}
    merged[TERMINATED_AT] = facts.column(TERMINATED_AT)
    merged[CLIENT_TYPE] = pc.coalesce(
        facts.column(CLIENT_TYPE), known.column(CLIENT_TYPE)
    )
    parts = dict.fromkeys(columns.membership, facts.column(IS_INFORMED))
    parts |= dict.fromkeys((FIRST_SEEN, BROKER_ID), pa.array(_is_first(facts, known)))
    for name, is_ours in parts.items():
        merged[name] = pc.if_else(is_ours, facts.column(name), known.column(name))
    return merged


def _is_first(facts: pa.Table, known: pa.Table) -> npt.NDArray[np.bool_]:
    """Say where the oldest push comes before the oldest one that the table knows."""
    first_seen = facts.column(FIRST_SEEN), known.column(FIRST_SEEN)
    brokers = [_brokers(one.column(BROKER_ID)) for one in (facts, known)]
    is_earlier = _flags(pc.fill_null(pc.less(*first_seen), True))
    is_as_early = _flags(pc.fill_null(pc.equal(*first_seen), False))
    return is_earlier | (is_as_early & (brokers[0] < brokers[1]))


def _find_deciding(pushes: pa.Table) -> tuple[pa.Array, _Deciding]:
    """Return the client instances, and the places of the pushes that decide each."""
    encoded = pushes.column(KEY).combine_chunks().dictionary_encode()
    instances = encoded.indices.to_numpy()
    keys = [(name, "ascending") for name in NEWEST_BY]
    order = pc.sort_indices(pushes.select(list(NEWEST_BY)), sort_keys=keys).to_numpy()
    order = order.astype(np.int64)

    def last_of(places: Places) -> Places:
        found = np.full(len(encoded.dictionary), -1, np.int64)
        # Of places for one client instance numpy keeps the last one assigned.
        found[instances[places]] = places
        return found

    is_typed = _flags(pushes.column(CLIENT_TYPE).is_valid())
    has_points = pc.fill_null(pc.greater(pushes.column("point_count"), 0), False)
    backwards = order[::-1]
    oldest = last_of(backwards)
    times = pushes.column("received_at").cast(pa.int64()).to_numpy()
    places = backwards[(times == times[oldest][instances])[backwards]]
    if len(places) > len(oldest):
        brokers = _brokers(pushes.column(BROKER_ID))[places]
        oldest = last_of(places[np.argsort(-brokers, kind="stable")])
    deciding = _Deciding(
        oldest=oldest,
        newest=last_of(order),
        typed=last_of(order[is_typed[order]]),
        informed=last_of(order[_flags(has_points)[order]]),
    )
    return encoded.dictionary, deciding


def _brokers(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return the ids of brokers, none being the greatest."""
    ids: npt.NDArray[np.int64] = pc.fill_null(
        column.cast(pa.int64()), _NO_BROKER
    ).to_numpy()
    return ids


def _take(column: pa.ChunkedArray, places: Places) -> pa.ChunkedArray:
    """Return the values at the places, null at -1."""
    return column.take(pa.array(places, mask=places < 0))


def _equal_nulls(
    left: pa.ChunkedArray, right: pa.ChunkedArray
) -> npt.NDArray[np.bool_]:
    """Say where two columns hold the same, a null being the same as a null."""
    is_equal = pc.fill_null(pc.equal(left, right), False)
    return _flags(is_equal) | (_flags(left.is_null()) & _flags(right.is_null()))


def _flags(column: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    flags: npt.NDArray[np.bool_] = column.to_numpy(zero_copy_only=False)
    return flags
