"""State tables of pushed configurations, kept by folds of each micro-batch.

The pushes of a micro-batch and the rows that they concern are Arrow tables on the
driver. The folds are pure; this module looks rows up and commits the results.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.delta_tables.retry import JOB_ATTEMPTS, repeat_on_conflict
from pipelines.delta_tables.transactions import Transaction
from pipelines.tables.configs import (
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIG_PUSHES,
    CLIENT_CONFIGS,
    CONFIG_DEFAULTS,
)
from pipelines.tables.contract import DECODED
from pipelines.time_ranges import EPOCH, MICROSECOND
from udfs.configs.client_types import ClientTypeKeys
from udfs.configs.default_reports import merge_reports, report_defaults
from udfs.configs.defaults import DEFAULT_SCHEMA, KnownDefaults, make_known_defaults
from udfs.configs.described_configs import PLACE_COLUMNS, resolve_config_defaults
from udfs.configs.histories import HISTORY_SCHEMA
from udfs.row_keys import column_of, conform, filter_unknown, select_distinct
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .folds import current, defaults, history
from .folds.rows import (
    CONFIG_DEFAULT_SCHEMA,
    CONFIG_SCHEMA,
    FAMILY,
    INSTANCE,
    NEWEST,
    PLACE,
    PUSH_SCHEMA,
    WHO,
    FoldedRows,
)
from .folds.types import summarise_possible_types
from .known import KnownTables, State

_STATUS = "decode_status"
AGAIN_ROWS = 10_000
"""Rows that are described again at once; their entries take some 50 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateWriter:
    """Writes config_defaults, client_configs and client_config_history."""

    tables: KnownTables
    rules: SensitiveKeyRules
    type_keys: ClientTypeKeys
    has_references: bool
    """Whether client_configs stores known defaults without their values."""
    kept_closed_days: int = 0
    """Days that ended rows of the history are kept; 0: without limit."""

    def write(self, pushes: pa.Table, transaction: Transaction) -> None:
        """Write the rows that follow from decoded pushes, which the ledger lacks.

        Args:
            pushes: PUSH_SCHEMA.
        """
        changed = repeat_on_conflict(
            lambda: self._write_defaults(pushes, transaction),
            what=CONFIG_DEFAULTS.name,
            attempts=JOB_ATTEMPTS,
        )
        is_known = repeat_on_conflict(
            lambda: self._write_configs(pushes, changed, transaction),
            what=CLIENT_CONFIGS.name,
            attempts=JOB_ATTEMPTS,
        )
        repeat_on_conflict(
            lambda: self._write_history(pushes, transaction, is_known=is_known),
            what=CLIENT_CONFIG_HISTORY.name,
            attempts=JOB_ATTEMPTS,
        )

    def _write_defaults(self, pushes: pa.Table, transaction: Transaction) -> pa.Table:
        """Write reported defaults; return KEY of those that may have changed."""
        state = self.tables.open_state(CONFIG_DEFAULTS, transaction)
        reports, is_first = report_defaults(pushes), transaction.is_first
        reported = reports.select(list(defaults.KEY))
        if is_first:
            both = [reports, self.tables.recount_defaults()]
            reports = merge_reports(pa.concat_tables(both))
        if state.is_committed:
            # The values before that commit are no longer known.
            state.commit(FoldedRows.none(CONFIG_DEFAULT_SCHEMA))
            return reports.select(list(defaults.KEY))
        known = (
            state.read(CONFIG_DEFAULT_SCHEMA)
            if is_first
            else state.find(reported, CONFIG_DEFAULT_SCHEMA)
        )
        folded = defaults.fold_defaults(reports, known, is_recount=is_first)
        changed = defaults.list_changed_keys(folded, known)
        if is_first or not state.is_new:
            # Another attempt, or a batch of another checkpoint location, may have
            # written these defaults and stopped before it described the rows that they
            # concern.
            changed = pa.concat_tables([changed, reported])
        state.commit(folded)
        return changed

    def _write_configs(
        self, pushes: pa.Table, changed: pa.Table, transaction: Transaction
    ) -> bool:
        """Write the newest pushes, and rows whose type or statuses change.

        Args:
            changed: KEY of defaults that may have changed.
        Returns: Whether the table had a client instance of the batch.
        """
        state = self.tables.open_state(CLIENT_CONFIGS, transaction)
        if state.is_committed:
            state.commit(FoldedRows.none(CONFIG_SCHEMA))
            return True
        newest, is_repeated = current.select_newest(pushes)
        known = state.find(newest.select([INSTANCE]), current.KNOWN_SCHEMA)
        batch = current.compare_newest(newest, known)
        again, named = current.AGAIN_SCHEMA.empty_table(), newest
        if known.num_rows or is_repeated.any():
            pushed = self._find_pushes_of(known, pushes)
            types = summarise_possible_types(pushed, self.type_keys)
            named = current.name_newest(batch, types)
            again = current.select_retyped(batch, types)
        concerned = self._find_concerned(state, batch, changed)
        again = current.choose_again(batch, again, concerned)
        rows = self._describe(named.filter(pa.array(batch.is_newer)))
        same = named.filter(pa.array(batch.is_same))
        is_old = pc.is_in(rows.column(INSTANCE), value_set=column_of(known, INSTANCE))
        state.commit(
            FoldedRows(
                new=rows.filter(pc.invert(is_old)),
                changed=pa.concat_tables(
                    [
                        rows.filter(is_old),
                        *self._describe_again(state, same, again),
                    ]
                ),
                gone=CONFIG_SCHEMA.empty_table(),
            )
        )
        return bool(known.num_rows)

    def _find_pushes_of(self, known: pa.Table, pushes: pa.Table) -> pa.Table:
        """Return WHO and configs of a batch and of all pushes of known instances."""
        schema = _select(PUSH_SCHEMA, *WHO, "configs")
        old = self._find_pushes(known.select([INSTANCE]), schema)
        return pa.concat_tables([pushes.select(schema.names), old])

    def _find_concerned(
        self, state: State, batch: current.NewestPushes, changed: pa.Table
    ) -> pa.Table:
        """Return rows of the table that have a key whose default has changed."""
        found = [current.AGAIN_SCHEMA.empty_table()]
        if changed.num_rows:
            places = current.list_places(changed)
            narrow = _select(CONFIG_SCHEMA, *current.AGAIN_SCHEMA.names, *PLACE[:2])
            rows = filter_unknown(
                state.find(places, narrow), batch.described, [INSTANCE]
            )
            wide = narrow.append(CONFIG_SCHEMA.field("configs"))
            for part in _slice(rows):
                held = state.find(part.select([INSTANCE]), wide)
                concerned = current.filter_concerned(held, changed)
                found.append(concerned.select(current.AGAIN_SCHEMA.names))
        return pa.concat_tables(found)

    def _describe_again(
        self, state: State, same: pa.Table, again: pa.Table
    ) -> Iterator[pa.Table]:
        """Yield rows that differ from those that the table has of the same pushes.

        Args:
            same: Pushes of the batch that the table has.
            again: AGAIN_SCHEMA, of other rows of the table.
        """
        held = _select(CONFIG_SCHEMA, INSTANCE, "client_type", "configs")
        for part in _slice(again):
            pushes = self._find_pushes(part.select([INSTANCE, *NEWEST]), PUSH_SCHEMA)
            pushes, _ = current.select_newest(pushes)
            same = pa.concat_tables([same, current.rename(pushes, part)])
            yield self._keep_different(state, same, held)
            same = same.slice(0, 0)
        if same.num_rows:
            yield self._keep_different(state, same, held)

    def _keep_different(
        self, state: State, pushes: pa.Table, held: pa.Schema
    ) -> pa.Table:
        known = state.find(pushes.select([INSTANCE]), held)
        return current.filter_different(self._describe(pushes), known)

    def _describe(self, pushes: pa.Table) -> pa.Table:
        """Return the rows of client_configs that pushes make."""
        pushes = conform(pushes, PUSH_SCHEMA)
        described = resolve_config_defaults(
            column_of(pushes, "configs"),
            pa.RecordBatch.from_arrays(
                [column_of(pushes, name) for name in PLACE_COLUMNS],
                names=list(PLACE_COLUMNS),
            ),
            rules=self.rules,
            defaults=self._read_defaults(pushes),
            has_references=self.has_references,
        )
        return current.make_configs(pushes, described)

    def _read_defaults(self, pushes: pa.Table) -> KnownDefaults:
        places = select_distinct(pushes, PLACE)
        kinds = pc.fill_null(places.column(PLACE[2]), "")
        places = places.set_column(2, PLACE[2], kinds)
        known = self.tables.find_rows(CONFIG_DEFAULTS, places, DEFAULT_SCHEMA)
        return make_known_defaults(known)

    def _write_history(
        self, pushes: pa.Table, transaction: Transaction, *, is_known: bool
    ) -> None:
        """Write the history of the logical clients that pushes concern.

        Args:
            is_known: Whether instances of the batch may have pushed before, perhaps as
                another logical client.
        """
        state = self.tables.open_state(CLIENT_CONFIG_HISTORY, transaction)
        if state.is_committed:
            state.commit(FoldedRows.none(HISTORY_SCHEMA))
            return
        new = conform(pushes, history.HISTORY_PUSH_SCHEMA)
        family_schema = _select(PUSH_SCHEMA, *FAMILY)
        families = select_distinct(new, FAMILY)
        if is_known:
            known = self._find_pushes(new.select([INSTANCE]), family_schema)
            families = select_distinct(pa.concat_tables([families, known]), FAMILY)
        old = self._find_pushes(families, history.HISTORY_PUSH_SCHEMA)
        own = pa.concat_tables([new, old])
        instances = select_distinct(own, [INSTANCE])
        narrow = _select(PUSH_SCHEMA, *WHO, *NEWEST)
        others = self._find_pushes(instances, narrow)
        others = filter_unknown(others, families, FAMILY)
        turns = history.make_turns(own, others, self.type_keys)
        replaced = history.select_replaced(turns)
        ends = history.END_SCHEMA.empty_table()
        if replaced.num_rows:
            ends = history.find_ends(replaced, self.tables.find_telemetry(replaced))
        state.commit(
            history.fold_history(
                turns,
                ends,
                state.find(families, HISTORY_SCHEMA),
                self._find_kept_from_us(),
            )
        )

    def _find_kept_from_us(self) -> int | None:
        """Return the time before which ended rows are deleted."""
        if not self.kept_closed_days:
            return None
        oldest = datetime.now(tz=UTC) - timedelta(days=self.kept_closed_days)
        return (oldest - EPOCH) // MICROSECOND

    def _find_pushes(self, keys: pa.Table, schema: pa.Schema) -> pa.Table:
        """Return decoded pushes of the ledger that agree with a row of keys."""
        keys = select_distinct(keys, keys.column_names)
        status = pa.nulls(keys.num_rows, pa.string()).fill_null(DECODED)
        keys = keys.append_column(_STATUS, status)
        return self.tables.find_rows(CLIENT_CONFIG_PUSHES, keys, schema)


def _select(schema: pa.Schema, *names: str) -> pa.Schema:
    return pa.schema([schema.field(name) for name in names])


def _slice(rows: pa.Table) -> Iterator[pa.Table]:
    """Yield rows in parts that are described at once."""
    for start in range(0, rows.num_rows, AGAIN_ROWS):
        yield rows.slice(start, AGAIN_ROWS)
