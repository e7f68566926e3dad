"""Before and after, metric by metric: how large a change is, and how sure.

Strategy: of each metric there are two samples, one number for each client instance, or
for each instance and stretch of time where there are few instances. They are compared
by ranks, which asks nothing of how values are spread: how sure is the two-sided test of
Mann and Whitney, by its normal approximation with ties; how large is the estimate of
Hodges and Lehmann, the median of all differences between the one side and the other,
with the interval that inverts the same test. Many metrics are looked at together, so
that how sure is told by Benjamini and Hochberg's share of false discoveries.
What it does not know: stretches of time of one client are more alike than different
clients are; with few clients it is surer than it should be.
Source: Mann, Whitney, Annals of Mathematical Statistics 18 (1947); Hodges, Lehmann,
the same 34 (1963); Benjamini, Hochberg, JRSS B 57 (1995).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pandas as pd
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.time_ranges import EPOCH, MICROSECOND

from .rollups import instance_values
from .semantics import is_quantity

Numbers = npt.NDArray[np.float64]

BEFORE, AFTER = "before", "after"
LEAST_NUMBERS = 5
"""Of a side; below that nothing can be told."""
MOST_NUMBERS = 500
"""Of a side: all pairs of the two are looked at."""
FEW_INSTANCES = 8
"""Of a side; below that each stretch of time of an instance is a number."""
_STRETCH_S = 300
_CONFIDENCE = 0.95
SURE, LIKELY, OPEN, TOO_FEW = "sure", "likely", "cannot tell", "too few"
"""How sure: a share of false discoveries up to 1 %, up to 5 %, more, or not tested."""
_SURE_SHARE, _LIKELY_SHARE = 0.01, 0.05
_HUNDRED = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What two samples say of each other."""

    before: float
    """Median, as after is."""
    after: float
    change: float
    """Hodges and Lehmann's estimate: what after has more than before."""
    change_low: float
    """Ends of its interval of 95 %."""
    change_high: float
    p_value: float
    """Of Mann and Whitney's two-sided test; 1 where all values are the same."""
    share_greater: float
    """Probability that a value of after is greater than one of before, ties as half."""


def compare(before: Numbers, after: Numbers) -> Comparison:
    """Compare two samples.

    Args:
        before: At least one number; none is NaN, and neither is one of after.
    """
    differences = np.sort(np.subtract.outer(after, before), axis=None)
    pairs = differences.size
    greater = np.count_nonzero(differences > 0)
    ties = np.count_nonzero(differences == 0)
    share = (greater + ties / 2) / pairs
    spread = _spread_of_u(before, after)
    # The last pair at either end that the test does not let pass.
    reach = NormalDist().inv_cdf((1 + _CONFIDENCE) / 2) * _spread_without_ties(
        before.size, after.size
    )
    place = max(math.floor(pairs / 2 - reach) - 1, 0)
    return Comparison(
        before=float(np.median(before)),
        after=float(np.median(after)),
        change=float(np.median(differences)),
        change_low=float(differences[place]),
        change_high=float(differences[pairs - 1 - place]),
        p_value=_two_sided(abs(share - 0.5) * pairs, spread),
        share_greater=float(share),
    )


def _spread_without_ties(before: int, after: int) -> float:
    return math.sqrt(before * after * (before + after + 1) / 12)


def _spread_of_u(before: Numbers, after: Numbers) -> float:
    """Return the standard deviation of Mann and Whitney's U where nothing differs."""
    every = before.size + after.size
    _, counts = np.unique(np.concatenate([before, after]), return_counts=True)
    tied = float(np.sum(counts**3 - counts)) / (every * (every - 1))
    return math.sqrt(max(before.size * after.size / 12 * (every + 1 - tied), 0.0))


def _two_sided(distance: float, spread: float) -> float:
    if spread == 0:
        return 1.0
    # Half a step: U is a whole number, and the curve is not.
    beyond = max(distance - 0.5, 0.0) / spread
    return min(1.0, math.erfc(beyond / math.sqrt(2)))


def false_discoveries(p_values: Sequence[float]) -> list[float]:
    """Return for each test the least share of false discoveries that it stands in.

    Source: Benjamini and Hochberg's step-up procedure.
    """
    values = np.asarray(p_values, float)
    order = np.argsort(values)
    scaled = values[order] * len(values) / np.arange(1, len(values) + 1)
    least = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    shares = np.empty(len(values))
    shares[order] = least
    return [float(one) for one in shares]


