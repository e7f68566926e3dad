"""Unit and description of forwarded metrics, by OTLP and by remote write."""

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, MetricsData

from pipelines.forwarder.bodies import Selection, choose_points, read_push
from pipelines.forwarder.metadata import RESEND_S, SentMetadata, describe
from pipelines.forwarder.remote_write import write_series
from pipelines.settings.metric_semantics import load_metric_semantics
from tests.support.write_request import WriteRequest
from tests.unit.udfs.otlp.random_pushes import TELEMETRY

P = "org.apache.kafka."
LATENCY = f"{P}producer.request.latency.avg"
ABOUT_LATENCY = "Average time until the response to a produce request"
HEADERS = {"client_instance_id": b"a", "compression_type": b"zstd"}
COUNTER, GAUGE = 1, 2


def push_of(*metrics):
    data = MetricsData()
    found = data.resource_metrics.add().scope_metrics.add().metrics
    for name, kind, fields in metrics:
        metric = found.add(name=name, **fields)
        getattr(metric, kind).data_points.add(as_double=1.0)
        if kind == "sum":
            metric.sum.is_monotonic = True
    return data


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"name": LATENCY}, ("{ms}", ABOUT_LATENCY)),
        ({"name": LATENCY, "unit": "us"}, ("us", ABOUT_LATENCY)),
        ({"name": LATENCY, "description": "Its own"}, ("{ms}", "Its own")),
        ({"name": "app.orders"}, ("", "")),
    ],
)
def test_describe_adds_only_what_a_client_left_out(fields, expected):
    metric = Metric(**fields)
    describe(metric, "gauge")
    assert (metric.unit, metric.description) == expected
    assert metric.name == fields["name"]


@pytest.mark.parametrize("is_described", [True, False])
def test_choose_points_describes_each_metric_of_a_captured_push(is_described):
    body = (TELEMETRY / "java_producer_push_c4.bin").read_bytes()
    push = read_push(body, HEADERS, 1 << 20)
    choose_points(push, Selection(), is_described=is_described)
    known = {one.metric: one for one in load_metric_semantics()}
    seen = 0
    for resource in push.data.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                row = known[metric.name]
                units = f"{{{row.unit}}}", row.description
                assert (metric.unit, metric.description) == (
                    units if is_described else ("", "")
                )
                seen += 1
    assert seen > 90


def test_write_series_describes_each_metric_once():
    total = f"{P}producer.record.send.total"
    made = write_series(
        push_of(
            (LATENCY, "gauge", {}),
            (LATENCY, "gauge", {}),
            (total, "sum", {"description": "Records"}),
            ("app.orders", "gauge", {}),
            ("app.long", "gauge", {"description": "x" * 10_000}),
        ),
        b"",
    )
    body = made.body + SentMetadata().take(made.metadata, 0.0)
    request = WriteRequest.FromString(body)
    assert len(request.timeseries) == 4
    told = {
        one.metric_family_name: (one.type, one.help, one.unit)
        for one in request.metadata
    }
    assert told == {
        "org_apache_kafka_producer_request_latency_avg": (GAUGE, ABOUT_LATENCY, "ms"),
        "org_apache_kafka_producer_record_send_total": (COUNTER, "Records", "records"),
    }
    assert len(request.metadata) == 2


def test_sent_metadata_repeats_a_metric_after_a_minute():
    sent = SentMetadata()
    assert sent.take({b"a", b"b"}, 10.0) == b"ab"
    assert sent.take({b"b", b"c"}, 11.0) == b"c"
    assert sent.take({b"b"}, 10.0 + RESEND_S) == b"b"
