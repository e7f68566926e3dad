"""Tables of an older contract version become those of this one, by columns added.

A table is altered a statement at a time, its version last, and looked at anew before:
killed at any point, the next run does what is left. No file of rows is rewritten.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.sql import SparkSession

from pipelines.counted import counted
from pipelines.delta_tables.found_tables import read_found_table, refuse_fault
from pipelines.delta_tables.locations import has_table, identify_table
from pipelines.delta_tables.setup import alter_table
from pipelines.errors import IncompatibleTable, MissingTable
from pipelines.settings.records import Settings
from pipelines.tables.changes import FoundTable, find_fault, list_all, list_kept
from pipelines.tables.contract import TableContract

DRY_RUN = "dry run: nothing was changed"
UNTOUCHED = (
    "no file of rows was rewritten; in added columns, rows from before have null"
)


@dataclass(frozen=True, slots=True)
class _Found:
    contract: TableContract
    table: FoundTable


def run(
    spark: SparkSession,
    settings: Settings,
    contracts: Sequence[TableContract],
    *,
    is_dry_run: bool,
    say: Callable[[str], None],
) -> None:
    """Migrate the tables that there are, or only say what would be done.

    Args:
        contracts: Of the tables to look at.
        say: Prints a line.
    Raises: MissingTable where there is none of them, IncompatibleTable where one can
        not be brought to its contract; nothing has been changed then.
    """
    tables = _find_tables(spark, settings, contracts, say)
    _refuse_faults(tables)
    changed = 0
    for one in tables:
        is_changed = _say_changes(one, is_dry_run=is_dry_run, say=say)
        changed += is_changed
        if is_changed and not is_dry_run:
            alter_table(one.table.identifier, partial(_migrate, spark, one))
    if is_dry_run:
        say(DRY_RUN)
    elif changed:
        say(f"{counted(changed, 'table')} changed; {UNTOUCHED}")


def _find_tables(
    spark: SparkSession,
    settings: Settings,
    contracts: Sequence[TableContract],
    say: Callable[[str], None],
) -> list[_Found]:
    identifiers = {c.name: identify_table(spark, settings.tables, c) for c in contracts}
    there = [one for one in contracts if has_table(spark, identifiers[one.name])]
    if not there:
        place = settings.tables.catalog_schema or settings.tables.root_path
        names = ", ".join(identifiers)
        raise MissingTable(f"{place}: none of these tables is there: {names}")
    for contract in contracts:
        if contract not in there:
            say(f"{contract.name}: no table yet; its job makes it")
    return [
        _Found(one, read_found_table(spark, identifiers[one.name], with_comment=True))
        for one in there
    ]


def _refuse_faults(tables: Sequence[_Found]) -> None:
    faults = [find_fault(one.contract, one.table) for one in tables]
    told = [fault for fault in faults if fault is not None]
    if told:
        raise IncompatibleTable("; ".join([*told, "nothing was changed"]))


def _say_changes(one: _Found, *, is_dry_run: bool, say: Callable[[str], None]) -> bool:
    """Say what becomes of a table, and whether anything does."""
    contract, name = one.contract, one.contract.name
    changes = list_all(contract, one.table)
    if one.table.is_older(contract):
        would = "would become" if is_dry_run else "becomes"
        version = one.table.contract_version
        say(f"{name}: contract version {version} {would} {contract.contract_version}")
    elif changes:
        would = "would be" if is_dry_run else "is"
        say(f"{name}: contract version {contract.contract_version} {would} completed")
    else:
        say(f"{name}: nothing to do, contract version {contract.contract_version}")
    for change in changes:
        for text in change.texts:
            say(f"  {text}")
    for text in list_kept(contract, one.table):
        say(f"  {text}")
    return bool(changes)


def _migrate(spark: SparkSession, one: _Found) -> None:
    """Bring one table to its contract, from wherever it is now."""
    now = read_found_table(spark, one.table.identifier, with_comment=True)
    refuse_fault(one.contract, now)
    for change in list_all(one.contract, now):
        spark.sql(change.statement)
