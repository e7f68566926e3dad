"""What readers find in a session beside the tables: views and functions of SQL."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from pipelines.reading.client_states import NOW
from pipelines.settings.records import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What the SQL of a view or function may depend on."""

    spark: SparkSession
    settings: Settings
    registered: Collection[str]
    """Names of the tables and views that exist already."""
    now: str = NOW
    """SQL for the time of the states."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A temporary view of one session."""

    name: str
    row: str = ""
    """What one row is, for the reference; empty: internal, not documented."""
    sql: str | Callable[[Sources], str | DataFrame | None]
    """One SELECT, or a function that returns it or its rows; None: no view."""
    needs: Collection[str] = ()
    """Tables, views and functions without which this view does not exist."""
    uses: Collection[str] = ()
    """Tables and views that the SQL reads if they exist."""
    made_by: str
    """Job or command that writes the tables of this view."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A temporary function of one session."""

    name: str
    arguments: str
    """As SQL shows them, by commas."""
    result: str
    """What the value, or one row of a table function, is."""
    register: Callable[[Sources], None]
    is_table: bool = False
    example: str = ""
    needs: Collection[str] = ()
    """As for a view."""
    uses: Collection[str] = ()
    made_by: str | None = None
    """As for a view; None: the function needs no table."""
