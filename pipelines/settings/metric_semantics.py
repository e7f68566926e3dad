"""What each metric of Kafka's clients means: conf/metric_semantics.csv.

A row says how values of one metric combine, and what a missing value means. A metric
without a row gets a default by its kind and the end of its name.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

from pipelines.errors import InvalidSetting

from .csv_files import read_csv
from .places import CONF_PATH

FILE_NAME = "metric_semantics.csv"
PREFIX = "org.apache.kafka."
"""First part of the names of all metrics that KIP-714 defines."""
GAUGE, SUM = "gauge", "sum"
CLIENT, NODE, TOPIC, PARTITION = LEVELS = ("client", "node", "topic", "partition")
"""What one point describes: the whole client, or one node, topic or partition of it."""
LABELS = {NODE: "node_id", TOPIC: "topic_name", PARTITION: "topic_partition"}
"""Level to the column of client_metrics that names the node, topic or partition."""
ADD, MAX, MIN, LAST = "sum", "max", "min", "last"
MEAN, WEIGHTED_MEAN = "mean", "weighted mean"
COMBINATIONS = (ADD, MAX, MIN, LAST, MEAN, WEIGHTED_MEAN)
ZERO, UNKNOWN, NEVER = "zero", "unknown", "never"
"""Absence: nothing happened; not subscribed or not known; not in this software."""
ABSENCES = (ZERO, UNKNOWN, NEVER)
JAVA, LIBRDKAFKA, FRANZ_GO = FAMILIES = ("java", "librdkafka", "franz-go")
REQUIRED, OPTIONAL = "required", "optional"
NUMBER, SECONDS = "number", "s"
"""Unit of a value whose unit nobody knows, and unit of ages."""
_NO_QUANTITIES = ("timestamp ms", "node id")
"""Units of clocks and IDs: neither size nor growth of their values means anything."""

_NAME = re.compile(r"[a-z][a-z0-9._]*")
_COMBINATION = re.compile("|".join(COMBINATIONS))
_ABSENCE = re.compile("|".join(ABSENCES))
_FORMS = {
    "metric": _NAME,
    "client_type": re.compile(r"(|producer|consumer|share_consumer)"),
    "unit": re.compile(r"[a-z]+( [a-z]+)?(/[sh])?"),
    "kind": re.compile(f"{GAUGE}|{SUM}"),
    "levels": re.compile(r"({0})(\+({0}))*".format("|".join(LEVELS))),
    "over_nodes": _COMBINATION,
    "over_parts": _COMBINATION,
    "over_instances": _COMBINATION,
    "over_time": _COMBINATION,
    "weight": re.compile(f"(|{_NAME.pattern})"),
    "java": _ABSENCE,
    "librdkafka": _ABSENCE,
    "franz_go": _ABSENCE,
    "requirement": re.compile(f"(|{REQUIRED}|{OPTIONAL})"),
    "usable_from": re.compile(r"(|({}):\d+(\.\d+){{1,2}})".format("|".join(FAMILIES))),
    "description": re.compile(r"[A-Z].+[^.]"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSemantics:
    """What one metric means."""

    metric: str
    client_type: str | None
    """producer, consumer or share_consumer; None: a client of any type has it."""
    unit: str
    """Of a gauge's value, or of a sum's growth."""
    kind: str
    """gauge or sum; a default may have another kind of OTLP, such as histogram."""
    levels: tuple[str, ...]
    """Levels at which clients push it; a client's own value stands first."""
    over_nodes: str
    """How the values of one client's nodes combine; the next three likewise."""
    over_parts: str
    """Over topics and partitions."""
    over_instances: str
    over_time: str
    """Over the pushes of one instance; amounts of a sum are always added."""
    weight: str | None
    """Metric that weighs a weighted mean; without its values all weigh the same."""
    java: str
    """What the absence of a subscribed metric means; the next two likewise."""
    librdkafka: str
    franz_go: str
    requirement: str | None
    """required or optional by KIP-714; None: the proposal does not name it."""
    usable_from: tuple[str, str] | None
    """Family and its first release whose values are right; None: all are."""
    description: str
    """What it measures; empty for a metric without a row."""

    @property
    def label(self) -> str | None:
        """Column that tells its points apart; None where the client's is one."""
        return LABELS.get(self.levels[-1])

    @property
    def is_quantity(self) -> bool:
        """Whether its values may be compared or drawn: not those of clocks and IDs."""
        return self.unit not in _NO_QUANTITIES

    def absence(self, family: str) -> str:
        """Return what its absence means for a family of clients."""
        known = {
            JAVA: self.java,
            LIBRDKAFKA: self.librdkafka,
            FRANZ_GO: self.franz_go,
        }
        return known.get(family, UNKNOWN)


