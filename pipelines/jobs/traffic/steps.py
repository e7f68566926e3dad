"""Records of several bridges, and of one that was started again, as one row a time.

A record that comes twice counts once: rows know the push_ids of what they are made of.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading.traffic_sums import add_up
from pipelines.tables.traffic import CLIENT_TRAFFIC

KEY = CLIENT_TRAFFIC.merge_key
RECORD_COLUMNS = (
    *(name for name in CLIENT_TRAFFIC.column_names if name != "push_ids"),
    "push_id",
)
"""What is wanted of each record and broker."""
_POSITION = "position"
_KNOWN = "known"


def find_first(records: DataFrame) -> int | None:
    """Return when the first time begins that records are about, in microseconds.

    Nulls: None without a record.
    """
    ((first,),) = records.agg(F.min(F.unix_micros("window_start"))).collect()
    return None if first is None else int(first)


def sum_up(records: DataFrame, table: DataFrame, first_us: int) -> DataFrame:
    """Return the rows that records make, of which the table may have a part.

    Args:
        records: RECORD_COLUMNS.
        first_us: From find_first; older files of the table are not read.
        table: client_traffic, with position.
    Returns: The contract's columns and position.
    Shape: A row for each client, broker and time that has a record that is new.
    """
    recent = table.where(F.col("window_start") >= F.timestamp_micros(F.lit(first_us)))
    keys = F.broadcast(records.select(*KEY).distinct())
    there = recent.join(keys, [*KEY], "left_semi").select(*table.columns)
    known = there.select(*KEY, F.col("push_ids").alias(_KNOWN))
    is_known = F.coalesce(F.array_contains(_KNOWN, F.col("push_id")), F.lit(False))
    new = (
        records.dropDuplicates([*KEY, "push_id"])
        .join(known, [*KEY], "left")
        .where(~is_known)
        .drop(_KNOWN)
        .withColumn("push_ids", F.array("push_id"))
        .drop("push_id")
    )
    concerned = new.select(*KEY).distinct()
    columns = CLIENT_TRAFFIC.column_names
    former = there.select(*columns).join(concerned, [*KEY], "left_semi")
    made = new.select(*columns).unionByName(former).groupBy(*KEY).agg(*add_up())
    places = there.select(*KEY, _POSITION)
    return made.join(places, [*KEY], "left").select(*columns, _POSITION)
