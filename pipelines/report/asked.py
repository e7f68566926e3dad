"""What a report asks with: a session, the names that are there, times, a filter."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading.views.view_names import find_maker
from pipelines.settings.records import Settings

from .distinct import USER
from .fleet import Part, TimeAxis


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One report that is being collected."""

    spark: SparkSession
    settings: Settings
    names: Collection[str]
    """Tables and views that are registered."""
    made_at: datetime
    since: datetime
    axis: TimeAxis
    newest_push: datetime | None
    push_interval_ms: int
    """Usual push interval; 0: not known."""
    current_from: datetime | None = None
    """As PushTimes has it."""
    principals: tuple[str, ...]
    fleet_points: DataFrame | None = None
    """From fleet_performance.select_fleet_points; None: no metrics."""

    @property
    def newest_at(self) -> datetime:
        """Return the end of the newest telemetry."""
        return self.newest_push or self.made_at

    def explain_missing(self, *names: str) -> str:
        """Return a sentence about what is not there of these; empty: all is."""
        missing = [name for name in names if name not in self.names]
        if not missing:
            return ""
        try:
            maker = find_maker(missing[0])
        except KeyError:
            maker = missing[0]
        return f"There is no {missing[0]} yet: ./spark-submit.sh {maker} makes it."

    def table(self, name: str) -> DataFrame:
        """Return the rows of a table or view."""
        return self.spark.table(name)

    def of_principals(self, rows: DataFrame) -> DataFrame:
        """Keep the rows of the chosen principals; a name is of a user as well."""
        if not self.principals:
            return rows
        named = [name for one in self.principals for name in (one, USER + one)]
        return rows.where(F.col("principal").isin(named))

    def ask_part(self, rows: DataFrame, names: Mapping[str, str], most: int) -> Part:
        """Return the first rows as a table.

        Args:
            names: Column to its name on the page.
        """
        found = rows.select(*names).limit(most + 1).collect()
        more = 0
        if len(found) > most:
            # Only where there are more it is asked how many.
            more = rows.count() - most
        return Part(
            names=tuple(names.values()),
            rows=[tuple(row) for row in found[:most]],
            more=more,
        )
