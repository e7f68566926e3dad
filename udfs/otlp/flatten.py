"""From the tables of a walk to Arrow: gathers over whole columns, no loop on points."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import walk as w
from .columns import (
    Flags,
    as_int32,
    as_uint32,
    choices,
    column,
    distinct,
    offsets,
    texts,
)
from .distributions import arrow_distributions
from .fields import KINDS, VALUE_IS_DOUBLE, VALUE_IS_LONG
from .labels import parse_int32, parse_node
from .schema import (
    COUNT_OUT_OF_RANGE,
    DISTRIBUTION,
    IDENTITY_ATTRIBUTES,
    POINT_SCHEMA,
    TIME_OUT_OF_RANGE,
)
from .tables import Tables

Columns = dict[str, pa.Array]

TEMPORALITIES = ("unspecified", "delta", "cumulative")
KINDS_WITH_TEMPORALITY = [
    KINDS.index(kind) for kind in ("sum", "histogram", "exponential_histogram")
]
SUM = KINDS.index("sum")
NANOS_PER_MICRO = 1000
POINT_ERRORS = [None, TIME_OUT_OF_RANGE, COUNT_OUT_OF_RANGE]


class Source(NamedTuple):
    """The tables of one walk and what all columns need of them."""

    tables: Tables
    words: pa.StringArray

    def of_point(self, register: int) -> w.Table:
        """Return a column of the data points."""
        return self.tables.column(register)

    def of(self, parent: int, register: int) -> w.Table:
        """Return a column of what holds the points, once for each of its points."""
        numbers: w.Table = self.tables.column(register)[self.of_point(parent)]
        return numbers

    def texts_of(self, parent: int, register: int) -> pa.StringArray:
        """Return the strings of such a column; most clients leave several out."""
        sent = self.tables.column(register)
        if not sent.any():
            return pa.nulls(len(self.of_point(parent)), pa.string())
        return texts(self.words, sent[self.of_point(parent)])

    def of_metric(self, register: int) -> w.Table:
        """Return a column of the metrics, once for each of their points."""
        return self.of(w.P_METRIC, register)


def _metric_columns(source: Source) -> Columns:
    """Return what a point has from its metric."""
    names = np.maximum(source.of_metric(w.M_NAME), w.EMPTY)
    kinds = source.of_metric(w.M_KIND)
    is_monotonic = source.of_metric(w.M_IS_MONOTONIC) != 0
    return {
        "metric": texts(source.words, names),
        "description": source.texts_of(w.P_METRIC, w.M_DESCRIPTION),
        "unit": source.texts_of(w.P_METRIC, w.M_UNIT),
        "kind": choices(list(KINDS), kinds),
        "temporality": _temporality_column(source, kinds),
        "is_monotonic": pa.array(is_monotonic, mask=kinds != SUM),
    }


def _temporality_column(source: Source, kinds: w.Table) -> pa.Array:
    """Return the temporality; a number without a name stays a number, as in JSON."""
    sent = as_int32(source.of_metric(w.M_TEMPORALITY))
    is_named = (sent >= 0) & (sent < len(TEMPORALITIES))
    numbers, place = np.unique(sent[~is_named], return_inverse=True)
    names = [*TEMPORALITIES, *map(str, numbers.tolist()), None]
    choice = sent.astype(np.int64)
    choice[~is_named] = len(TEMPORALITIES) + place
    choice[~np.isin(kinds, KINDS_WITH_TEMPORALITY)] = len(names) - 1
    return choices(names, choice)


def _value_columns(source: Source) -> Columns:
    """Return flags and values; an integer stays one."""
    values, kinds = source.of_point(w.P_VALUE), source.of_point(w.P_VALUE_KIND)
    return {
        "flags": pa.array(as_uint32(source.of_point(w.P_FLAGS))),
        "value_double": column(values, pa.float64(), kinds == VALUE_IS_DOUBLE),
        "value_long": column(values, pa.int64(), kinds == VALUE_IS_LONG),
    }


def _distribution_column(source: Source) -> tuple[pa.Array, Flags]:
    """Return the distributions, and which points have a count beyond int64."""
    rows = source.of_point(w.P_DISTRIBUTION) - 1
    has_one = rows >= 0
    if not has_one.any():
        return pa.nulls(len(rows), DISTRIBUTION), has_one
    kinds = source.of_metric(w.M_KIND)[has_one]
    distributions = arrow_distributions(source.tables, kinds)
    has_bad_count = np.zeros(len(rows), np.bool_)
    has_bad_count[has_one] = distributions.has_bad_count
    return distributions.column.take(pa.array(rows, mask=~has_one)), has_bad_count


def _time_columns(source: Source) -> tuple[Columns, Flags]:
    """Return the times, and which points have one beyond int64.

    The walk reads 64 bits as a signed number: what is beyond int64 is negative there.
    """
    time = source.of_point(w.P_TIME)
    start = source.of_point(w.P_START)
    micros = time // NANOS_PER_MICRO
    columns = {
        "time_unix_nano": column(time, pa.int64(), time > 0),
        "start_time_unix_nano": column(start, pa.int64(), start > 0),
        "time": column(micros, pa.timestamp("us", "UTC"), time > 0),
    }
    return columns, (time < 0) | (start < 0)


def _text_maps(words: pa.StringArray, pool: w.Table, ends: w.Table) -> pa.MapArray:
    """Return attributes as maps."""
    return pa.MapArray.from_arrays(
        offsets(ends), texts(words, pool[0]), texts(words, pool[1])
    )


class _Sent(NamedTuple):
    """The distinct texts of one column of the points."""

    texts: list[str | None]
    places: pa.Array
    """For each point, the place of its text."""


def _distinct_texts(source: Source, register: int) -> _Sent:
    """Return the texts of a column once each, so that a loop reads only those."""
    numbers = source.of_point(register)
    sent = distinct(numbers)
    place = np.zeros(len(source.words), np.int32)
    place[sent] = np.arange(len(sent), dtype=np.int32)
    return _Sent(texts(source.words, sent).to_pylist(), pa.array(place[numbers]))


def _attribute_columns(source: Source) -> Columns:
    """Return the attributes of points, and those with a column of their own."""
    words = source.words
    pool = source.tables.pool(w.POINT_ATTRIBUTES)
    sent = _distinct_texts(source, w.P_PARTITION)
    partitions = pa.array([parse_int32(text) for text in sent.texts], pa.int32())
    return {
        "attributes": _text_maps(words, pool, source.of_point(w.P_ATTRIBUTES)),
        "topic_name": texts(words, source.of_point(w.P_TOPIC)),
        "topic_partition": partitions.take(sent.places),
        **_node_columns(source),
    }


def _node_columns(source: Source) -> Columns:
    """Return the broker ID of each point and the role of the connection."""
    sent = _distinct_texts(source, w.P_NODE)
    nodes = [parse_node(text) for text in sent.texts]
    # A point of an unknown node is no point of the whole client.
    ids = [
        text if node is None else str(node.node_id)
        for text, node in zip(sent.texts, nodes, strict=True)
    ]
    roles = [None if node is None else node.role for node in nodes]
    return {
        "node_id": pa.array(ids, pa.string()).take(sent.places),
        "node_role": pa.array(roles, pa.string()).take(sent.places),
    }


def _drop_claims(pool: w.Table, ends: w.Table) -> tuple[w.Table, w.Table]:
    """Return the attributes of resources without labels that a broker adds.

    What a broker knows overwrites what a client claims (KIP-714), and columns have it.
    """
    keys = pool[0]
    is_claim = (keys >= w.FIRST_BROKER_LABEL) & (keys < w.AFTER_BROKER_LABELS)
    is_claim |= keys == w.NODE_ID
    if not is_claim.any():
        return pool, ends
    kept_before = np.concatenate(([0], np.cumsum(~is_claim)))
    return pool[:, ~is_claim], kept_before[ends]


def _resource_columns(source: Source) -> Columns:
    """Return what a point has from its resource and its scope."""
    columns: Columns = {
        name: source.texts_of(w.P_RESOURCE, w.R_GROUP_ID + index)
        for index, name in enumerate(IDENTITY_ATTRIBUTES)
    }
    resource = source.of_point(w.P_RESOURCE)
    pool = source.tables.pool(w.RESOURCE_ATTRIBUTES)
    if pool.shape[1] == 0:
        no_attributes = np.zeros(len(resource), np.int64)
        columns["resource_attributes"] = _text_maps(source.words, pool, no_attributes)
    else:
        maps = _text_maps(
            source.words, *_drop_claims(pool, source.tables.column(w.R_ATTRIBUTES))
        )
        columns["resource_attributes"] = maps.take(pa.array(resource))
    for name, register in (("scope_name", w.S_NAME), ("scope_version", w.S_VERSION)):
        columns[name] = source.texts_of(w.P_SCOPE, register)
    return columns


def _error_column(has_bad_time: Flags, has_bad_count: Flags) -> pa.Array:
    """Return what is wrong with each point; nearly always nothing."""
    if not (has_bad_time.any() or has_bad_count.any()):
        return pa.nulls(len(has_bad_time), pa.string())
    error = np.where(has_bad_time, 1, np.where(has_bad_count, 2, 0))
    return choices(POINT_ERRORS, error)


def arrow_points(
    tables: Tables, words: pa.StringArray, point_ends: npt.NDArray[np.int64]
) -> pa.RecordBatch:
    """Return the data points of a walk.

    Args:
        tables: After a walk.
        point_ends: Where the points of each push end.
    Returns: POINT_SCHEMA.
    Shape: One row a data point, in the order of pushes, then of the document.
    Units: Times are nanoseconds and microseconds since 1970-01-01T00:00:00Z.
    Nulls: What was not sent, or is the empty string where proto3 cannot say; time 0;
        a number that int64 cannot hold.
    Errors: point_error is null, "time_out_of_range", or else "count_out_of_range".
    """
    source = Source(tables, words)
    counts = np.diff(point_ends, prepend=0)
    first = np.repeat(point_ends - counts, counts)
    index = np.arange(len(first), dtype=np.int64) - first
    distribution, has_bad_count = _distribution_column(source)
    times, has_bad_time = _time_columns(source)
    columns: Columns = {
        "point_index": pa.array(index.astype(np.int32)),
        "distribution": distribution,
        "point_error": _error_column(has_bad_time, has_bad_count),
        **_metric_columns(source),
        **_value_columns(source),
        **times,
        **_attribute_columns(source),
        **_resource_columns(source),
    }
    arrays = [columns[name] for name in POINT_SCHEMA.names]
    return pa.RecordBatch.from_arrays(arrays, schema=POINT_SCHEMA)
