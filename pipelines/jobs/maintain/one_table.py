"""What is done to one table: four actions, each worked out of the table as it is."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

from pipelines.delta_tables import old_versions
from pipelines.delta_tables.compaction import compact, read_clusterings
from pipelines.delta_tables.found_tables import read_found_table
from pipelines.delta_tables.locations import find_table_folder
from pipelines.delta_tables.retry import repeat_on_conflict
from pipelines.delta_tables.stored_files import (
    StoredFile,
    StoredFiles,
    list_stored_files,
)
from pipelines.errors import TooManyConflicts
from pipelines.streaming.unfinished import find_unfinished
from pipelines.tables.changes import find_fault
from pipelines.tables.contract import STATISTICS_PROPERTY, TableContract

from .context import Context
from .old_rows import OldRows
from .planning import CompactionRules, Judged, count_needed, judge_dates
from .results import (
    COMPACTION,
    DONE,
    FAILED,
    LEFT_ALONE,
    PROPERTIES,
    RETENTION,
    RUN,
    VACUUM,
    Action,
    Amount,
)

ADVICE = "run the same command again"
_MS_NS = 1_000_000
_HOUR_MS = 3_600_000


@dataclass(slots=True, kw_only=True)
class OneTable:
    """One table in a run."""

    context: Context
    contract: TableContract
    _files: StoredFiles | None = field(default=None, init=False)
    """As they were when they were looked at last; null after a change."""
    _properties: Mapping[str, str] | None = field(default=None, init=False)
    """The same."""
    _would_go: Collection[str] = field(default=(), init=False)
    """Dates that a dry run has only told of."""

    def maintain(self) -> Iterator[Action]:
        """Do what is to be done, and say what it was."""
        found = read_found_table(self.context.spark, self._name)
        if fault := find_fault(self.contract, found):
            yield self._plan(PROPERTIES, fault, outcome=FAILED)
            return
        self._properties = found.properties
        for action, do in (
            (PROPERTIES, self._set_properties),
            (RETENTION, self._delete_rows),
            (COMPACTION, self._compact),
            (VACUUM, self._vacuum),
        ):
            if action in self.context.request.actions:
                yield from do()

    def fail(self, why: str) -> Action:
        """Say that the rest of this table was not looked at."""
        return self._plan(RUN, why, outcome=FAILED)

    @property
    def _name(self) -> str:
        return self.context.names[self.contract.name]

    def _set_properties(self) -> Iterator[Action]:
        """See that Delta keeps what the file of retention says, and has statistics."""
        known = self._read_properties()
        if old_versions.TRANSACTIONS_PROPERTY in known:
            yield self._plan(
                PROPERTIES,
                f"{old_versions.TRANSACTIONS_PROPERTY} is set: a job that stands still "
                f"for longer would write its last micro-batch twice; unset it",
                outcome=FAILED,
            )
        kept = self.context.retention.of(self.contract.name)
        wanted = old_versions.plan_retention(
            known, vacuum_hours=kept.vacuum_hours, log_hours=kept.log_hours
        )
        why = [
            f"{name} to {value} (was {known.get(name, 'not set')})"
            for name, value in wanted.items()
            if value != known.get(name)
        ]
        stated = self.contract.properties.get(STATISTICS_PROPERTY)
        if stated and STATISTICS_PROPERTY not in known:
            wanted[STATISTICS_PROPERTY] = stated
            why.append(f"{STATISTICS_PROPERTY} to the columns that queries filter by")
        if wanted:
            set_them = partial(
                old_versions.set_properties, self.context.spark, self._name, wanted
            )
            yield self._do(self._plan(PROPERTIES, "; ".join(why)), set_them)

    def _delete_rows(self) -> Iterator[Action]:
        """Delete the rows that may go."""
        rows = OldRows(
            spark=self.context.spark,
            retention=self.context.retention,
            names=self.context.names,
            floors=self.context.floors,
            now=self.context.started_at,
        )
        going = rows.find(self.contract)
        if not going:
            return
        held = self._list_files().held
        dates = sorted({day for one in going for day in one.whole_dates})
        files = [file for day in dates for file in held.get(day, ())]
        self._would_go = dates if self.context.request.is_dry_run else ()

        known = [going]

        def delete() -> None:
            # The second time anew: somebody else has written meanwhile.
            for one in known.pop() if known else rows.find(self.contract):
                rows.delete(self.contract, one)

        planned = self._plan(RETENTION, "; ".join(one.why for one in going))
        planned = replace(
            planned,
            partitions=dates,
            rows_deleted=sum(one.rows for one in going),
            before=_measure(files) if files else None,
        )
        yield self._do(planned, delete)

    def _compact(self) -> Iterator[Action]:
        """Rewrite the dates that need it, each in a commit; one action tells of all."""
        judged = self._judge()
        busy = [one for one in judged if one.is_left_alone]
        if busy:
            listed = "; ".join(f"{one.day}: {one.why}" for one in busy)
            yield self._plan(COMPACTION, listed, outcome=LEFT_ALONE)
        due = [one for one in judged if not one.is_left_alone]
        if due:
            yield self._compact_dates(due)

    def _judge(self) -> list[Judged]:
        job = self.context.settings.maintain_tables
        held = self._list_files().held
        held = {day: files for day, files in held.items() if day not in self._would_go}
        return judge_dates(
            held,
            CompactionRules(
                file_bytes=job.max_file_bytes,
                min_spare_files=job.min_spare_files,
                quiet_minutes=job.quiet_minutes,
            ),
            now_ms=time.time_ns() // _MS_NS,
            read_clusterings=(
                partial(read_clusterings, self.context.spark, self._name, self.contract)
                if self.contract.cluster_by
                else None
            ),
        )

    def _compact_dates(self, due: Sequence[Judged]) -> Action:
        file_bytes = self.context.settings.maintain_tables.max_file_bytes
        needed = sum(count_needed(one.size_bytes, file_bytes) for one in due)
        before = Amount(
            files=sum(one.files for one in due),
            size_bytes=sum(one.size_bytes for one in due),
        )
        planned = replace(
            self._plan(COMPACTION, "; ".join(dict.fromkeys(one.why for one in due))),
            partitions=[one.day for one in due if one.day],
            before=before,
            after=Amount(files=needed, size_bytes=before.size_bytes),
        )
        rewritten = 0
        for one in due:

            def compact_one(day: str = one.day) -> None:
                nonlocal rewritten
                rewritten += compact(
                    self.context.spark,
                    self.contract,
                    self._name,
                    day,
                    file_bytes=file_bytes,
                ).bytes_added

            done = self._do(planned, compact_one, one.place)
            if done.outcome != DONE:
                return done
        if self.context.request.is_dry_run:
            return planned
        left = self._list_files().held
        files = [file for one in due for file in left.get(one.day, ())]
        return replace(
            _timed(planned), after=_measure(files), bytes_rewritten=rewritten
        )

    def _vacuum(self) -> Iterator[Action]:
        """Delete files that no version needs which is kept."""
        kept = self.context.retention.of(self.contract.name)
        hours = old_versions.find_kept_hours(self._read_properties(), kept.vacuum_hours)
        others = self._list_files().others
        oldest_ms = time.time_ns() // _MS_NS - hours * _HOUR_MS
        # None can have been removed longer ago than it was written.
        if others is not None and not any(
            file.modified_ms < oldest_ms for file in others.values()
        ):
            return
        spark = self.context.spark
        unfinished = find_unfinished(
            spark,
            self.context.settings,
            self.context.ledgers,
            self.contract,
            self._name,
        )
        if unfinished is not None:
            yield self._plan(VACUUM, unfinished, outcome=LEFT_ALONE)
            return
        garbage = old_versions.list_garbage(spark, self._name, hours)
        if garbage:
            planned = replace(
                self._plan(VACUUM, f"no version of the last {hours} hours has them"),
                before=_measure_garbage(garbage, others),
            )
            yield self._do(
                planned, partial(old_versions.vacuum, spark, self._name, hours)
            )

    def _read_properties(self) -> Mapping[str, str]:
        if self._properties is None:
            self._properties = old_versions.read_properties(
                self.context.spark, self._name
            )
        return self._properties

    def _list_files(self) -> StoredFiles:
        if self._files is None:
            # Null where its catalog does not tell.
            folder = find_table_folder(
                self.context.spark, self.context.settings.tables, self.contract
            )
            self._files = list_stored_files(
                self.context.spark, self.contract, self._name, folder
            )
        return self._files

    def _plan(self, action: str, why: str, *, outcome: str = DONE) -> Action:
        return Action(
            table=self.contract.name,
            action=action,
            why=why,
            outcome=outcome,
            started_at=datetime.now(tz=UTC),
        )

    def _do(self, planned: Action, do: Callable[[], None], place: str = "") -> Action:
        """Do what is planned, unless nothing is to be done; say how it went."""
        if self.context.request.is_dry_run:
            return planned
        what = f"{planned.action} {planned.table}{place}"
        self._files = self._properties = None
        self.context.observer(f"before {what}")
        try:
            repeat_on_conflict(do, what=what, advice=ADVICE)
        except TooManyConflicts as error:
            return replace(planned, outcome=FAILED, why=str(error))
        self.context.observer(f"after {what}")
        return _timed(planned)


def _measure_garbage(
    paths: Sequence[str], others: Mapping[str, StoredFile] | None
) -> Amount | None:
    """Return what files of these paths take, among which are empty folders.

    Nulls: None where nobody can look into the folder of the table.
    """
    if others is None:
        return None
    names = {path.rpartition("/")[2] for path in paths}
    return _measure([file for name, file in others.items() if name in names])


def _measure(files: Sequence[StoredFile]) -> Amount:
    return Amount(files=len(files), size_bytes=sum(file.size_bytes for file in files))


def _timed(planned: Action) -> Action:
    taken = datetime.now(tz=UTC) - planned.started_at
    return replace(planned, seconds=taken.total_seconds())
