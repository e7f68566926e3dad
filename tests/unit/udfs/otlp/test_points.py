"""What becomes of each part of a data point."""

import math
import struct

import pyarrow as pa
import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from tests.unit.udfs.otlp.comparison import decode
from udfs.otlp.metrics import POINT_SCHEMA, PUSH_SCHEMA

NANOS = 1_795_171_040_692_123_999


def push_of(kind="gauge", resource=(), name="m", **point):
    """Return a message with one point, and that point, for a test to fill."""
    metrics_data = MetricsData()
    resource_metrics = metrics_data.resource_metrics.add()
    resource_metrics.resource.attributes.extend(resource)
    metric = resource_metrics.scope_metrics.add().metrics.add(name=name)
    data = getattr(metric, kind)
    data.data_points.add(**point)
    return metrics_data


def only_point(metrics_data):
    decoded = decode([metrics_data.SerializeToString()])
    assert decoded.pushes["decode_status"].to_pylist() == ["ok"]
    (row,) = decoded.points.to_pylist(maps_as_pydicts="strict")
    return row


def only_push(metrics_data):
    (row,) = decode([metrics_data.SerializeToString()]).pushes.to_pylist()
    return row


def text(key, value):
    return KeyValue(key=key, value=AnyValue(string_value=value))


def test_schemas_are_the_published_ones():
    decoded = decode([push_of().SerializeToString()])
    assert decoded.points.schema == POINT_SCHEMA
    assert decoded.pushes.schema == PUSH_SCHEMA
    decoded.points.validate(full=True)
    decoded.pushes.validate(full=True)


def test_what_was_not_sent_is_null():
    row = only_point(push_of(name=""))
    is_sent = {name for name, value in row.items() if value is not None}
    assert is_sent == {
        *("point_index", "metric", "kind", "flags"),
        *("attributes", "resource_attributes"),
    }
    assert (row["metric"], row["flags"], row["attributes"]) == ("", 0, {})


def test_metric_texts_and_scope_are_kept():
    metrics_data = push_of("sum")
    scope_metrics = metrics_data.resource_metrics[0].scope_metrics[0]
    scope_metrics.scope.name, scope_metrics.scope.version = "rdk#é", "2.16.0"
    metric = scope_metrics.metrics[0]
    metric.unit, metric.description = "ms", "how long"
    row = only_point(metrics_data)
    assert (row["unit"], row["description"]) == ("ms", "how long")
    assert (row["scope_name"], row["scope_version"]) == ("rdk#é", "2.16.0")


def test_an_integer_stays_an_integer():
    row = only_point(push_of(as_int=2**63 - 1))
    assert (row["value_long"], row["value_double"]) == (2**63 - 1, None)


@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, math.inf, -math.inf, 5e-324])
def test_a_double_keeps_its_bits(value):
    row = only_point(push_of(as_double=value))
    assert struct.pack("<d", row["value_double"]) == struct.pack("<d", value)
    assert row["value_long"] is None


def test_a_nan_keeps_its_payload():
    nan = struct.unpack("<d", struct.pack("<Q", 0x7FF8_0000_DEAD_BEEF))[0]
    values = decode([push_of(as_double=nan).SerializeToString()]).points["value_double"]
    assert values.null_count == 0
    data = values.buffers()[1].to_pybytes()[:8]
    assert data == struct.pack("<Q", 0x7FF8_0000_DEAD_BEEF)


def test_flags_are_unsigned():
    assert only_point(push_of(flags=2**32 - 1))["flags"] == 2**32 - 1


