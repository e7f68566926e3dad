"""Keeps every table small, quick to read and within what it may keep, in one run.

What is to be done is worked out of the tables themselves, each time, so that a run that
was cut off anywhere is simply run again. It stays out of dates that are being written;
who changes rows of the same table meanwhile, or is quicker, makes it look again.
"""

import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from pipelines.delta_tables.locations import has_table, identify_table
from pipelines.delta_tables.row_appends import append_rows
from pipelines.delta_tables.setup import ensure_tables
from pipelines.errors import MissingTable
from pipelines.settings.records import Settings
from pipelines.settings.retention import Retention, load_retention
from pipelines.streaming.start_records import Ledger
from pipelines.streaming.table_claims import claim_tables
from pipelines.tables.contract import TableContract
from pipelines.tables.maintenance import MAINTENANCE_RUNS
from pipelines.tables.registry import ALL_CONTRACTS

from .context import Context, Observer, Request
from .one_table import OneTable
from .results import (
    DONE,
    FAILED,
    FAULTS,
    RUN,
    WHOLE_RUN,
    Action,
    Outcome,
    format_action,
    tell_fault,
)
from .retention import check_retention

JOB_NAME = "maintain_tables"
_logger = logging.getLogger(__name__)


def read_retention(settings: Settings) -> Retention:
    """Read how long rows are kept. Raises: InvalidSetting, naming file and key."""
    job = settings.maintain_tables
    retention = load_retention(job.retention_location)
    check_retention(retention, ALL_CONTRACTS, job.longest_read_hours)
    return retention


def run(
    spark: SparkSession,
    settings: Settings,
    request: Request,
    *,
    ledgers: Sequence[Ledger],
    say: Callable[[str], None],
    observer: Observer = lambda _: None,
) -> Outcome:
    """Maintain the tables that there are.

    Args:
        ledgers: Of all streaming jobs.
        say: Prints a line.
        observer: Told how far it is.
    Raises: InvalidSetting for a retention that is none; TablesInUse; MissingTable where
        a table that was asked for is not there, or none is.
    """
    retention = read_retention(settings)
    names = {c.name: identify_table(spark, settings.tables, c) for c in ALL_CONTRACTS}
    context = Context(
        spark=spark,
        settings=settings,
        request=request,
        retention=retention,
        ledgers=ledgers,
        names=names,
        started_at=datetime.now(tz=UTC),
        observer=observer,
    )
    if request.is_dry_run:
        return _maintain(context, say)
    claim = claim_tables(spark, settings.tables, JOB_NAME, None)
    try:
        return _maintain(context, say)
    finally:
        claim.release()


def _maintain(context: Context, say: Callable[[str], None]) -> Outcome:
    """Maintain one table after the other, and write down what was done."""
    spark, tables, request = context.spark, context.settings.tables, context.request
    contracts = _find_tables(context)
    run_id = uuid.uuid4().hex
    if not request.is_dry_run:
        ensure_tables(spark, tables, [MAINTENANCE_RUNS])
        if not request.tables and MAINTENANCE_RUNS not in contracts:
            contracts.append(MAINTENANCE_RUNS)
    actions: list[Action] = []
    for contract in contracts:
        done = []
        for action in _maintain_one(context, contract):
            line = format_action(action, is_dry_run=request.is_dry_run)
            say(line)
            done.append(action)
            # At once: the run may be killed in the next action.
            _write_down(context, run_id, [action])
        if not done:
            say(f"{contract.name}: nothing to do")
        actions += done
    outcome = Outcome(
        tables=[one.name for one in contracts],
        actions=actions,
        is_dry_run=request.is_dry_run,
    )
    _write_down(context, run_id, [_sum_up(context, outcome)])
    return outcome


def _maintain_one(context: Context, contract: TableContract) -> Iterator[Action]:
    """Maintain one table; a fault of it is told, and others are not left out for it."""
    one = OneTable(context=context, contract=contract)
    try:
        yield from one.maintain()
    except FAULTS as error:
        _logger.debug("%s", contract.name, exc_info=error)
        yield one.fail(tell_fault(error))


def _find_tables(context: Context) -> list[TableContract]:
    """Return the tables to look at. Raises: MissingTable."""
    wanted, tables = {*context.request.tables}, context.settings.tables
    there = [
        one
        for one in ALL_CONTRACTS
        if (not wanted or one.name in wanted) and _is_there(context, one)
    ]
    missing = sorted(wanted - {one.name for one in there})
    where = tables.catalog_schema or tables.root_path
    if missing:
        raise MissingTable(f"there is no {', '.join(missing)} in {where}")
    if not there:
        raise MissingTable(f"there is no table in {where} yet; a job makes it")
    return there


def _is_there(context: Context, contract: TableContract) -> bool:
    try:
        return has_table(context.spark, context.names[contract.name])
    except FAULTS:
        # It is, and cannot be read: its own line will say so.
        return True


def _sum_up(context: Context, outcome: Outcome) -> Action:
    return Action(
        table=WHOLE_RUN,
        action=RUN,
        outcome=FAILED if outcome.has_failed else DONE,
        why=outcome.summary(),
        started_at=context.started_at,
        seconds=(datetime.now(tz=UTC) - context.started_at).total_seconds(),
    )


def _write_down(context: Context, run_id: str, actions: Sequence[Action]) -> None:
    if actions and not context.request.is_dry_run:
        rows = [action.as_row(run_id) for action in actions]
        append_rows(context.spark, context.names[MAINTENANCE_RUNS.name], rows)
