"""Rows that are checked and stand in no table: what many rows say of one thing.

A job writes its ledger last, so what is ahead of the ledger is on its way and no fault.
A ledger is therefore read first, and what stands beside it up to its newest offsets.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.columns import COORDINATES, names
from pipelines.tables.configs import (
    CLIENT_CONFIG_PUSHES,
    CLIENT_CONFIGS,
    CONFIG_DEFAULTS,
)
from pipelines.tables.contract import TableContract
from pipelines.tables.telemetry import CLIENT_METRICS, CLIENT_PUSHES, QUARANTINE

DATA_LOSS, TOPIC_MADE_ANEW = "data_loss", "topic_made_anew"
"""Reasons in quarantine: offsets up to the row's were deleted before they were read, or
are of a former topic of the name."""
ON_ITS_WAY = timedelta(minutes=1)
"""A record is in its topic so soon after received_at: the longest wait of a bridge for
Kafka is 29 s. Around midnight, records of two dates stand among each other so long."""
_PARTITION = ("topic", "partition")
_DAY = timedelta(days=1)

Tables = Mapping[str, DataFrame]
"""Name of a contract to all of its rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What is made of several tables, and a suite is about."""

    table: str
    """The table that its failures are told of."""
    needs: tuple[str, ...]
    """Without one of them there is nothing to check."""
    beside: tuple[str, ...] = ()
    """What is looked into where it is there."""
    key: tuple[str, ...]
    make: Callable[[Tables, date | None], DataFrame]
    """Takes the first date; null: all of them."""


def since(rows: DataFrame, first: date | None) -> DataFrame:
    """Keep the rows from a date on, where the table has dates."""
    if first is None or "event_date" not in rows.columns:
        return rows
    return rows.where(F.col("event_date") >= F.lit(first))


def make_pushes_and_points(tables: Tables, first: date | None) -> DataFrame:
    """Return each push of the ledger with its points, and points without a push.

    Returns: Coordinates; push_hash of push and client instance, since a topic that is
        made anew has coordinates once more, and points are of their push's client;
        pushes and points, which count rows; point_count; first_index, last_index,
        index_sum and index_square_sum of the points.
    Shape: One row a push. The sums tell 0 to n - 1 from all that differs in one or two
        indexes, and from nearly all else, without holding them.
    Nulls: The indexes of a push without points.
    """
    pushes = since(tables[CLIENT_PUSHES.name], first)
    index = F.col("point_index").cast("bigint")
    # A number in the place of texts takes a third of the time.
    push_hash = F.xxhash64("push_id", "client_instance_id").alias("push_hash")
    push: list[Column | str] = [*names(COORDINATES), push_hash]
    key = [*names(COORDINATES), "push_hash"]
    of_points = (
        since(tables[CLIENT_METRICS.name], first)
        .groupBy(*push)
        .agg(
            F.count("*").alias("points"),
            F.min(index).alias("first_index"),
            F.max(index).alias("last_index"),
            F.sum(index).alias("index_sum"),
            F.sum(index * index).alias("index_square_sum"),
        )
    )
    of_pushes = pushes.groupBy(*push).agg(
        F.count("*").alias("pushes"), F.max("point_count").alias("point_count")
    )
    joined = of_points.join(of_pushes, key, "full").fillna(0, ["points", "pushes"])
    newest = F.broadcast(
        pushes.groupBy(*_PARTITION).agg(F.max("offset").alias("newest"))
    )
    is_known = (F.col("pushes") > 0) | (F.col("offset") <= F.col("newest"))
    return joined.join(newest, [*_PARTITION], "left").where(is_known).drop("newest")


def make_metric_names(tables: Tables, first: date | None) -> DataFrame:
    """Return what metrics there are: metric, kind, temporality, and points of each."""
    points = since(tables[CLIENT_METRICS.name], first)
    return points.groupBy("metric", "kind", "temporality").agg(
        F.count("*").alias("points")
    )


def make_topic_offsets(tables: Tables, first: date | None, *, ledger: str) -> DataFrame:
    """Return the partitions of the topics that a ledger holds each record of.

    Dates part records by received_at, which is not quite the order of offsets, and what
    lies between two of them is of none; so the day before is looked at, too.

    Returns: table, topic, partition, first_offset, last_offset, missing_offsets,
        first_missing, repeated_offsets.
    """
    rows = tables[ledger]
    quarantine = tables.get(QUARANTINE.name)
    bounds = (
        since(rows, first)
        .groupBy(*_PARTITION)
        .agg(
            F.min("offset").alias("first_offset"), F.max("offset").alias("last_offset")
        )
    )
    placed = since(rows, first and first - _DAY).select(
        *names(COORDINATES), "received_at", F.lit(1).alias("stored")
    )
    if quarantine is not None:
        bounds = _above_former_topics(bounds, quarantine)
        # Of all dates: one that is no record of ours has a time of its own.
        rejected = quarantine.where(F.col("reason") != TOPIC_MADE_ANEW).select(
            *names(COORDINATES),
            "received_at",
            F.when(F.col("reason") == DATA_LOSS, -1).otherwise(0).alias("stored"),
        )
        placed = placed.unionByName(rejected)
    offset = F.col("offset")
    between = placed.join(F.broadcast(bounds), [*_PARTITION]).where(
        offset.between(F.col("first_offset"), F.col("last_offset"))
    )
    return _sum_up(between).withColumn("table", F.lit(ledger))


def _above_former_topics(bounds: DataFrame, quarantine: DataFrame) -> DataFrame:
    """Let a partition begin behind the offsets that former topics may have had, too."""
    marks = (
        quarantine.where(F.col("reason") == TOPIC_MADE_ANEW)
        .groupBy(*_PARTITION)
        .agg(F.max("offset").alias("mark"))
    )
    begin = F.greatest("first_offset", F.coalesce(F.col("mark") + 1, F.lit(0)))
    return (
        bounds.join(F.broadcast(marks), [*_PARTITION], "left")
        .withColumn("first_offset", begin)
        .drop("mark")
    )


def _sum_up(placed: DataFrame) -> DataFrame:
    """Count what is missing and what is repeated between neighbours.

    Of the oldest date that is there, what was received around its midnight does not
    count: its neighbours may be of a date that retention has deleted.
    """
    of_offset = placed.groupBy(*_PARTITION, "offset").agg(
        F.sum(F.greatest("stored", F.lit(0))).alias("stored"),
        F.min("stored").alias("least"),
        F.min("received_at").alias("received_at"),
    )
    partition = Window.partitionBy(*_PARTITION)
    before = F.lag("offset").over(partition.orderBy("offset"))
    of_ledger = F.when(F.col("stored") > 0, F.col("received_at"))
    oldest = F.date_trunc("day", F.min(of_ledger).over(partition))
    is_early = F.col("received_at") < oldest + F.expr(
        f"INTERVAL {int(ON_ITS_WAY.total_seconds())} SECONDS"
    )
    gap = F.col("offset") - F.col("before") - 1
    # The record that stands for those which Kafka had deleted explains them.
    is_explained = (F.col("least") < 0) | F.coalesce(is_early, F.lit(False))
    missing = F.when(is_explained | F.col("before").isNull(), 0).otherwise(gap)
    return (
        of_offset.withColumn("before", before)
        .withColumn("missing", missing)
        .groupBy(*_PARTITION)
        .agg(
            F.min("offset").alias("first_offset"),
            F.max("offset").alias("last_offset"),
            F.sum("missing").alias("missing_offsets"),
            F.min(F.when(F.col("missing") > 0, F.col("before") + 1)).alias(
                "first_missing"
            ),
            F.sum(F.greatest(F.col("stored") - 1, F.lit(0))).alias("repeated_offsets"),
        )
    )


def make_default_references(tables: Tables, _first: date | None) -> DataFrame:
    """Return the entries whose value is to be looked up, and whether it can be.

    Returns: client_instance_id, config_key, is_known.
    """
    entries = tables[CLIENT_CONFIGS.name].select(
        "client_instance_id",
        "client_software_name",
        "client_software_version",
        F.coalesce("client_type", F.lit("")).alias("client_type"),
        F.explode("configs").alias("config_key", "entry"),
    )
    unset = F.col("entry.status") == "default"
    key = [*CONFIG_DEFAULTS.merge_key]
    known = tables[CONFIG_DEFAULTS.name].where(F.col("default_value").isNotNull())
    return (
        entries.where(unset & F.col("entry.config_value").isNull())
        .join(known.select(*key, F.lit(True).alias("found")), key, "left")
        .select(
            "client_instance_id",
            "config_key",
            F.col("found").isNotNull().alias("is_known"),
        )
    )


def _frame_of_offsets(ledger: TableContract) -> Frame:
    return Frame(
        table=ledger.name,
        needs=(ledger.name,),
        beside=(QUARANTINE.name,),
        key=("table", *_PARTITION, "first_missing"),
        make=partial(make_topic_offsets, ledger=ledger.name),
    )


FRAMES: Mapping[str, Frame] = {
    "pushes_and_points": Frame(
        table=CLIENT_METRICS.name,
        needs=(CLIENT_PUSHES.name, CLIENT_METRICS.name),
        key=names(COORDINATES),
        make=make_pushes_and_points,
    ),
    "metric_names": Frame(
        table=CLIENT_METRICS.name,
        needs=(CLIENT_METRICS.name,),
        key=("metric", "kind", "temporality"),
        make=make_metric_names,
    ),
    "topic_offsets": _frame_of_offsets(CLIENT_PUSHES),
    "config_topic_offsets": _frame_of_offsets(CLIENT_CONFIG_PUSHES),
    "default_references": Frame(
        table=CLIENT_CONFIGS.name,
        needs=(CLIENT_CONFIGS.name, CONFIG_DEFAULTS.name),
        key=("client_instance_id", "config_key"),
        make=make_default_references,
    ),
}
"""Suite to what it is about."""
