"""Ask the tables: one query, or a prompt. Reading takes no lock and no metastore."""

import code

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from pipelines import views
from pipelines.errors import PipelineError
from pipelines.settings.records import Settings

from .console import format_table


class InvalidQuery(PipelineError):
    """Raised when Spark refuses the text of a query."""

    exit_code = 2


def print_query(
    spark: SparkSession, settings: Settings, query: str, *, limit: int
) -> None:
    """Print what a query answers.

    Raises: InvalidQuery, with Spark's own reason.
    """
    views.register(spark, settings)
    try:
        print(format_rows(spark.sql(query), limit=limit))
    except PySparkException as error:
        reason = str(error).partition("JVM stacktrace")[0].strip()
        raise InvalidQuery(f"the query was refused: {reason}") from None


def format_rows(answer: DataFrame, *, limit: int) -> str:
    """Return the first rows as a table and say how many there are.

    Args:
        answer: Any DataFrame.
        limit: Most rows to print.
    """
    rows = answer.limit(limit + 1).collect()
    shown = [[_readable(value) for value in row] for row in rows[:limit]]
    count = f"{len(shown)} row{'' if len(shown) == 1 else 's'}"
    if len(rows) > limit:
        count = f"the first {limit} rows; --limit shows more"
    return f"{format_table(answer.columns, shown)}\n({count})"


def _readable(value: object) -> object:
    """Show bytes by their number; a payload is nothing to look at."""
    if isinstance(value, bytes | bytearray):
        return f"({len(value)} bytes)"
    return value


def open_shell(spark: SparkSession, settings: Settings) -> None:
    """Open a Python prompt with `spark`, until end of input or exit()."""
    registered = views.register(spark, settings)
    names = {"spark": spark, "sc": spark.sparkContext, "sql": spark.sql}
    _complete_names(names)
    tables = ", ".join(registered) or "none yet"
    code.interact(
        banner=f"Spark {spark.version} as `spark`; tables: {tables}\n"
        'Try: spark.table("clients").show()',
        local=names,
        exitmsg="",
    )


def _complete_names(names: dict[str, object]) -> None:
    """Let the tab key complete names, where this Python was built for that."""
    try:
        import readline  # noqa: PLC0415 - not every Python has it
        import rlcompleter  # noqa: PLC0415 - the same
    except ImportError:
        return
    readline.set_completer(rlcompleter.Completer(names).complete)
    is_libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
