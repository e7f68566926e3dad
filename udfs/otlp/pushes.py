"""What is known of each push as a whole: its status, its client, its identity."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import walk as w
from .columns import choices, distinct, texts
from .schema import IDENTITY_ATTRIBUTES, OK, PUSH_SCHEMA
from .tables import Tables

# The first rule that any metric of a push meets says what kind of client sent it. Share
# consumers come first: librdkafka's names begin as those of consumers do.
CLIENT_TYPE_RULES = (
    ("org.apache.kafka.consumer.share.", "share_consumer"),
    ("org.apache.kafka.share.consumer.", "share_consumer"),
    ("org.apache.kafka.consumer.", "consumer"),
    ("org.apache.kafka.producer.", "producer"),
    ("org.apache.kafka.admin.", "admin"),
    ("org.apache.kafka.stream", "streams"),
)
NO_RULE = len(CLIENT_TYPE_RULES)
CLIENT_TYPES = [client_type for _, client_type in CLIENT_TYPE_RULES]


def _rule_of(metric: str) -> int:
    """Return the number of the first rule that a metric name meets."""
    for rule, (prefix, _) in enumerate(CLIENT_TYPE_RULES):
        if metric.startswith(prefix):
            return rule
    return NO_RULE


def _client_type_column(
    tables: Tables, words: pa.StringArray, first: int, pushes: int
) -> pa.Array:
    """Return the client type of each push, by the names of its metrics.

    Args:
        tables: After a walk.
        first: The number of the first push of this walk.
        pushes: How many it walked.
    Returns: "share_consumer", "consumer", "producer", "admin", "streams".
    Nulls: No metric says it.
    Source: KIP-714, metric names; KIP-932 for share consumers.
    """
    names = np.maximum(tables.column(w.M_NAME), w.EMPTY)
    # A loop over distinct names only.
    sent = distinct(names)
    rules = np.full(len(words), NO_RULE)
    rules[sent] = [_rule_of(name) for name in texts(words, sent).to_pylist()]
    met = np.full(pushes, NO_RULE)
    np.minimum.at(met, tables.column(w.M_PUSH) - first, rules[names])
    return choices([*CLIENT_TYPES, None], met)


def _identity_columns(
    tables: Tables, words: pa.StringArray, first: int, pushes: int
) -> list[pa.Array]:
    """Return the first value of each identity attribute in each push."""
    # Backwards, so that the first value is written last.
    pushes_of = tables.column(w.R_PUSH)[::-1] - first
    columns = []
    for index in range(len(IDENTITY_ATTRIBUTES)):
        numbers = tables.column(w.R_GROUP_ID + index)[::-1]
        is_set = numbers != w.NULL
        found = np.full(pushes, w.NULL, np.int64)
        found[pushes_of[is_set]] = numbers[is_set]
        columns.append(texts(words, found))
    return columns


def arrow_pushes(
    tables: Tables,
    words: pa.StringArray,
    point_ends: npt.NDArray[np.int64],
    first: int,
    refusals: Sequence[tuple[str, str | None] | None],
) -> pa.RecordBatch:
    """Return what became of each push of a walk.

    Args:
        tables: After a walk.
        point_ends: Where the points of each push end.
        first: The number of the first push of this walk.
        refusals: Reason code and detail, or None, of each push of this walk.
    Returns: PUSH_SCHEMA.
    Shape: One row a push, in their order.
    Nulls: detail of a good push; client_type where no metric says it; an attribute
        that no resource of the push has.
    """
    pushes = len(refusals)
    return pa.RecordBatch.from_arrays(
        [
            pa.array([OK if r is None else r[0] for r in refusals], pa.string()),
            pa.array([None if r is None else r[1] for r in refusals], pa.string()),
            pa.array(np.diff(point_ends, prepend=0).astype(np.int32)),
            _client_type_column(tables, words, first, pushes),
            *_identity_columns(tables, words, first, pushes),
        ],
        schema=PUSH_SCHEMA,
    )
