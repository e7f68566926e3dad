"""What a table lacks of its contract, in words and as the SQL that adds it.

Strategy: a table is taken as it was found, whatever its version says, so that what was
cut off in the midst is gone on with. Each statement changes the table's description
alone; no file of rows is read or written. The version is stated last.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from .columns import Column
from .contract import (
    CONTRACT_VERSION_PROPERTY,
    TableContract,
    add_columns_statement,
    quote_text,
    set_statement,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundColumn:
    """One column of a table that there is."""

    sql_type: str
    """As Spark shows it."""
    is_nullable: bool
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTable:
    """A table that there is, whoever has made it."""

    identifier: str
    """Quoted, for SQL."""
    properties: Mapping[str, str]
    columns: Mapping[str, FoundColumn]
    partition_by: tuple[str, ...] = ()
    comment: str | None = None
    """Null where nobody has looked."""

    @property
    def contract_version(self) -> int | None:
        """Return the version that it states; None: a table of another program."""
        stated = self.properties.get(CONTRACT_VERSION_PROPERTY, "")
        return int(stated) if stated.isdecimal() else None

    def is_older(self, contract: TableContract) -> bool:
        """Say whether an older release made it, or was the last to change it."""
        version = self.contract_version
        return version is not None and version < contract.contract_version


@dataclass(frozen=True, slots=True)
class Change:
    """One statement, and what it does."""

    texts: tuple[str, ...]
    """Imperatives, for people."""
    statement: str


def find_fault(contract: TableContract, found: FoundTable) -> str | None:
    """Return why no statement makes the table one of the contract; None: one does."""
    table, version = found.identifier, found.contract_version
    if version is None:
        return (
            f"table {table}: it has no {CONTRACT_VERSION_PROPERTY}, so another program "
            f"wrote it; choose another place for {contract.name}"
        )
    if version > contract.contract_version:
        return (
            f"table {table}: its contract version {version} is newer than "
            f"{contract.contract_version}, the newest that this program knows; upgrade "
            f"this program"
        )
    return _find_wrong_column(contract, found) or _find_wrong_partitions(
        contract, found
    )


def list_needed(contract: TableContract, found: FoundTable) -> list[Change]:
    """Return the changes without which rows of the contract cannot be written."""
    lacking = [c for c in contract.columns if c.name not in found.columns]
    changes = []
    if lacking:
        texts = tuple(f"add column {c.name} {c.sql_type}" for c in lacking)
        statement = add_columns_statement(lacking, found.identifier)
        changes.append(Change(texts, statement))
    for column in contract.columns:
        there = found.columns.get(column.name)
        if there is not None and column.is_nullable and not there.is_nullable:
            changes.append(
                Change(
                    (f"let column {column.name} be null",),
                    _alter_column(found, column, "DROP NOT NULL"),
                )
            )
    return changes


def list_properties(contract: TableContract, found: FoundTable) -> list[Change]:
    """Return the change, if there is any, that states the contract's properties.

    Of a table of this version only those that it lacks: another value is its owner's.
    """
    is_older = found.is_older(contract)
    values = {
        name: value
        for name, value in contract.properties.items()
        if name not in found.properties
        or (is_older and found.properties[name] != value)
    }
    texts = [f"set {name} = {value}" for name, value in values.items()]
    if is_older:
        values[CONTRACT_VERSION_PROPERTY] = str(contract.contract_version)
        texts.append(f"state contract version {contract.contract_version}")
    if not values:
        return []
    return [Change(tuple(texts), set_statement(values, found.identifier))]


def list_comments(contract: TableContract, found: FoundTable) -> list[Change]:
    """Return the changes that let a table say what its contract says of it."""
    changes = []
    if found.comment is not None and found.comment != contract.comment:
        said = f"COMMENT ON TABLE {found.identifier} IS {quote_text(contract.comment)}"
        changes.append(Change(("say what a row is",), said))
    for column in contract.columns:
        there = found.columns.get(column.name)
        if there is not None and there.comment != column.comment:
            action = f"COMMENT {quote_text(column.comment)}"
            changes.append(
                Change(
                    (f"say what column {column.name} is",),
                    _alter_column(found, column, action),
                )
            )
    return changes


def list_all(contract: TableContract, found: FoundTable) -> list[Change]:
    """Return everything in which a table differs, in the order to be done."""
    return [
        *list_needed(contract, found),
        *list_comments(contract, found),
        *list_properties(contract, found),
    ]


def list_kept(contract: TableContract, found: FoundTable) -> list[str]:
    """Return what its owner has set otherwise than the contract, and stays so."""
    if found.is_older(contract):
        return []
    return [
        f"{name} = {found.properties[name]} is kept (the contract says {value})"
        for name, value in contract.properties.items()
        if found.properties.get(name, value) != value
    ]


def _find_wrong_column(contract: TableContract, found: FoundTable) -> str | None:
    table, version = found.identifier, found.contract_version
    by_letters = {name.lower(): name for name in contract.column_names}
    for name, one in found.columns.items():
        meant = by_letters.get(name.lower())
        if meant is None and not one.is_nullable:
            return (
                f"table {table}: column {name} must not be null, and the contract does "
                f"not know it"
            )
        if meant is not None and meant != name:
            return (
                f"table {table}: column {name} is {meant} in the contract, and no two "
                f"columns differ in capitals alone; put a copy without it in its place"
            )
    for column in contract.columns:
        there = found.columns.get(column.name)
        if there is None and not column.is_nullable:
            return (
                f"table {table}: contract version {version} has a column "
                f"{column.name}, and the table has none; it was changed by hand or by "
                f"another program"
            )
        if there is not None and not _has_type(there, column):
            return (
                f"table {table}: column {column.name} is {there.sql_type}, and the "
                f"contract says {column.sql_type}"
            )
    return None


def _has_type(there: FoundColumn, column: Column) -> bool:
    return there.sql_type.lower() == column.sql_type.replace(" ", "").lower()


def _find_wrong_partitions(contract: TableContract, found: FoundTable) -> str | None:
    if found.partition_by == contract.partition_by:
        return None
    return (
        f"table {found.identifier}: it is partitioned by "
        f"({', '.join(found.partition_by)}), and the contract says "
        f"({', '.join(contract.partition_by)})"
    )


def _alter_column(found: FoundTable, column: Column, action: str) -> str:
    return f"ALTER TABLE {found.identifier} ALTER COLUMN `{column.name}` {action}"
