"""What the table client_instances says, as far as the job remembers it.

Nearly every micro-batch says of its client instances what the table says already. It is
enough to remember that, to see it without a plan of Spark. Nothing here decides what is
written: a client instance that is not remembered, or of which the pushes say something
else, is compared with the table itself.
"""

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.tables import CLIENT_INSTANCES
from pipelines.transforms.client_instances import CONNECTION, MEMBERSHIP_NAMES
from udfs.envelopes.deciding_pushes import (
    KEY,
    InstanceColumns,
    find_differences,
    reduce_pushes,
)

MAX_KNOWN_INSTANCES = 100_000
"""Rows of some 300 bytes, so about 30 MB; five times the pushes of a large micro-batch,
each of which may come from a client instance of its own."""
MAX_KNOWN_BYTES = 64 << 20
"""The same, where rows are larger."""

_COLUMNS = InstanceColumns(connection=CONNECTION, membership=MEMBERSHIP_NAMES)


class KnownInstances:
    """Rows of client_instances, as they are in one version of the table."""

    def __init__(
        self, max_rows: int = MAX_KNOWN_INSTANCES, max_bytes: int = MAX_KNOWN_BYTES
    ) -> None:
        """Know nothing yet, and never more than so many rows, or bytes."""
        self._max_rows, self._max_bytes = max_rows, max_bytes
        self._rows: pa.Table | None = None
        self._version = -1

    def __len__(self) -> int:
        """Return the number of client instances that are known."""
        return 0 if self._rows is None else self._rows.num_rows

    def select_candidates(self, deciding: pa.Table, version: int) -> pa.Table:
        """Keep the pushes of client instances that may change the table.

        Args:
            deciding: Pushes, as `deciding_pushes.select_deciding` keeps them.
            version: Of the table; of another one nothing is known, and the rows of the
                former one are forgotten.
        """
        if version != self._version:
            self.forget()
        if self._rows is None:
            return deciding
        facts = reduce_pushes(deciding, _COLUMNS)
        places = pc.index_in(facts.column(KEY), value_set=self._rows.column(KEY))
        differs = find_differences(facts, self._rows.take(places), _COLUMNS)
        candidates = facts.column(KEY).filter(pa.array(differs))
        is_candidate = pc.is_in(deciding.column(KEY), value_set=candidates)
        return deciding.filter(is_candidate)

    def remember(self, rows: pa.Table, version: int) -> None:
        """Take rows that the table has in a version; all others are the same in it.

        Args:
            rows: The table's columns; one row a client instance.
            version: Of the table, and from now on the only one that is known.
        """
        fresh = rows.select(list(CLIENT_INSTANCES.column_names))
        kept = [fresh]
        if self._rows is not None:
            is_old = pc.is_in(self._rows.column(KEY), value_set=fresh.column(KEY))
            kept.insert(0, self._rows.filter(pc.invert(is_old)))
        # Those that were taken first go first. One that still pushes comes back.
        every = pa.concat_tables(kept)
        newest = every.slice(max(0, every.num_rows - self._max_rows))
        while newest.nbytes > self._max_bytes and newest.num_rows > 1:
            newest = newest.slice(newest.num_rows // 2)
        self._rows, self._version = newest.combine_chunks(), version

    def forget(self) -> None:
        """Know nothing again."""
        self._rows, self._version = None, -1
