"""The walk's table of fields says what the published messages say."""

import pytest
from opentelemetry.proto.common.v1 import common_pb2 as common
from opentelemetry.proto.metrics.v1 import metrics_pb2 as metrics
from opentelemetry.proto.resource.v1 import resource_pb2 as resource

from udfs.otlp import walk as w
from udfs.otlp.fields import FIELDS, KINDS

BUCKETS = metrics.ExponentialHistogramDataPoint.Buckets
MESSAGES = {
    w.METRICS_DATA: metrics.MetricsData,
    w.RESOURCE_METRICS: metrics.ResourceMetrics,
    w.RESOURCE: resource.Resource,
    w.ENTITY: common.EntityRef,
    w.SCOPE_METRICS: metrics.ScopeMetrics,
    w.SCOPE: common.InstrumentationScope,
    w.METRIC: metrics.Metric,
    w.GAUGE: metrics.Gauge,
    w.SUM: metrics.Sum,
    w.HISTOGRAM: metrics.Histogram,
    w.EXPONENTIAL_HISTOGRAM: metrics.ExponentialHistogram,
    w.SUMMARY: metrics.Summary,
    w.NUMBER_POINT: metrics.NumberDataPoint,
    w.HISTOGRAM_POINT: metrics.HistogramDataPoint,
    w.EXPONENTIAL_POINT: metrics.ExponentialHistogramDataPoint,
    w.SUMMARY_POINT: metrics.SummaryDataPoint,
    w.POSITIVE_BUCKETS: BUCKETS,
    w.NEGATIVE_BUCKETS: BUCKETS,
    w.QUANTILE: metrics.SummaryDataPoint.ValueAtQuantile,
    w.RESOURCE_ATTRIBUTE: common.KeyValue,
    w.POINT_ATTRIBUTE: common.KeyValue,
    w.ATTRIBUTE_VALUE: common.AnyValue,
    w.SCOPE_ATTRIBUTE: common.KeyValue,
    w.SCOPE_ATTRIBUTE_VALUE: common.AnyValue,
    w.ARRAY: common.ArrayValue,
    w.KEY_VALUES: common.KeyValueList,
    w.EXEMPLAR: metrics.Exemplar,
}
KIND_OF_MESSAGE = {holder: message.DESCRIPTOR for holder, message in MESSAGES.items()}
FIXED = {"TYPE_DOUBLE", "TYPE_FIXED64", "TYPE_SFIXED64"}
LENGTHS = {"TYPE_STRING", "TYPE_BYTES", "TYPE_MESSAGE"}


def type_name(field):
    return next(
        n
        for n in dir(field)
        if n.startswith("TYPE_") and getattr(field, n) == field.type
    )


def wire_type(field):
    name = type_name(field)
    if field.is_repeated or name in LENGTHS:
        return w.LEN
    return w.FIXED64 if name in FIXED else w.VARINT


def test_every_message_but_a_group_is_described():
    assert set(MESSAGES) == set(range(w.MESSAGES)) - {w.GROUP}
    assert set(FIELDS) == set(MESSAGES)


@pytest.mark.parametrize("holder", FIELDS, ids=lambda h: f"{h}-{MESSAGES[h].__name__}")
def test_known_fields_have_the_wire_type_and_the_child_of_the_published_message(holder):
    published = KIND_OF_MESSAGE[holder].fields_by_number
    for number, field in FIELDS[holder].items():
        assert field.wire == wire_type(published[number]), number
        child = published[number].message_type
        if child is not None:
            assert child is KIND_OF_MESSAGE[field.child], number


@pytest.mark.parametrize("holder", FIELDS, ids=lambda h: f"{h}-{MESSAGES[h].__name__}")
def test_every_string_and_every_message_is_checked(holder):
    for number, field in KIND_OF_MESSAGE[holder].fields_by_number.items():
        if type_name(field) in {"TYPE_STRING", "TYPE_MESSAGE"}:
            assert number in FIELDS[holder], field.name
        assert number < w.FIELD_NUMBERS


@pytest.mark.parametrize("holder", [h for h in FIELDS if h < w.FIRST_NOT_KEPT])
def test_only_counts_of_what_was_dropped_and_similar_are_not_kept(holder):
    left_out = {
        field.name
        for number, field in KIND_OF_MESSAGE[holder].fields_by_number.items()
        if number not in FIELDS[holder]
    }
    assert left_out <= {"dropped_attributes_count", "key_strindex"}


def test_kinds_are_the_names_of_the_data_oneof():
    published = metrics.Metric.DESCRIPTOR.oneofs_by_name["data"].fields
    assert list(KINDS[1:]) == [field.name for field in published]
    for field in published:
        assert KINDS[FIELDS[w.METRIC][field.number].mark] == field.name
