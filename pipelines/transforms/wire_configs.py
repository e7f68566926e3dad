"""The newest value of each key that clients have shown on the wire.

One that is exact stays where a later one is not: it says less.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.wire_config_tables import CLIENT_WIRE_CONFIGS

KEY = CLIENT_WIRE_CONFIGS.merge_key
NEWEST = CLIENT_WIRE_CONFIGS.newest_by
ENTRY_COLUMNS = CLIENT_WIRE_CONFIGS.column_names


def rank() -> Column:
    """Return what is greater of the entry that counts, among those of one key.

    Rows of former versions say that an uncompressed batch is exact.
    """
    is_uncompressed = (F.col("config_key") == "compression.type") & (
        F.col("config_value") == "none"
    )
    is_exact = F.col("is_exact") & ~F.coalesce(is_uncompressed, F.lit(False))
    return F.struct(is_exact.alias("is_exact"), *NEWEST)


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
