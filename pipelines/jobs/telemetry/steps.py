"""What of pushes says who their client instances are, and where newer ones stand.

The order in which pushes arrive must not matter, and a push that changes nothing must
not be written. So the table keeps no time per push: where a batch differs from the
table, newer pushes are looked up in client_pushes, which holds them all. What pushes
say together is the kernel's: `udfs.envelopes.deciding_pushes`.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.columns import CLIENT_TYPE, MEMBERSHIP, names
from pipelines.tables.telemetry import CLIENT_INSTANCES

KEY = CLIENT_INSTANCES.merge_key[0]
_TYPE = CLIENT_TYPE.name
MEMBERSHIP_NAMES = names(MEMBERSHIP)
_BROKER = "broker_id"
CONNECTION = tuple(
    name
    for name in CLIENT_INSTANCES.column_names
    if name
    not in {KEY, _TYPE, _BROKER, *MEMBERSHIP_NAMES, "first_seen", "terminated_at"}
)
"""What only the newest push says."""

PUSH_COLUMNS = (
    *CONNECTION,
    KEY,
    _TYPE,
    _BROKER,
    *MEMBERSHIP_NAMES,
    *CLIENT_INSTANCES.newest_by,
    "terminating",
    "point_count",
)
"""What of a push decides who its client instance is."""


def filter_newer_pushes(
    pushes: DataFrame, changed: DataFrame, oldest_needed_us: int
) -> DataFrame:
    """Keep the pushes of the changed instances that may be newer than the change.

    Args:
        pushes: The table client_pushes.
        changed: client_instance_id.
        oldest_needed_us: Microseconds since 1970. As a literal it spares the files of
            older pushes, which is nearly all of them.
    """
    keys = F.broadcast(changed.select(KEY))
    oldest_needed = F.timestamp_micros(F.lit(oldest_needed_us))
    return (
        pushes.where(F.col("event_date") >= F.to_date(oldest_needed))
        .where(F.col("received_at") >= oldest_needed)
        .join(keys, KEY, "left_semi")
        .select(*PUSH_COLUMNS)
    )
