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
    help="print the result of a SQL query over the tables",
    options=(
        option("query", "the query"),
        ENV,
        CONFIG,
        SET,
        option(
            "--limit",
            "most rows to print (default: 1000 at a terminal, else all)",
            type=whole_number(0),
        ),
        option(
            "--format",
            "table; csv: RFC 4180 with a header, null is empty and an empty text "
            'is ""; json: one object a line, bytes as base64 (default: table, '
            "whose cells are cut at a terminal only)",
            choices=("table", "csv", "json"),
            default="table",
        ),
    ),
    takes_spark_options=True,
    run=run,
)