def split_at(moment: datetime | None) -> Column:
    """Return which side a point is on: before a moment, or from it on.

    Nulls: Without a moment all is before.
    """
    if moment is None:
        return F.lit(BEFORE)
    return F.when(F.col("received_at") < F.lit(moment), BEFORE).otherwise(AFTER)


def find_middle(client_metrics: DataFrame) -> datetime | None:
    """Return the middle between the first and the last point; None without any."""
    ends = client_metrics.agg(
        F.unix_micros(F.min("received_at")), F.unix_micros(F.max("received_at"))
    ).collect()[0]
    if ends[0] is None:
        return None
    middle: int = (ends[0] + ends[1]) // 2
    return EPOCH + middle * MICROSECOND


def split_by_version(software: str, before: str, after: str) -> Column:
    """Return which side a point is on by its client's version; null: neither.

    Args:
        software: Name of the software; empty: any that has these versions.
        before: Version of one side.
        after: Version of the other side.
    """
    version = F.col("client_software_version")
    is_meant = (
        F.col("client_software_name") == software if software else F.lit(col=True)
    )
    side = F.when(version == before, BEFORE).when(version == after, AFTER)
    return F.when(is_meant, side)


def find_versions(clients: DataFrame) -> tuple[str, str, str]:
    """Return a software and the two of its versions to compare, the older one first.

    It is the software whose second most frequent version has the most instances, so
    that both sides have clients. Versions of different software are never compared.

    Args:
        clients: The view, or part of it.
    Returns: Software, older and newer version; the same version twice if no software
        has two; empty without clients.
    """
    software = Window.partitionBy("client_software_name").orderBy(
        F.desc("instances"), "client_software_version"
    )
    found = (
        clients.groupBy("client_software_name", "client_software_version")
        .agg(F.count("*").alias("instances"), F.min("first_seen").alias("first_seen"))
        .withColumn("place", F.row_number().over(software))
        .where("place <= 2")
        .groupBy("client_software_name")
        .agg(
            F.sum(F.expr("CASE WHEN place = 2 THEN instances END")).alias("second"),
            F.max("instances").alias("first"),
            F.array_sort(
                F.collect_list(F.struct("first_seen", "client_software_version"))
            ).alias("versions"),
        )
        .orderBy(F.desc_nulls_last("second"), F.desc("first"), "client_software_name")
        .first()
    )
    if found is None:
        return "", "", ""
    older, newer = found["versions"][0], found["versions"][-1]
    version = "client_software_version"
    return found["client_software_name"], older[version], newer[version]


def select_samples(points: DataFrame, side: Column) -> DataFrame:
    """Return the numbers that are compared.

    A gauge counts by its mean, a sum by its growth per second of its own time, a
    histogram by the mean of its observations. Clocks and IDs are left out.

    Args:
        points: As read_points returns them.
        side: BEFORE or AFTER; null: neither.
    Returns: metric, kind, unit, side, value; one row per client instance and side, or
        per instance, side and stretch of five minutes for a metric that either side
        has few instances of; at most MOST_NUMBERS a side.
    """
    stretch = F.window("at", f"{_STRETCH_S} seconds").getField("start")
    by = ("metric", "kind", "unit", "side", "client_instance_id")
    seconds = F.when(F.col("rate").isNotNull(), F.col("span_s"))
    stretches = (
        points.where(is_quantity())
        .withColumn("side", side)
        .where(F.col("side").isNotNull())
        .transform(instance_values, by=("side",))
        .groupBy(*by, stretch.alias("stretch"))
        .agg(
            F.sum("value").alias("value"),
            F.count("value").cast("double").alias("count"),
            F.sum(F.col("rate") * seconds).alias("growth"),
            F.sum(seconds).alias("seconds"),
            F.sum("amount").alias("amount"),
            F.sum("observations").cast("double").alias("observations"),
        )
        .where(_number_of_sums().isNotNull())
    )
    of_side = Window.partitionBy("metric", "side")
    of_metric = Window.partitionBy("metric")
    counted = stretches.withColumn(
        "instances", F.size(F.collect_set("client_instance_id").over(of_side))
    ).withColumn("is_few", F.min("instances").over(of_metric) < FEW_INSTANCES)
    place = F.when(F.col("is_few"), F.col("stretch"))
    sums = ("value", "count", "growth", "seconds", "amount", "observations")
    chance = Window.partitionBy("metric", "side").orderBy(
        F.xxhash64("client_instance_id", "place"), "client_instance_id", "place"
    )
    return (
        counted.groupBy(*by, place.alias("place"))
        .agg(*(F.sum(name).alias(name) for name in sums))
        .withColumn("row", F.row_number().over(chance))
        .where(F.col("row") <= MOST_NUMBERS)
        .select("metric", "kind", "unit", "side", _number_of_sums().alias("value"))
    )


