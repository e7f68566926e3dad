"""What a Delta table promises, and the SQL that says so.

A contract version is a whole number. A newer version only adds nullable columns: jobs
add them to an older table, as migrate_tables does, and refuse a table of a newer one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .columns import COORDINATES, Column, names

CONTRACT_VERSION_PROPERTY = "kafka_clientele.contract_version"
STATISTICS_PROPERTY = "delta.dataSkippingStatsColumns"
VECTORS_PROPERTY = "delta.enableDeletionVectors"
CHECKPOINTS = {
    # Commits of a streamed table between two checkpoints of its log, each of which
    # lists every file of the table: with Delta's 10 they are a good part of the job.
    "delta.checkpointInterval": "100",
}


PUSH = [*names(COORDINATES), "push_id"]
"""What names a push: a topic that is made anew has all coordinates once more."""
DECODED = "ok"
"""decode_status of a push whose body was read."""
IS_DELETED = "is_deleted"
"""Column of rows to be changed: whether nothing comes in the place of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableContract:
    """One Delta table: its columns, its key, how it is written."""

    name: str
    comment: str
    """What one row is and how rows come and go."""
    columns: tuple[Column, ...]
    """In table order; the last step of a job selects exactly these."""
    merge_key: tuple[str, ...]
    """Never null; one row per key."""
    contract_version: int
    """From 1; stored as a table property."""
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    """What people ask by: compaction puts rows beside each other that agree in it."""
    newest_by: tuple[str, ...] = ()
    """The greater row wins, compared left to right; empty for an append-only table."""
    ages_by: str = ""
    """Column that says how old a row is, where rows may go by their age: the date that
    the table is partitioned by, or a time. Empty: what is made of it needs them all."""
    closes_by: str = ""
    """Column that says when a row was no longer so: some time later it may go, if
    is_current is false. Empty: no row ends."""
    ends_with_instance: bool = False
    """Whether a row may go some time after its client instance has ended."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Delta's own table properties."""

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns, in table order."""
        return names(self.columns)

    @property
    def has_deletion_vectors(self) -> bool:
        """Whether changed rows are marked, which some readers do not understand."""
        return self.properties.get(VECTORS_PROPERTY) == "true"

    @property
    def merge_condition(self) -> str:
        """SQL that is true where a source row is about a target row."""
        return " AND ".join(f"target.`{c}` = source.`{c}`" for c in self.merge_key)


def column_definition(column: Column) -> str:
    """Return the SQL that declares a column, its comment included."""
    nullability = "" if column.is_nullable else " NOT NULL"
    comment = quote_text(column.comment)
    return f"`{column.name}` {column.sql_type}{nullability} COMMENT {comment}"


def create_statement(contract: TableContract, table: str) -> str:
    """Return the SQL that creates a table, and fails where there is one.

    Args:
        contract: What the table promises.
        table: SQL identifier, quoted: of a path table or of a catalog table.
    """
    columns = ",\n  ".join(column_definition(column) for column in contract.columns)
    partition_by = ", ".join(f"`{name}`" for name in contract.partition_by)
    partitioned = f"PARTITIONED BY ({partition_by})\n" if partition_by else ""
    version = {CONTRACT_VERSION_PROPERTY: str(contract.contract_version)}
    properties = _list_properties({**contract.properties, **version})
    return (
        f"CREATE TABLE {table} (\n  {columns}\n)\nUSING DELTA\n"
        f"{partitioned}COMMENT {quote_text(contract.comment)}\n"
        f"TBLPROPERTIES ({properties})"
    )


def add_columns_statement(columns: Sequence[Column], table: str) -> str:
    """Return the SQL that adds columns to a table of an older contract."""
    definitions = ", ".join(column_definition(column) for column in columns)
    return f"ALTER TABLE {table} ADD COLUMNS ({definitions})"


def set_statement(properties: Mapping[str, str], table: str) -> str:
    """Return the SQL that sets properties of a table."""
    return f"ALTER TABLE {table} SET TBLPROPERTIES ({_list_properties(properties)})"


def _list_properties(properties: Mapping[str, str]) -> str:
    pairs = properties.items()
    return ", ".join(f"{quote_text(k)} = {quote_text(v)}" for k, v in pairs)


def quote_text(text: str) -> str:
    """Return a text as a literal of SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
