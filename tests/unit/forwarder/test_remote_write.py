import math
import struct

import pyarrow as pa
import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from pipelines.forwarder.remote_write import compress, metric_name, write_series
from tests.support.write_request import WriteRequest

LABELS = Resource()
for _name, _text in (("client_id", "app"), ("broker_id", "3"), ("principal", "")):
    LABELS.attributes.add(key=_name).value.string_value = _text
LABELS = LABELS.SerializeToString()


def written(data):
    made = write_series(data, LABELS)
    request = WriteRequest.FromString(made.body)
    series = [
        ([(one.name, one.value) for one in each.labels], each.samples[0])
        for each in request.timeseries
    ]
    return series, made.left_out


def add_point(data, kind, name="a.b-c"):
    metric = data.resource_metrics.add().scope_metrics.add().metrics.add(name=name)
    return getattr(metric, kind).data_points.add(time_unix_nano=5_000_000_999_999)


def test_labels_are_sorted_and_a_points_own_node_stays():
    data = MetricsData()
    point = add_point(data, "gauge")
    point.as_double = 1.5
    values = {"node.id": ("int_value", 7), "Topic": ("string_value", "t"),
              "1st": ("bool_value", True), "ratio": ("double_value", 0.5)}  # fmt: skip
    for name, (kind, value) in values.items():
        setattr(point.attributes.add(key=name).value, kind, value)
    point.attributes.add(key="list").value.array_value.values.add()
    series, left_out = written(data)
    labels, sample = series[0]
    assert left_out == 0
    assert labels == [
        ("Topic", "t"), ("__name__", "a_b_c"), ("broker_id", "3"), ("client_id", "app"),
        ("key_1st", "true"), ("node_id", "7"), ("ratio", "0.5"),
    ]  # fmt: skip
    assert labels == sorted(labels)
    assert (sample.value, sample.timestamp) == (1.5, 5_000_000)


def test_a_point_without_labels_of_its_own_has_the_brokers():
    data = MetricsData()
    add_point(data, "sum", "a.total").as_int = -3
    data.resource_metrics[0].scope_metrics[0].metrics[0].sum.is_monotonic = True
    ((labels, sample),) = written(data)[0]
    assert labels == [
        ("__name__", "a_total"), ("broker_id", "3"), ("client_id", "app"),
    ]  # fmt: skip
    assert sample.value == -3


def test_of_two_points_of_one_series_the_last_stays_and_histograms_are_left_out():
    data = MetricsData()
    add_point(data, "gauge", "a.b").as_int = 1
    add_point(data, "gauge", "a_b").as_int = 2
    add_point(data, "histogram")
    series, left_out = written(data)
    assert [sample.value for _, sample in series] == [2]
    assert left_out == 2


def test_a_point_without_a_value_ends_its_series():
    data = MetricsData()
    add_point(data, "gauge").flags = 1
    ((_, sample),) = written(data)[0]
    assert math.isnan(sample.value)
    body = write_series(data, b"").body
    assert struct.pack("<Q", 0x7FF0000000000002) in body


@pytest.mark.parametrize(
    ("name", "is_total", "expected"),
    [
        ("org.apache.kafka.a.total", True, "org_apache_kafka_a_total"),
        ("org.apache.kafka.a", True, "org_apache_kafka_a_total"),
        ("org.apache.kafka.a..b-é", False, "org_apache_kafka_a_b"),
        ("4.a", False, "_4_a"),
        ("", False, "_"),
    ],
)
def test_names_are_those_of_prometheus(name, is_total, expected):
    assert metric_name(name, is_total=is_total) == expected


def test_a_request_is_one_block_of_snappy():
    body = bytes(1000) + b"end"
    packed = compress(body)
    assert len(packed) < 100
    assert pa.decompress(packed, len(body), codec="snappy", asbytes=True) == body
