"""Tables that are ahead of their ledger: an older version of theirs is still needed.

Where a micro-batch is cut off between a table and its ledger, its job reads the table
as it was before (see `noted_offsets`). Until then no file of an older version may go.
"""

from collections.abc import Sequence

from pyspark.sql import SparkSession

from pipelines.delta_tables.locations import has_table, identify_table
from pipelines.delta_tables.noted_offsets import read_newest_note
from pipelines.settings.records import Settings
from pipelines.tables.contract import TableContract

from .offsets import select_newest_offsets
from .start_records import Ledger, find_topic


def find_unfinished(
    spark: SparkSession,
    settings: Settings,
    ledgers: Sequence[Ledger],
    contract: TableContract,
    table: str,
) -> str | None:
    """Return which job needs an older version of a table, in words.

    Args:
        ledgers: Of all jobs.
        table: SQL identifier of the table.
    Nulls: None where none does.
    """
    note = read_newest_note(spark, table)
    if note is None:
        return None
    for ledger in ledgers:
        if find_topic(settings, ledger) != note.topic or ledger.contract is contract:
            continue
        name = identify_table(spark, settings.tables, ledger.contract)
        if not has_table(spark, name):
            continue
        rows = spark.table(name).transform(select_newest_offsets, note.topic)
        newest = max((row["offset"] for row in rows.collect()), default=-1)
        if note.offset > newest:
            return (
                f"it is ahead of {ledger.contract.name}: {ledger.job_name} is in a "
                f"micro-batch, or was cut off in one, and may need an older version; "
                f"where it does not run, start it"
            )
    return None
