"""How far consumers are behind: one definition. Reads only.

The lag of a member, a group or a client is the lag of its worst partition: the maximum
over partitions, members and instances. A mean would hide one stuck partition of many.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .points import choose_metrics
from .rollups import roll_up

_FETCH_MANAGER = "org.apache.kafka.consumer.fetch.manager."
LAG_MAX = f"{_FETCH_MANAGER}records.lag.max"
LAG = f"{_FETCH_MANAGER}records.lag"
LAG_METRICS = (LAG_MAX, LAG)
"""The same number; the second one for each partition only."""


def select_lag(
    points: DataFrame, *, by: Sequence[str], window_s: int | None = None
) -> DataFrame:
    """Return the lag of groups of points, in records.

    Args:
        points: As read_points returns them.
        by: Columns of a group, such as cluster_id, group_id and client_id.
        window_s: Window length in seconds; None: no windows.
    Returns: by, window_start (with windows), lag.
    """
    keys = [*by] if window_s is None else [*by, "window_start"]
    return (
        points.transform(choose_metrics, LAG_METRICS)
        .transform(roll_up, by=by, window_s=window_s)
        .groupBy(*keys)
        .agg(F.max("value").alias("lag"))
        .where(F.col("lag").isNotNull())
    )
