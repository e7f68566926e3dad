"""Which of several entries of one key counts, of those that requests have shown."""

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS
from udfs.configs.wire_keys import REBALANCE_TIMEOUT, REBALANCE_TIMEOUT_SOFTWARE

# Older versions stored uncompressed batches and each rebalance timeout as exact.
IS_EXACT_SQL = f"""(
  is_exact
  AND NOT (config_key = 'compression.type' AND config_value <=> 'none')
  AND (
    config_key <> '{REBALANCE_TIMEOUT}'
    OR coalesce(client_software_name IN {REBALANCE_TIMEOUT_SOFTWARE}, false)
  )
)"""
"""SQL condition: the value of a row of client_wire_configs, of any age, is exact."""


def rank() -> Column:
    """Return what is greater of the entry that counts, among those of one key."""
    is_exact = F.expr(IS_EXACT_SQL).alias("is_exact")
    return F.struct(is_exact, *CLIENT_WIRE_CONFIGS.newest_by)
