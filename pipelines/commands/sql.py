"""sql: the answer to one query."""

import sys

from .call import Call
from .options import CONFIG, ENV, SET, Command, option, whole_number


def run(call: Call) -> int:
    """Print it."""
    from . import asking

    arguments, settings = call.arguments, call.read_settings()
    printing = asking.Printing(
        format=arguments.format, limit=arguments.limit, output=sys.stdout
    )
    with call.session("sql") as spark:
        asking.print_query(spark, settings, arguments.query, printing)
    return 0


COMMAND = Command(
    name="sql",
    help="Print the result of a SQL query over the tables",
    options=(
        option("query", "SQL query"),
        ENV,
        CONFIG,
        SET,
        option(
            "--limit",
            "Maximum number of rows to print (default: 1000 at a terminal, else all)",
            type=whole_number(0),
        ),
        option(
            "--format",
            "Output: table, csv (RFC 4180 with a header) or json (one object a line)",
            choices=("table", "csv", "json"),
            default="table",
        ),
    ),
    takes_spark_options=True,
    run=run,
)
