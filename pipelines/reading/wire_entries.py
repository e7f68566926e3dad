"""Which of several entries of one key counts, of those that requests have shown."""

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS


def rank() -> Column:
    """Return what is greater of the entry that counts, among those of one key.

    Rows of former versions say that an uncompressed batch is exact.
    """
    is_uncompressed = (F.col("config_key") == "compression.type") & (
        F.col("config_value") == "none"
    )
    is_exact = F.col("is_exact") & ~F.coalesce(is_uncompressed, F.lit(False))
    return F.struct(is_exact.alias("is_exact"), *CLIENT_WIRE_CONFIGS.newest_by)
