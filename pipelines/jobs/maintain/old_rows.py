"""Finds the rows of a table that may go, and deletes them.

What goes is worked out of the table as it is, each time: a run that was cut off, or was
quicker than somebody else, is repeated as if nothing had been.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, SparkSession

from pipelines.delta_tables.erase import delete_by_key, delete_where
from pipelines.delta_tables.locations import has_table
from pipelines.reading.client_states import states_query
from pipelines.settings.retention import FOR_EVER, Retention, find_first_date
from pipelines.tables.configs import CLIENT_CONFIGS
from pipelines.tables.contract import TableContract
from pipelines.tables.telemetry import CLIENT_INSTANCES, CLIENT_PUSHES, QUARANTINE
from pipelines.time_ranges import EPOCH, MICROSECOND

from . import steps
from .retention import (
    NOTHING,
    Position,
    closed_rows,
    describe_old_rows,
    kept_rows,
    old_rows,
    write_moment,
)

_NEVER = 36_500
"""Days after which nothing expires."""
_RECENT_DATES = 2
"""Dates that mostly have a newer row of every topic and partition than old ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoingRows:
    """Rows of a table that may go."""

    why: str
    rows: int
    whole_dates: Collection[str] = ()
    """Of which all rows go."""
    condition: str | None = None
    """SQL of other rows that go; null: none."""
    ended: DataFrame | None = field(default=None, repr=False)
    """Keys of rows that go, of client instances; null: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OldRows:
    """What may go, of all tables of a site."""

    spark: SparkSession
    retention: Retention
    names: Mapping[str, str]
    """SQL identifiers of all tables, by names of contracts."""
    floors: Collection[str]
    """Names of tables that tell jobs where they stand."""
    now: datetime

    def find(self, contract: TableContract) -> list[GoingRows]:
        """Return what may go of a table, in parts; none where nothing may."""
        kept = self.retention.of(contract.name)
        found = []
        if kept.days != FOR_EVER and contract.ages_by:
            found.append(self._find_old(contract, kept.days))
        if kept.closed_days != FOR_EVER and contract.closes_by:
            closed = closed_rows(contract, kept, self.now)
            why = f"ended more than {kept.closed_days} days ago"
            found.append(self._count(contract, closed, why))
        if kept.ended_days != FOR_EVER and contract.ends_with_instance:
            found.append(self._find_ended(contract, kept.ended_days))
        return [one for one in found if one.rows]

    def delete(self, contract: TableContract, going: GoingRows) -> None:
        """Delete what find has found.

        Raises: One of retry.CONFLICTS where somebody else has written to the same.
        """
        table = self.names[contract.name]
        if going.whole_dates:
            dates = ", ".join(f"DATE'{day}'" for day in sorted(going.whole_dates))
            delete_where(self.spark, table, f"`{contract.ages_by}` IN ({dates})")
        if going.condition is not None:
            delete_where(self.spark, table, going.condition)
        if going.ended is not None:
            delete_by_key(going.ended, table, (steps.INSTANCE,))

    def _read(self, contract: TableContract) -> DataFrame:
        return self.spark.table(self.names[contract.name])

    def _has(self, contract: TableContract) -> bool:
        return has_table(self.spark, self.names[contract.name])

    def _count(self, contract: TableContract, condition: str, why: str) -> GoingRows:
        rows = self._read(contract).where(condition).count()
        return GoingRows(why=why, rows=rows, condition=condition)

    def _find_old(self, contract: TableContract, days: int) -> GoingRows:
        old = old_rows(contract, self.retention.of(contract.name), self.now)
        stays = NOTHING
        if contract.name in self.floors:
            stays = kept_rows(contract, self._find_newest(contract, old))
        why = describe_old_rows(contract, days)
        if stays != NOTHING:
            why += ", but for what tells jobs where they stand"
        if contract.ages_by not in contract.partition_by:
            return self._count(contract, f"{old} AND NOT ({stays})", why)
        old_ones = self._read(contract).where(old)
        counts = old_ones.transform(steps.count_by_date, contract.ages_by, stays)
        dates = {row["day"]: row for row in counts.collect() if row["going"]}
        whole = {day for day, row in dates.items() if row["going"] == row["rows"]}
        partial = dates.keys() - whole
        condition = None
        if partial:
            listed = ", ".join(f"DATE'{day}'" for day in sorted(partial))
            condition = f"`{contract.ages_by}` IN ({listed}) AND NOT ({stays})"
        return GoingRows(
            why=why,
            rows=sum(row["going"] for row in dates.values()),
            whole_dates=whole,
            condition=condition,
        )

    def _find_newest(self, contract: TableContract, old: str) -> Mapping[Position, int]:
        """Return the newest offsets that only old rows have.

        The newest rows are looked at first: mostly they have later ones, and the rest
        of the table need not be read.
        """
        records = self._read(contract)
        if contract is QUARANTINE:
            # Rows that stand for others; they stay in any case.
            records = records.where(f"NOT ({kept_rows(contract, {})})")
        newest = _collect(records.where(old))
        others = records.where(f"NOT ({old})")
        looks = [others]
        if contract.ages_by in contract.partition_by:
            recent = find_first_date(_RECENT_DATES, self.now)
            looks.insert(0, others.where(f"`{contract.ages_by}` >= DATE'{recent}'"))
        for look in looks:
            if newest:
                later = _collect(look)
                newest = {
                    at: offset
                    for at, offset in newest.items()
                    if later.get(at, -1) < offset
                }
        return newest

    def _find_ended(self, contract: TableContract, days: int) -> GoingRows:
        why = f"of clients that ended more than {days} days ago"
        nothing = GoingRows(why=why, rows=0)
        if not self._has(CLIENT_INSTANCES):
            return nothing
        oldest = write_moment(self.now - timedelta(days=days))
        ended = self._read_states(days).transform(steps.select_ended, oldest)
        rows = self._read(contract).transform(steps.filter_ended, ended)
        others = self.retention.of(CLIENT_CONFIGS.name).ended_days != FOR_EVER
        if contract is CLIENT_INSTANCES and others and self._has(CLIENT_CONFIGS):
            # Without this row nobody would know of the other that it may go.
            known = self._read(CLIENT_CONFIGS).select(steps.INSTANCE)
            rows = rows.join(known, steps.INSTANCE, "left_anti")
        return GoingRows(why=why, rows=rows.count(), ended=rows)

    def _read_states(self, days: int) -> DataFrame:
        """Return the states of client instances; they expire after so many days."""
        has_pushes = self._has(CLIENT_PUSHES)
        heard_to = (
            self._find_heard_to(self._read(CLIENT_PUSHES)) if has_pushes else None
        )
        there = [one for one in (CLIENT_INSTANCES, CLIENT_CONFIGS) if self._has(one)]
        # Without a push, nothing is known of instances that have not terminated.
        late = timedelta(days=_NEVER) if heard_to is None else self.now - heard_to
        kept_for = timedelta(days=days) + late
        if heard_to is not None:
            there.append(CLIENT_PUSHES)
        for one in there:
            self._read(one).createOrReplaceTempView(one.name)
        return self.spark.sql(
            states_query(
                [one.name for one in there],
                now=write_moment(self.now),
                expire_after_hours=math.ceil(kept_for / timedelta(hours=1)),
                since=write_moment(self.now - kept_for),
            )
        )

    def _find_heard_to(self, pushes: DataFrame) -> datetime | None:
        """Return until when pushes are known: their job may be behind, or stand still.

        Nulls: None without a push.
        """
        ((newest,),) = pushes.selectExpr("MAX(event_date)").collect()
        if newest is None:
            return None
        last = pushes.where(f"event_date = DATE'{newest}'")
        ((micros,),) = last.selectExpr("MAX(unix_micros(received_at))").collect()
        heard_to: datetime = EPOCH + micros * MICROSECOND
        return min(self.now, heard_to)


def _collect(rows: DataFrame) -> dict[Position, int]:
    newest: Iterable[tuple[str, int, int]] = rows.transform(
        steps.select_newest
    ).collect()
    return {
        Position(topic=topic, partition=partition): offset
        for topic, partition, offset in newest
    }