def short_name(metric: str) -> str:
    """Return a metric's name without the prefix that all of Kafka's have."""
    return metric.removeprefix(PREFIX)


@cache
def load_metric_semantics(conf_path: Path = CONF_PATH) -> tuple[MetricSemantics, ...]:
    """Read the file, in its order.

    Raises: InvalidSetting, naming file and line.
    """
    found: dict[str, MetricSemantics] = {}
    places: dict[str, str] = {}
    for place, row in read_csv(conf_path / FILE_NAME, _FORMS):
        one = _read_row(place, row)
        if one.metric in found:
            raise InvalidSetting(f"{place}: {one.metric} has a row already")
        found[one.metric], places[one.metric] = one, place
    for one in found.values():
        if one.weight is not None and one.weight not in found:
            raise InvalidSetting(f"{places[one.metric]}: weight has no row of its own")
    return tuple(found.values())


def _read_row(place: str, row: Mapping[str, str]) -> MetricSemantics:
    combinations = {name: row[name] for name in row if name.startswith("over_")}
    if (WEIGHTED_MEAN in combinations.values()) != bool(row["weight"]):
        raise InvalidSetting(
            f"{place}: a {WEIGHTED_MEAN} has a weight, and nothing else has one"
        )
    family, _, release = row["usable_from"].partition(":")
    return MetricSemantics(
        metric=row["metric"],
        client_type=row["client_type"] or None,
        unit=row["unit"],
        kind=row["kind"],
        levels=tuple(row["levels"].split("+")),
        **combinations,
        weight=row["weight"] or None,
        java=row["java"],
        librdkafka=row["librdkafka"],
        franz_go=row["franz_go"],
        requirement=row["requirement"] or None,
        usable_from=(family, release) if family else None,
        description=row["description"],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Default:
    """How values of a metric without a row combine, by the end of its name."""

    pattern: str
    """Regular expression of Java and Python that finds it in the name of a gauge."""
    spread: str
    """How values of nodes, topics, partitions and instances combine."""
    over_time: str


DEFAULTS = (
    Default(pattern=r"\.max$", spread=MAX, over_time=MAX),
    Default(pattern=r"\.min$", spread=MIN, over_time=MIN),
    Default(pattern=r"\.(avg|mean)$|ratio$", spread=MEAN, over_time=MEAN),
    Default(pattern=r"\.rate(\.per\.hour)?$", spread=ADD, over_time=MEAN),
    Default(pattern=r"\.(count|total)$", spread=ADD, over_time=LAST),
    Default(pattern="", spread=MAX, over_time=LAST),
)
"""Of gauges; the first that finds itself in the name decides. All else is added up."""
ADDED = Default(pattern="", spread=ADD, over_time=ADD)
"""Of sums, histograms and summaries without a row."""
_UNITS = tuple(
    (re.compile(pattern), unit)
    for pattern, unit in (
        (r"ratio(\.|$)|compression\.rate", "ratio"),
        (r"rate\.per\.hour", "1/h"),
        (r"bytes?(\.\w+)*\.rate$", "bytes/s"),
        (r"\.rate$", "1/s"),
        (r"\.ns(\.|$)", "ns"),
        (r"seconds\.ago$|\.age$", "s"),
        (r"latency|\.time(\.(avg|max|min|total))?$|between\.poll|\.ms$", "ms"),
        (r"byte|size", "bytes"),
    )
)
"""Units of metrics without a row, by Kafka's habits of naming."""


@lru_cache(maxsize=4096)
def semantics_of(metric: str, kind: str) -> MetricSemantics:
    """Return what a metric means: its row, or a default where it has none.

    Args:
        metric: Its name.
        kind: That of its points. A row of another kind lends unit and description.
    """
    known = _rows_by_metric().get(metric)
    if known and known.kind == kind:
        return known
    default = next(
        (one for one in DEFAULTS if kind == GAUGE and re.search(one.pattern, metric)),
        ADDED,
    )
    unit = next((unit for form, unit in _UNITS if form.search(metric)), NUMBER)
    combined = MetricSemantics(
        metric=metric,
        client_type=None,
        unit=unit,
        kind=kind,
        levels=LEVELS,
        over_nodes=default.spread,
        over_parts=default.spread,
        over_instances=default.spread,
        over_time=default.over_time,
        weight=None,
        java=UNKNOWN,
        librdkafka=UNKNOWN,
        franz_go=UNKNOWN,
        requirement=None,
        usable_from=None,
        description="",
    )
    if known is None:
        return combined
    return replace(combined, unit=known.unit, description=known.description)


@cache
def _rows_by_metric() -> Mapping[str, MetricSemantics]:
    return {one.metric: one for one in load_metric_semantics()}
