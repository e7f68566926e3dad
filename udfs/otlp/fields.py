"""What each field of an OTLP metrics message means to the walk.

Source: opentelemetry-proto 1.10, metrics/v1/metrics.proto, common/v1/common.proto,
resource/v1/resource.proto.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from . import walk as w


class Field(NamedTuple):
    """How one field is encoded and what is done with it."""

    wire: int
    """Wire type; a field that comes with another one is an unknown field."""
    action: int
    """What the walk does."""
    slot: int = w.NOWHERE
    """Register or pool for the value."""
    child: int = w.GROUP
    """The message it holds."""
    once: int = 0
    """A bit shared by fields of which at most one is usual in a message."""
    mark_slot: int = w.NOWHERE
    """A second register, that says the field was there."""
    mark: int = 0
    """The value for that register; for textual attribute values, the kind of word."""


def _message(
    child: int, once: int = 0, mark_slot: int = w.NOWHERE, mark: int = 0
) -> Field:
    """Describe a field that holds a message."""
    return Field(
        w.LEN, w.MESSAGE, child=child, once=once, mark_slot=mark_slot, mark=mark
    )


def _number(wire: int, slot: int, mark_slot: int = w.NOWHERE, mark: int = 0) -> Field:
    """Describe a field that holds a number."""
    return Field(wire, w.NUMBER, slot, mark_slot=mark_slot, mark=mark)


def _text(slot: int) -> Field:
    """Describe a string field that is kept."""
    return Field(w.LEN, w.TEXT, slot)


def _value(wire: int, action: int, child: int = w.GROUP, kind: int = 0) -> Field:
    """Describe a member of AnyValue."""
    return Field(wire, action, w.A_VALUE, child=child, mark=kind)


CHECKED_TEXT = Field(w.LEN, w.TEXT_NOT_KEPT)

# The numbers of kinds, as M_KIND has them; 0 is a metric without data.
KINDS = (None, "gauge", "sum", "histogram", "exponential_histogram", "summary")
VALUE_IS_DOUBLE, VALUE_IS_LONG = 1, 2

NUMBER_POINT = {
    2: _number(w.FIXED64, w.P_START),
    3: _number(w.FIXED64, w.P_TIME),
    4: _number(w.FIXED64, w.P_VALUE, w.P_VALUE_KIND, VALUE_IS_DOUBLE),
    5: _message(w.EXEMPLAR),
    6: _number(w.FIXED64, w.P_VALUE, w.P_VALUE_KIND, VALUE_IS_LONG),
    7: _message(w.POINT_ATTRIBUTE),
    8: _number(w.VARINT, w.P_FLAGS),
}
HISTOGRAM_POINT = {
    2: _number(w.FIXED64, w.P_START),
    3: _number(w.FIXED64, w.P_TIME),
    4: _number(w.FIXED64, w.D_COUNT),
    5: _number(w.FIXED64, w.D_SUM, w.D_HAS_SUM, 1),
    6: Field(w.LEN, w.LIST_FIXED64, w.BUCKETS),
    7: Field(w.LEN, w.LIST_FIXED64, w.BOUNDS),
    8: _message(w.EXEMPLAR),
    9: _message(w.POINT_ATTRIBUTE),
    10: _number(w.VARINT, w.P_FLAGS),
    11: _number(w.FIXED64, w.D_MIN, w.D_HAS_MIN, 1),
    12: _number(w.FIXED64, w.D_MAX, w.D_HAS_MAX, 1),
}
EXPONENTIAL_POINT = {
    1: _message(w.POINT_ATTRIBUTE),
    2: _number(w.FIXED64, w.P_START),
    3: _number(w.FIXED64, w.P_TIME),
    4: _number(w.FIXED64, w.D_COUNT),
    5: _number(w.FIXED64, w.D_SUM, w.D_HAS_SUM, 1),
    6: _number(w.VARINT, w.D_SCALE),
    7: _number(w.FIXED64, w.D_ZERO_COUNT),
    8: _message(w.POSITIVE_BUCKETS, 1, w.D_HAS_POSITIVE, 1),
    9: _message(w.NEGATIVE_BUCKETS, 2, w.D_HAS_NEGATIVE, 1),
    10: _number(w.VARINT, w.P_FLAGS),
    11: _message(w.EXEMPLAR),
    12: _number(w.FIXED64, w.D_MIN, w.D_HAS_MIN, 1),
    13: _number(w.FIXED64, w.D_MAX, w.D_HAS_MAX, 1),
    14: _number(w.FIXED64, w.D_ZERO_THRESHOLD),
}
SUMMARY_POINT = {
    2: _number(w.FIXED64, w.P_START),
    3: _number(w.FIXED64, w.P_TIME),
    4: _number(w.FIXED64, w.D_COUNT),
    5: _number(w.FIXED64, w.D_SUM, w.D_HAS_SUM, 1),
    6: _message(w.QUANTILE),
    7: _message(w.POINT_ATTRIBUTE),
    8: _number(w.VARINT, w.P_FLAGS),
}
ATTRIBUTE_VALUE = {
    1: _value(w.LEN, w.VALUE_TEXT),
    2: _value(w.VARINT, w.VALUE_BOOL),
    3: _value(w.VARINT, w.VALUE_INT),
    4: _value(w.FIXED64, w.VALUE_DOUBLE),
    5: _value(w.LEN, w.VALUE_NESTED, w.ARRAY, w.ARRAY_WORD),
    6: _value(w.LEN, w.VALUE_NESTED, w.KEY_VALUES, w.KEY_VALUES_WORD),
    7: _value(w.LEN, w.VALUE_BYTES, kind=w.BYTES_WORD),
    # An index into the string table of a profile; metrics have none.
    8: _value(w.VARINT, w.VALUE_NONE),
}
TEMPORALITY = _number(w.VARINT, w.M_TEMPORALITY)
FIELDS: Mapping[int, Mapping[int, Field]] = {
    w.METRICS_DATA: {1: _message(w.RESOURCE_METRICS)},
    w.RESOURCE_METRICS: {
        1: _message(w.RESOURCE, 1),
        2: _message(w.SCOPE_METRICS),
        3: CHECKED_TEXT,
    },
    w.RESOURCE: {1: _message(w.RESOURCE_ATTRIBUTE), 3: _message(w.ENTITY)},
    w.ENTITY: dict.fromkeys((1, 2, 3, 4), CHECKED_TEXT),
    w.SCOPE_METRICS: {1: _message(w.SCOPE, 1), 2: _message(w.METRIC), 3: CHECKED_TEXT},
    w.SCOPE: {
        1: _text(w.S_NAME),
        2: _text(w.S_VERSION),
        3: _message(w.SCOPE_ATTRIBUTE),
    },
    w.METRIC: {
        1: _text(w.M_NAME),
        2: _text(w.M_DESCRIPTION),
        3: _text(w.M_UNIT),
        5: _message(w.GAUGE, 1, w.M_KIND, KINDS.index("gauge")),
        7: _message(w.SUM, 1, w.M_KIND, KINDS.index("sum")),
        9: _message(w.HISTOGRAM, 1, w.M_KIND, KINDS.index("histogram")),
        10: _message(
            w.EXPONENTIAL_HISTOGRAM, 1, w.M_KIND, KINDS.index("exponential_histogram")
        ),
        11: _message(w.SUMMARY, 1, w.M_KIND, KINDS.index("summary")),
        12: _message(w.SCOPE_ATTRIBUTE),
    },
    w.GAUGE: {1: _message(w.NUMBER_POINT)},
    w.SUM: {
        1: _message(w.NUMBER_POINT),
        2: TEMPORALITY,
        3: _number(w.VARINT, w.M_IS_MONOTONIC),
    },
    w.HISTOGRAM: {1: _message(w.HISTOGRAM_POINT), 2: TEMPORALITY},
    w.EXPONENTIAL_HISTOGRAM: {1: _message(w.EXPONENTIAL_POINT), 2: TEMPORALITY},
    w.SUMMARY: {1: _message(w.SUMMARY_POINT)},
    w.NUMBER_POINT: NUMBER_POINT,
    w.HISTOGRAM_POINT: HISTOGRAM_POINT,
    w.EXPONENTIAL_POINT: EXPONENTIAL_POINT,
    w.SUMMARY_POINT: SUMMARY_POINT,
    w.POSITIVE_BUCKETS: {
        1: _number(w.VARINT, w.D_POSITIVE_OFFSET),
        2: Field(w.LEN, w.LIST_VARINT, w.POSITIVE),
    },
    w.NEGATIVE_BUCKETS: {
        1: _number(w.VARINT, w.D_NEGATIVE_OFFSET),
        2: Field(w.LEN, w.LIST_VARINT, w.NEGATIVE),
    },
    w.QUANTILE: {1: _number(w.FIXED64, w.Q_QUANTILE), 2: _number(w.FIXED64, w.Q_VALUE)},
    w.RESOURCE_ATTRIBUTE: {1: _text(w.A_KEY), 2: _message(w.ATTRIBUTE_VALUE, 1)},
    w.POINT_ATTRIBUTE: {1: _text(w.A_KEY), 2: _message(w.ATTRIBUTE_VALUE, 1)},
    w.ATTRIBUTE_VALUE: ATTRIBUTE_VALUE,
    w.SCOPE_ATTRIBUTE: {1: CHECKED_TEXT, 2: _message(w.SCOPE_ATTRIBUTE_VALUE)},
    w.SCOPE_ATTRIBUTE_VALUE: {
        1: CHECKED_TEXT,
        5: _message(w.ARRAY),
        6: _message(w.KEY_VALUES),
    },
    w.ARRAY: {1: _message(w.SCOPE_ATTRIBUTE_VALUE)},
    w.KEY_VALUES: {1: _message(w.SCOPE_ATTRIBUTE)},
    w.EXEMPLAR: {7: _message(w.SCOPE_ATTRIBUTE)},
}

# The block of registers that is unset when a message begins, whether attributes follow,
# whether the end of the message makes a row.
POINT_BLOCK = (w.P_METRIC, w.D_COUNT, 1, 1)
DISTRIBUTION_BLOCK = (w.P_METRIC, w.M_PUSH, 1, 1)
ATTRIBUTE_BLOCK = (w.A_KEY, w.A_VALUE + 1, 0, 1)
RESETS: Mapping[int, tuple[int, int, int, int]] = {
    w.RESOURCE_METRICS: (w.R_PUSH, w.A_KEY, 0, 1),
    w.RESOURCE: (0, 0, 1, 0),
    w.SCOPE_METRICS: (w.S_NAME, w.R_PUSH, 0, 1),
    w.METRIC: (w.M_PUSH, w.S_NAME, 0, 1),
    w.NUMBER_POINT: POINT_BLOCK,
    w.HISTOGRAM_POINT: DISTRIBUTION_BLOCK,
    w.EXPONENTIAL_POINT: DISTRIBUTION_BLOCK,
    w.SUMMARY_POINT: DISTRIBUTION_BLOCK,
    w.QUANTILE: (w.Q_QUANTILE, w.Q_VALUE + 1, 0, 1),
    w.POINT_ATTRIBUTE: ATTRIBUTE_BLOCK,
    w.RESOURCE_ATTRIBUTE: ATTRIBUTE_BLOCK,
}


def field_table() -> w.Table:
    """Return FIELDS as the walk reads them.

    Returns: FIELD_NUMBERS rows a message; columns WIRE to MARK.
    Nulls: A field that is not in FIELDS is one to skip.
    """
    table = np.zeros((w.MESSAGES, w.FIELD_NUMBERS, w.FIELD_WIDTH), np.int64)
    table[:, :, [w.SLOT, w.MARK_SLOT]] = w.NOWHERE
    for holder, by_number in FIELDS.items():
        for field_number, field in by_number.items():
            row = table[holder, field_number]
            row[w.WIRE], row[w.ACTION] = field.wire, field.action
            row[w.CHILD], row[w.ONCE] = field.child, field.once
            row[w.SLOT] = field.slot
            row[w.MARK_SLOT], row[w.MARK] = field.mark_slot, field.mark
    return table.reshape(-1, w.FIELD_WIDTH)


def reset_table() -> w.Table:
    """Return RESETS as the walk reads them.

    Returns: One row a message; columns FIRST to IS_KEPT.
    Nulls: A message that is not in RESETS has nothing to reset and is not kept.
    """
    table = np.zeros((w.MESSAGES, w.RESET_WIDTH), np.int64)
    for opened, reset in RESETS.items():
        table[opened] = reset
    return table