@pytest.mark.parametrize(
    ("sent", "stored", "micros", "error"),
    [
        (NANOS, NANOS, NANOS // 1000, None),
        (2**63 - 1, 2**63 - 1, 9_223_372_036_854_775, None),
        (999, 999, 0, None),
        (0, None, None, None),
        (2**63, None, None, "time_out_of_range"),
        (2**64 - 1, None, None, "time_out_of_range"),
    ],
    ids=["usual", "last", "below a microsecond", "unknown", "beyond", "largest"],
)
def test_time_is_floored_to_microseconds_and_what_int64_cannot_hold_is_null(
    sent, stored, micros, error
):
    payload = push_of(time_unix_nano=sent).SerializeToString()
    points = decode([payload]).points
    assert points["time_unix_nano"].to_pylist() == [stored]
    assert points["time"].cast(pa.int64()).to_pylist() == [micros]
    assert points["point_error"].to_pylist() == [error]


@pytest.mark.parametrize(
    ("sent", "stored", "error"),
    [(5, 5, None), (0, None, None), (2**63, None, "time_out_of_range")],
    ids=["hit", "null", "miss"],
)
def test_start_time_is_judged_like_time(sent, stored, error):
    row = only_point(push_of(start_time_unix_nano=sent, time_unix_nano=NANOS))
    assert (row["start_time_unix_nano"], row["point_error"]) == (stored, error)
    assert row["time_unix_nano"] == NANOS


@pytest.mark.parametrize(
    ("number", "name"),
    [(0, "unspecified"), (1, "delta"), (2, "cumulative")],
)
@pytest.mark.parametrize("kind", ["sum", "histogram", "exponential_histogram"])
def test_temporality_is_a_name(kind, number, name):
    metrics_data = push_of(kind)
    metric = metrics_data.resource_metrics[0].scope_metrics[0].metrics[0]
    getattr(metric, kind).aggregation_temporality = number
    row = only_point(metrics_data)
    assert (row["temporality"], row["kind"]) == (name, kind)
    assert row["is_monotonic"] is (False if kind == "sum" else None)


@pytest.mark.parametrize("number", [3, 7, -1, 2**31 - 1])
def test_a_temporality_without_a_name_stays_a_number(number):
    metrics_data = push_of("sum")
    metric = metrics_data.resource_metrics[0].scope_metrics[0].metrics[0]
    metric.sum.aggregation_temporality = number
    assert only_point(metrics_data)["temporality"] == str(number)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (AnyValue(string_value="node--1"), "node--1"),
        (AnyValue(string_value=""), ""),
        (AnyValue(int_value=-(2**63)), "-9223372036854775808"),
        (AnyValue(bool_value=True), "true"),
        (AnyValue(bool_value=False), "false"),
        (AnyValue(double_value=0.1), "0.1"),
        (AnyValue(double_value=1e16), "1e+16"),
        (AnyValue(double_value=math.nan), "nan"),
        (AnyValue(bytes_value=b"\xff\x00"), "/wA="),
        (AnyValue(), None),
        (None, None),
        (AnyValue(string_value_strindex=4), None),
    ],
)
def test_attribute_values_become_text(value, expected):
    metrics_data = push_of(attributes=[KeyValue(key="k", value=value)])
    assert only_point(metrics_data)["attributes"] == {"k": expected}


def test_nested_attribute_values_become_json():
    value = AnyValue()
    inner = value.kvlist_value.values.add(key="é").value.array_value.values
    inner.add(int_value=2**60)
    inner.add(double_value=math.inf)
    inner.add(double_value=0.5)
    inner.add(bool_value=True)
    inner.add(bytes_value=b"a")
    inner.add()
    inner.add(string_value='"')
    row = only_point(push_of(attributes=[KeyValue(key="k", value=value)]))
    expected = '{"é":[1152921504606846976,"inf",0.5,true,"YQ==",null,"\\""]}'
    assert row["attributes"] == {"k": expected}


def test_empty_nested_values_are_empty_json():
    values = [AnyValue(), AnyValue()]
    values[0].array_value.SetInParent()
    values[1].kvlist_value.SetInParent()
    pairs = [KeyValue(key=k, value=v) for k, v in zip("ab", values, strict=True)]
    assert only_point(push_of(attributes=pairs))["attributes"] == {"a": "[]", "b": "{}"}


def test_the_last_attribute_of_a_key_wins():
    sent = [text("k", "1"), text("x", "2"), text("k", "3")]
    assert only_point(push_of(attributes=sent))["attributes"] == {"k": "3", "x": "2"}


@pytest.mark.parametrize("key", ["node_id", "node.id"])
def test_both_spellings_of_the_node_are_one(key):
    number = KeyValue(key=key, value=AnyValue(int_value=-1))
    row = only_point(push_of(attributes=[text("node.id", "7"), number]))
    assert (row["attributes"], row["node_id"]) == ({"node_id": "-1"}, "-1")


def test_node_id_of_unknown_spelling_stays_as_sent_without_role():
    row = only_point(push_of(attributes=[text("node_id", "seed_0")]))
    assert row["attributes"] == {"node_id": "seed_0"}
    assert (row["node_id"], row["node_role"]) == ("seed_0", None)


@pytest.mark.parametrize(
    ("value", "partition"),
    [
        ("0", 0),
        ("-1", -1),
        ("2147483647", 2**31 - 1),
        ("2147483648", None),
        ("-2147483648", -(2**31)),
        ("007", 7),
        ("", None),
        ("-", None),
        ("1.0", None),
        (" 1", None),
        ("1_0", None),
        ("٣", None),
        ("9" * 5000, None),
    ],
)
def test_a_partition_is_a_number_that_int32_holds(value, partition):
    row = only_point(push_of(attributes=[text("partition", value), text("topic", "t")]))
    assert (row["topic_partition"], row["topic_name"]) == (partition, "t")
    assert row["attributes"] == {"partition": value, "topic": "t"}


def test_a_partition_may_come_as_an_integer():
    sent = [KeyValue(key="partition", value=AnyValue(int_value=12))]
    assert only_point(push_of(attributes=sent))["topic_partition"] == 12
