"""One view of readers: name, row, SQL, what it needs, and which job fills it."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from pyspark.sql import SparkSession

from pipelines.settings.records import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What the SQL of a view may depend on."""

    spark: SparkSession
    """To register functions that the SQL calls."""
    settings: Settings
    registered: Collection[str]
    """Names of the tables and views that exist already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A temporary view of one session."""

    name: str
    row: str
    """What one row is, for the reference; empty: internal, not documented."""
    sql: str | Callable[[Sources], str]
    """One SELECT, or a function that returns it."""
    needs: frozenset[str]
    """Tables and views without which this view does not exist."""
    uses: frozenset[str] = frozenset()
    """Tables and views that the SQL reads if they exist."""
    made_by: str
    """Job or command that fills the tables of this view."""
