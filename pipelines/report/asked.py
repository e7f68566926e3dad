"""What a report asks with: a session, the names that are there, times, a filter."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame, Row, SparkSession

from pipelines.reading.views.view_names import find_maker
from pipelines.settings.records import Settings
from pipelines.tables.contract import quote_text

from .fleet import Part, TimeAxis

USER = "User:"


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
    principals: tuple[str, ...]

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

    @property
    def since_sql(self) -> str:
        """Return the beginning as SQL."""
        return write_moment(self.since)

    def step_sql(self, column: str) -> str:
        """Return the step that a moment is in, as SQL."""
        start = int(self.axis.start.timestamp() * 1_000)
        return f"int((unix_millis({column}) - {start}) div {self.axis.step_ms})"

    def of_principals(self, column: str = "principal") -> str:
        """Return the filter on principals as SQL; a name is of a user as well."""
        if not self.principals:
            return "true"
        named = [
            quote_text(name) for one in self.principals for name in (one, USER + one)
        ]
        return f"{column} IN ({', '.join(named)})"

    def ask(self, query: str) -> Sequence[Row]:
        """Return the rows of a query."""
        return self.spark.sql(query).collect()

    def ask_part(
        self, rows: DataFrame | str, names: Mapping[str, str], most: int
    ) -> Part:
        """Return the first rows of a query or frame as a table.

        Args:
            names: Column to its name on the page.
        """
        frame = self.spark.sql(rows) if isinstance(rows, str) else rows
        found = frame.select(*names).limit(most + 1).collect()
        more = 0
        if len(found) > most:
            # Only where there are more it is asked how many.
            more = frame.count() - most
        return Part(
            names=tuple(names.values()),
            rows=[tuple(row) for row in found[:most]],
            more=more,
        )


def write_moment(moment: datetime) -> str:
    """Return a moment as SQL."""
    return f"timestamp_millis({int(moment.timestamp() * 1_000)})"
