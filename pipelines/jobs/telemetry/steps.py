"""Who a client instance is, as a function of the set of its pushes.

The order in which pushes arrive must not matter, and a push that changes nothing must
not be written. So the table keeps no time per push: where a batch differs from the
table, newer pushes are looked up in client_pushes, which holds them all.

A row is made of four parts, each from the newest push that knows it, by (received_at,
push_id): the connection with its termination from any push, the client type from a
push that has one, the memberships from a push with data points, first_seen and the
broker from the oldest. Behind the proxy each push may come by another broker, and a
part that changed with each of them would be a merge for each: so the broker is that of
first_seen, the least one where several pushes came at that moment, and the view
`clients` has the newest.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.columns import CLIENT_TYPE, MEMBERSHIP, names
from pipelines.tables.telemetry import CLIENT_INSTANCES

KEY = CLIENT_INSTANCES.merge_key[0]
_TYPE = CLIENT_TYPE.name
MEMBERSHIP_NAMES = names(MEMBERSHIP)
_BROKER, _NO_BROKER = "broker_id", 2**31
"""The column, and what stands behind all brokers."""
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


def select_instance_facts(pushes: DataFrame) -> DataFrame:
    """Reduce pushes to one row per client instance.

    Args:
        pushes: PUSH_COLUMNS, of client_pushes or of rows on their way there.
    Returns: client_instance_id, oldest_needed (received_at of the oldest push that a
        part was taken from) and the structs first (its moment and broker), connection,
        membership, and client_type.
    Nulls: client_type and membership are null where no push knows them; the broker is
        _NO_BROKER where there is none.
    """
    order = F.struct(*CLIENT_INSTANCES.newest_by)
    terminated_at = F.when(F.col("terminating"), F.col("received_at"))
    connection = F.struct(*CONNECTION, terminated_at.alias("terminated_at"))
    typed = F.when(F.col(_TYPE).isNotNull(), order)
    informed = F.when(F.col("point_count") > 0, order)
    return pushes.groupBy(KEY).agg(
        F.min(_first("received_at", _BROKER)).alias("first"),
        F.max_by(connection, order).alias("connection"),
        F.max_by(_TYPE, typed).alias(_TYPE),
        F.max_by(F.struct(*MEMBERSHIP_NAMES), informed).alias("membership"),
        F.least(
            F.max(order)["received_at"],
            F.max(typed)["received_at"],
            F.max(informed)["received_at"],
        ).alias("oldest_needed"),
    )


def compare_instances(facts: DataFrame, instances: DataFrame) -> DataFrame:
    """Say what the table is to say, and whether it says so already.

    Args:
        facts: From select_instance_facts.
        instances: The table as it is.
    Returns: The table's columns, oldest_needed, is_known (the table has a row) and
        is_changed.
    Nulls: A part that no push knows keeps what the table says.
    """
    # A batch has few client instances beside a table that may have millions.
    keys = F.broadcast(facts.select(KEY))
    known = instances.join(keys, KEY, "left_semi").select(
        F.col(KEY),
        F.struct(*CLIENT_INSTANCES.column_names).alias("known"),
    )
    rows = facts.join(F.broadcast(known), KEY, "left").select(
        F.struct(*_merged_columns()).alias("row"), "known", "oldest_needed"
    )
    return rows.select(
        "row.*",
        "oldest_needed",
        F.col("known").isNotNull().alias("is_known"),
        (~F.col("row").eqNullSafe(F.col("known"))).alias("is_changed"),
    )


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


def _merged_columns() -> list[Column]:
    """Return the row that the facts ask for, in table order."""
    known_first = _first("known.first_seen", f"known.{_BROKER}")
    # least() passes over a null.
    first = F.least("first", F.when(F.col("known").isNotNull(), known_first))
    merged = {
        KEY: F.col(KEY),
        _TYPE: F.coalesce(_TYPE, f"known.{_TYPE}"),
        "first_seen": first["seen"],
        _BROKER: F.nullif(first["broker"], F.lit(_NO_BROKER)).cast("int"),
        **{
            name: F.col(f"connection.{name}") for name in (*CONNECTION, "terminated_at")
        },
        **{name: _newest_membership(name) for name in MEMBERSHIP_NAMES},
    }
    return [merged[name].alias(name) for name in CLIENT_INSTANCES.column_names]


def _first(moment: str, broker: str) -> Column:
    """Return what comes first where moments, and then brokers, are compared."""
    number = F.coalesce(F.col(broker).cast("bigint"), F.lit(_NO_BROKER).cast("bigint"))
    return F.struct(F.col(moment).alias("seen"), number.alias("broker"))


def _newest_membership(name: str) -> Column:
    is_unknown = F.col("membership").isNull()
    kept = F.when(is_unknown, F.col(f"known.{name}"))
    return kept.otherwise(F.col(f"membership.{name}"))
