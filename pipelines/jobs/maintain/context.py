"""What one run is asked for, and what it needs for every table."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import SparkSession

from pipelines.settings.records import Settings
from pipelines.settings.retention import Retention
from pipelines.streaming.start_records import Ledger

from .results import ACTIONS

Observer = Callable[[str], None]
"""Told `before` and `after` each step: `before compaction quarantine 2026-03-01`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What one run is asked for."""

    tables: Collection[str] = ()
    """Names; without one, all that there are."""
    actions: Collection[str] = ACTIONS
    is_dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What stays the same for all tables of a run."""

    spark: SparkSession
    settings: Settings
    request: Request
    retention: Retention
    ledgers: Sequence[Ledger]
    """Of all streaming jobs."""
    names: Mapping[str, str]
    """SQL identifiers of all tables, by names of contracts."""
    started_at: datetime
    observer: Observer

    @property
    def floors(self) -> frozenset[str]:
        """Return the names of the tables that tell jobs where they stand."""
        return frozenset(
            contract.name
            for ledger in self.ledgers
            for contract in (ledger.contract, *ledger.written_before)
        )
