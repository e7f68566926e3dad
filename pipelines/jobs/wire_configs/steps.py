"""The newest value of each key that clients have shown on the wire.

One that is exact stays where a later one is not: it says less.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading.wire_entries import rank
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS

KEY = CLIENT_WIRE_CONFIGS.merge_key
ENTRY_COLUMNS = CLIENT_WIRE_CONFIGS.column_names


def filter_newest(entries: DataFrame) -> DataFrame:
    """Keep the newest entry of each client and key."""
    newest = F.max_by(F.struct(*ENTRY_COLUMNS), rank()).alias("entry")
    return entries.groupBy(*KEY).agg(newest).select("entry.*")


def filter_newer(entries: DataFrame, table: DataFrame) -> DataFrame:
    """Keep the entries that the table has not, or has older ones of.

    Args:
        entries: One for each client and key.
        table: The table, with position.
    Returns: The same, with the position of the row that the table has, if any.
    """
    narrow = table.select(*KEY, rank().alias("known"), "position")
    known = narrow.join(F.broadcast(entries.select(*KEY)), [*KEY], "left_semi")
    joined = entries.join(known, [*KEY], "left")
    is_newer = F.col("known").isNull() | (rank() > F.col("known"))
    return joined.where(is_newer).select(*ENTRY_COLUMNS, "position")
