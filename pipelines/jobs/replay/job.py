"""Bodies of client_pushes, decoded again into the tables that were made of them.

For use after a fix of the decoder, beside the job that goes on appending. A part of the
range is read, decoded and compared with what the tables hold; pushes with other rows
than the decoder gives now get theirs, in one commit a table. What a push in the ledger
has in the other tables was there before it, so pushes that arrive meanwhile are left
alone. A replay that was cut off is run again: what is right already is not written.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables import transactions
from pipelines.delta_tables.digests import (
    digest_pushes,
    filter_differing,
    select_totals,
)
from pipelines.delta_tables.locations import has_table, identify_table
from pipelines.delta_tables.retry import is_conflict, repeat_on_conflict
from pipelines.delta_tables.session_settings import session_settings
from pipelines.delta_tables.setup import ensure_tables
from pipelines.delta_tables.spark_writer import PLACE, MergedReplacement
from pipelines.delta_tables.writers import TableWriter, open_writer
from pipelines.errors import MissingTable, NothingToDo
from pipelines.settings.records import Settings
from pipelines.tables.columns import Column
from pipelines.tables.contract import PUSH, TableContract
from pipelines.tables.telemetry import CLIENT_METRICS, CLIENT_PUSHES, QUARANTINE
from pipelines.time_ranges import Held, TimeRange, cut_by_count
from udfs.spark import decode_points, decode_pushes

from .results import Differences, ReplayResult, describe
from .steps import (
    OF_THE_PUSH,
    count_by_minute,
    count_by_moment,
    filter_dates,
    filter_received,
    filter_replayable,
    select_client_metrics,
    select_replayed_rejections,
    with_compression_id,
)

JOB_NAME = "replay_pushes"
REPLACED = (CLIENT_METRICS, QUARANTINE, CLIENT_PUSHES)
"""In the order in which they are written; the ledger last, as in a micro-batch."""
PART_BYTES = 128 << 20
"""Of files, about, whose bodies and points are replayed at once. No memory depends on
it: rows come from the decoder a few at a time, again wherever they are looked at."""
READER_SETTINGS = {"spark.sql.parquet.columnarReaderBatchSize": "32"}
"""Rows that a task reads at once; Spark's own number, 4096 bodies, can be 4 GB."""

_DECODED = frozenset(
    {
        *("decode_status", "point_count", "client_type"),
        *("group_id", "group_instance_id", "group_member_id"),
        *("transactional_id", "client_rack"),
    }
)
_COMPARED: Mapping[str, tuple[Column, ...]] = {
    CLIENT_METRICS.name: CLIENT_METRICS.columns,
    # Who rejected a record is not a fact about it.
    QUARANTINE.name: tuple(c for c in QUARANTINE.columns if c.name != "source_job"),
    # All else of the ledger stays as it was received.
    CLIENT_PUSHES.name: tuple(c for c in CLIENT_PUSHES.columns if c.name in _DECODED),
}

_ADVICE = (
    "Earlier parts are done. Stop the jobs that write to the same dates, other replays "
    "and maintain_tables, then run the same command again."
)
PAUSE_S, POLL_S = 30.0, 0.5
"""After a conflict: longest wait for the other writer's next commit, and its poll."""

_logger = logging.getLogger(__name__)

Observer = Callable[[str], None]
"""Told `before` and `after` each commit, with the table: `before client_metrics`."""