def _number_of_sums() -> Column:
    """Return the number of an instance from the sums of its points."""
    return (
        F.when(F.col("kind") == "gauge", F.try_divide("value", "count"))
        .when(F.col("kind") == "sum", F.try_divide("growth", "seconds"))
        .otherwise(F.try_divide("amount", "observations"))
    )


def compare_metrics(samples: pd.DataFrame) -> pd.DataFrame:
    """Compare each metric that both sides have.

    Args:
        samples: As select_samples returns them.
    Returns: metric, unit, before, after (medians), change, change_low, change_high,
        change_percent, percent_low, percent_high (of before's median), p_value,
        false_discoveries (share), share_greater, how_sure, n_before, n_after.
    Shape: A row a metric; the surest first, then the largest. One that is the same
        number everywhere is left out.
    Nulls: Percent is NaN where before's median is zero, and all that is tested where
        how_sure is TOO_FEW.
    """
    rows = [
        _compare_metric(str(metric), of_metric)
        for metric, of_metric in samples.groupby("metric")
        if _varies(of_metric["side"]) and _varies(of_metric["value"])
    ]
    table = pd.DataFrame(rows, columns=_COLUMNS)
    is_tested = table["p_value"].notna()
    shares = false_discoveries(table.loc[is_tested, "p_value"].tolist())
    table.loc[is_tested, "false_discoveries"] = shares
    table["how_sure"] = [_say(share) for share in table["false_discoveries"]]
    order = {SURE: 0, LIKELY: 1, OPEN: 2, TOO_FEW: 3}
    ranked = table.assign(
        rank=table["how_sure"].map(order),
        size=-(table["share_greater"] - 0.5).abs(),
        percent=-table["change_percent"].abs(),
    )
    ranked = ranked.sort_values(["rank", "size", "percent", "metric"], kind="stable")
    return ranked[[*_COLUMNS, "how_sure"]].reset_index(drop=True)


def _varies(column: pd.Series) -> bool:
    return bool((column != column.iloc[0]).any())


_COLUMNS = [
    *("metric", "unit", "before", "after", "change", "change_low", "change_high"),
    *("change_percent", "percent_low", "percent_high", "p_value"),
    *("false_discoveries", "share_greater", "n_before", "n_after"),
]


def _compare_metric(metric: str, samples: pd.DataFrame) -> dict[str, object]:
    sides = [
        samples.loc[samples["side"] == side, "value"].to_numpy(dtype=float)
        for side in (BEFORE, AFTER)
    ]
    before, after = sides
    row: dict[str, object] = dict.fromkeys(_COLUMNS, math.nan)
    row |= {"metric": metric, "unit": samples["unit"].iloc[0]}
    row |= {"n_before": before.size, "n_after": after.size}
    row |= {"before": float(np.median(before)), "after": float(np.median(after))}
    if min(before.size, after.size) < LEAST_NUMBERS:
        return row
    found = compare(before, after)
    row |= {
        "change": found.change,
        "change_low": found.change_low,
        "change_high": found.change_high,
        "p_value": found.p_value,
        "share_greater": found.share_greater,
    }
    if found.before != 0:
        scale = _HUNDRED / abs(found.before)
        # What is never negative cannot fall by more than all of it.
        least = -_HUNDRED if min(before.min(), after.min()) >= 0 else -math.inf
        row |= {
            "change_percent": max(found.change * scale, least),
            "percent_low": max(found.change_low * scale, least),
            "percent_high": max(found.change_high * scale, least),
        }
    return row


def _say(share: float) -> str:
    if math.isnan(share):
        return TOO_FEW
    if share <= _SURE_SHARE:
        return SURE
    return LIKELY if share <= _LIKELY_SHARE else OPEN


def say_if_too_few(changes: pd.DataFrame) -> str:
    """Return what is to be added to a title where nothing was tested, else nothing."""
    if changes.empty or (changes["how_sure"] != TOO_FEW).any():
        return ""
    minutes = _STRETCH_S // 60
    return f": under {LEAST_NUMBERS} numbers a side, each {minutes} min of a client"


def select_certain(table: pd.DataFrame) -> pd.DataFrame:
    """Keep the changes for a picture: sure or likely, in percent of before."""
    is_certain = table["how_sure"].isin((SURE, LIKELY))
    return table[is_certain & table["change_percent"].notna()]
