"""What `sql` and `shell` do: ask the tables once, or at a prompt.

Reading takes no lock and no metastore.
"""

import code
import sys
from dataclasses import dataclass
from typing import TextIO

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from pipelines.reading import views
from pipelines.reading.query_results import (
    JSON,
    TABLE,
    WRITERS,
    FirstRows,
    format_rows,
    list_repeated,
    tell_cut,
)
from pipelines.reading.text_tables import MAX_WIDTH
from pipelines.settings.records import Settings

from .failures import describe
from .refused_queries import InvalidQuery, lacks_name, refuse_query

ROWS_AT_A_TERMINAL = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Printing:
    """How the answer to a query is printed."""

    format: str = TABLE
    """One of query_results.FORMATS."""
    limit: int | None = None
    """Most rows; null for all of them, of which a terminal shows the first."""
    output: TextIO
    """A terminal has long cells of a table cut."""


def print_query(
    spark: SparkSession, settings: Settings, query: str, printing: Printing
) -> None:
    """Print what a query answers.

    Raises: InvalidQuery, with Spark's own reason.
    """
    try:
        _print_answer(_ask(spark, settings, query), printing)
    except PySparkException as error:
        raise refuse_query(error, settings) from error


def _ask(spark: SparkSession, settings: Settings, query: str) -> DataFrame:
    """Ask with the tables that the query names; with all where it finds one missing."""
    views.register(spark, settings, views.find_names(query))
    try:
        return spark.sql(query)
    except PySparkException as error:
        if not lacks_name(error):
            raise
    # As in IDENTIFIER('cli' || 'ents'), whose names no look at the text finds.
    views.register(spark, settings)
    return spark.sql(query)


def _print_answer(answer: DataFrame, printing: Printing) -> None:
    output, limit = printing.output, printing.limit
    if limit is None and output.isatty():
        limit = ROWS_AT_A_TERMINAL
    repeated = list_repeated(answer.columns)
    if printing.format == JSON and repeated:
        raise InvalidQuery(
            f"several columns are called {', '.join(repeated)}: a JSON object has one "
            "of a name; AS gives others"
        )
    if printing.format == TABLE:
        width = MAX_WIDTH if output.isatty() else 0
        print(format_rows(answer, limit=limit, max_width=width), file=output)
        return
    rows = FirstRows(answer, limit)
    # Line ends are the format's own.
    for line in WRITERS[printing.format](rows.schema, rows):
        output.write(line)
    if rows.is_cut:
        print(tell_cut(limit), file=sys.stderr)


def open_shell(spark: SparkSession, settings: Settings) -> None:
    """Open a Python prompt with `spark`, until end of input or exit()."""
    registered = views.register(spark, settings)
    names = {"spark": spark, "sc": spark.sparkContext, "sql": spark.sql}
    _complete_names(names)
    tables = ", ".join(registered) or "none yet"
    make_prompt(spark, settings, names).interact(
        banner=f"Spark {spark.version} as `spark`; tables: {tables}\n"
        'Try: spark.table("clients").show()',
        exitmsg="",
    )


def make_prompt(
    spark: SparkSession, settings: Settings, names: dict[str, object]
) -> code.InteractiveConsole:
    """Return a prompt in which these names are known."""
    return _Prompt(spark, settings, names)


class _Prompt(code.InteractiveConsole):
    """Python's own prompt, which says what Spark refuses in a sentence."""

    def __init__(
        self, spark: SparkSession, settings: Settings, names: dict[str, object]
    ) -> None:
        super().__init__(names)
        self._spark, self._settings = spark, settings

    def showtraceback(self) -> None:
        """Print what was raised; of the user's own errors all of it."""
        error = sys.exception()
        if isinstance(error, PySparkException):
            self.write(f"{refuse_query(error, self._settings)}\n")
        elif isinstance(error, KeyboardInterrupt):
            # Spark goes on with what it was asked.
            self._spark.sparkContext.cancelAllJobs()
            self.write("interrupted\n")
        elif error is not None and type(error).__module__.startswith("py4j."):
            self.write(f"{describe(error)}\n")
        else:
            super().showtraceback()


def _complete_names(names: dict[str, object]) -> None:
    """Let the tab key complete names, where this Python was built for that."""
    try:
        import readline
        import rlcompleter
    except ImportError:
        return
    readline.set_completer(rlcompleter.Completer(names).complete)
    is_libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