def run(
    spark: SparkSession,
    settings: Settings,
    span: TimeRange,
    *,
    is_dry_run: bool = False,
    observer: Observer = lambda _: None,
) -> ReplayResult:
    """Decode the pushes of a range again and put the tables right.

    Args:
        span: Of received_at.
        is_dry_run: Only say what differs.
        observer: Told how far it is.
    Raises: MissingTable, IncompatibleTable, NothingToDo, TooManyConflicts.
    """
    tables = {c.name: identify_table(spark, settings.tables, c) for c in REPLACED}
    for table in tables.values():
        if not has_table(spark, table):
            raise MissingTable(f"table {table}: there is none")
    ensure_tables(spark, settings.tables, REPLACED)
    replay = _Replay(
        spark=spark,
        settings=settings,
        writer=open_writer(spark, settings.tables, REPLACED),
        is_dry_run=is_dry_run,
        observer=observer,
    )
    pushes, differences = 0, dict.fromkeys(tables, Differences())
    with session_settings(spark, READER_SETTINGS):
        for part, count in replay.list_parts(span):
            found = replay.run_part(part)
            pushes += count
            differences = {name: differences[name] + found[name] for name in tables}
            _logger.info("%s: %s", part, describe(found, count))
    if not pushes:
        raise NothingToDo(f"client_pushes has no push that was received from {span}")
    return ReplayResult(pushes=pushes, differences=differences)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replay:
    """Replays parts; what it needs beside them stays the same."""

    spark: SparkSession
    settings: Settings
    writer: TableWriter
    is_dry_run: bool
    observer: Observer

    def list_parts(self, span: TimeRange) -> Iterator[tuple[TimeRange, int]]:
        """Return the parts that hold pushes, with their number, in order of time."""
        limit = self.settings.replay_pushes.max_pushes_per_commit
        ledger = self.writer.read(self.spark, CLIENT_PUSHES)
        dates = ledger.transform(filter_dates, span).select("event_date").distinct()
        for row in dates.orderBy("event_date").collect():
            day = span.within(row["event_date"])
            held = list(_list_held(ledger.transform(_filter_part, day), limit))
            yield from cut_by_count(day, held, limit, PART_BYTES)

    def run_part(self, part: TimeRange) -> dict[str, Differences]:
        """Replay one part, again where somebody else was quicker."""
        return repeat_on_conflict(
            lambda: self._replay(part),
            what=str(part),
            advice=_ADVICE,
        )

    def _replay(self, part: TimeRange) -> dict[str, Differences]:
        # Before all others: what it holds of a push stands in those already.
        ledger_now = self._look_at(CLIENT_PUSHES)
        ledger = (
            ledger_now.read()
            .transform(_filter_part, part)
            .transform(filter_replayable)
            .transform(with_compression_id)
        )
        metrics_now = self._look_at(CLIENT_METRICS)
        stored = metrics_now.read().transform(_filter_part, part)
        found = {}
        found[CLIENT_METRICS.name] = self._replace(
            CLIENT_METRICS,
            metrics_now,
            _of(stored, ledger),
            ledger,
            self._find_points,
        )
        quarantine_now = self._look_at(QUARANTINE)
        # Its dates are those of Kafka's timestamps.
        stored = _of(quarantine_now.read().transform(filter_received, part), ledger)
        found[QUARANTINE.name] = self._replace(
            QUARANTINE,
            quarantine_now,
            stored,
            ledger,
            partial(self._find_rejections, quarantine=stored),
        )
        found[CLIENT_PUSHES.name] = self._replace(
            CLIENT_PUSHES, ledger_now, ledger, ledger, self._find_pushes
        )
        return found

    def _find_points(self, ledger: DataFrame) -> DataFrame:
        """Return the rows that client_metrics must hold of the pushes."""
        return ledger.transform(
            decode_points, OF_THE_PUSH, max_decompressed_bytes=self._max_push_bytes
        ).transform(select_client_metrics)

    def _find_rejections(
        self, ledger: DataFrame, *, quarantine: DataFrame
    ) -> DataFrame:
        """Return the rows that quarantine must hold of the pushes."""
        return self._decode(ledger).transform(
            select_replayed_rejections, quarantine, JOB_NAME
        )

    def _find_pushes(self, ledger: DataFrame) -> DataFrame:
        """Return the rows that client_pushes must hold, a user's own columns too."""
        return self._decode(ledger).select(*ledger.columns)

    def _decode(self, ledger: DataFrame) -> DataFrame:
        return ledger.transform(
            decode_pushes, max_decompressed_bytes=self._max_push_bytes
        )

    @property
    def _max_push_bytes(self) -> int:
        return self.settings.client_telemetry_to_delta.max_decompressed_bytes

    def _look_at(self, contract: TableContract) -> MergedReplacement:
        return self.writer.begin_replacement(self.spark, contract)

    def _replace(
        self,
        contract: TableContract,
        table_now: MergedReplacement,
        stored: DataFrame,
        ledger: DataFrame,
        find_rows: Callable[[DataFrame], DataFrame],
    ) -> Differences:
        """Give the pushes whose rows differ their fresh rows; return what differed."""
        columns = _COMPARED[contract.name]
        differing = filter_differing(
            digest_pushes(stored, columns, f"collect_set({PLACE}) AS places"),
            digest_pushes(find_rows(ledger), columns),
        )
        with transactions.persisted(differing):
            totals = differing.transform(select_totals).collect()[0]
            if totals["pushes"] and not self.is_dry_run:
                self.observer(f"before {contract.name}")
                pushes = ledger.join(F.broadcast(differing), PUSH, "left_semi")
                self._commit(
                    contract,
                    lambda: table_now.commit(
                        differing,
                        totals["places"],
                        find_rows(pushes),
                        row_count=totals["fresh_rows"],
                    ),
                )
                self.observer(f"after {contract.name}")
        return Differences(
            totals["pushes"], totals["stored_rows"], totals["fresh_rows"]
        )

    def _commit(self, contract: TableContract, commit: Callable[[], None]) -> None:
        """Commit, again in the next pause of a job that writes to the same date."""

        def is_expected(error: Exception) -> bool:
            if not is_conflict(error):
                return False
            _logger.info("%s: waiting for a pause of its writer", contract.name)
            version = self.writer.read_version(self.spark, contract)
            until = time.monotonic() + PAUSE_S
            while time.monotonic() < until:
                if self.writer.read_version(self.spark, contract) != version:
                    break
                time.sleep(POLL_S)
            return True

        repeat_on_conflict(
            commit, what=contract.name, advice=_ADVICE, is_expected=is_expected
        )


def _list_held(pushes: DataFrame, limit: int) -> Iterator[Held]:
    """Return how much there is of each minute, or moment where a minute is too much."""
    for row in pushes.transform(count_by_minute).collect():
        minute = Held(*row)
        if minute.size_bytes <= PART_BYTES and minute.things <= limit:
            yield minute
            continue
        start = F.timestamp_micros(F.lit(minute.start_us))
        of_minute = pushes.where(F.date_trunc("minute", "received_at") == start)
        moments = of_minute.transform(count_by_moment).collect()
        yield from (Held(*one) for one in moments)


def _filter_part(rows: DataFrame, part: TimeRange) -> DataFrame:
    return rows.transform(filter_dates, part).transform(filter_received, part)


def _of(stored: DataFrame, ledger: DataFrame) -> DataFrame:
    """Keep the rows of the ledger's pushes, and not those of pushes on their way."""
    # What has no push_id, in quarantine alone, is of no push in the ledger.
    return stored.join(F.broadcast(ledger.select(*PUSH)), PUSH, "left_semi")
