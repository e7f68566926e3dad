"""Who sent a push, as far as the push says it."""

import pytest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from tests.unit.udfs.comparison import decode
from tests.unit.udfs.test_otlp_points import only_point, only_push, push_of, text


def test_identity_attributes_of_the_resource_have_columns_and_the_rest_a_map():
    sent = [
        text("group_id", "g"),
        text("group_instance_id", "i"),
        text("member_id", "m"),
        text("transactional_id", "t"),
        text("client_rack", "r"),
        text("client_id", "spoofed"),
        text("node.id", "n"),
    ]
    metrics_data = push_of(resource=sent)
    row = only_point(metrics_data)
    columns = {
        "group_id": "g",
        "group_instance_id": "i",
        "group_member_id": "m",
        "transactional_id": "t",
        "client_rack": "r",
    }
    assert {name: row[name] for name in columns} == columns
    assert row["resource_attributes"] == {"client_id": "spoofed", "node.id": "n"}
    push = only_push(metrics_data)
    assert {name: push[name] for name in columns} == columns


def test_the_first_group_in_a_push_is_the_group_of_the_push():
    metrics_data = push_of(resource=[KeyValue(key="group_id")])
    for group in ("first", "second"):
        added = metrics_data.resource_metrics.add()
        added.resource.attributes.append(text("group_id", group))
    assert only_push(metrics_data)["group_id"] == "first"


def test_the_attribute_map_of_a_resource_reaches_all_its_points():
    metrics_data = push_of(resource=[text("a", "1"), text("b", "2")])
    metrics_data.MergeFrom(push_of())
    metrics_data.MergeFrom(push_of(resource=[text("c", "3")]))
    points = decode([metrics_data.SerializeToString()]).points
    maps = points.to_pylist(maps_as_pydicts="strict")
    found = [row["resource_attributes"] for row in maps]
    assert found == [{"a": "1", "b": "2"}, {}, {"c": "3"}]


@pytest.mark.parametrize(
    ("names", "client_type"),
    [
        (
            ["org.apache.kafka.consumer.x", "org.apache.kafka.consumer.share.y"],
            "share_consumer",
        ),
        (["org.apache.kafka.share.consumer.x"], "share_consumer"),
        (["org.apache.kafka.producer.x", "org.apache.kafka.consumer.y"], "consumer"),
        (["org.apache.kafka.admin.x", "org.apache.kafka.producer.y"], "producer"),
        (
            ["org.apache.kafka.stream.state.x", "org.apache.kafka.admin.client.y"],
            "admin",
        ),
        (["org.apache.kafka.stream.thread.x"], "streams"),
        (["org.apache.kafka.consumer", "app.org.apache.kafka.consumer.x", ""], None),
        ([], None),
    ],
)
def test_the_first_rule_that_a_metric_meets_names_the_client_type(names, client_type):
    metrics_data = MetricsData()
    for name in names:
        metrics_data.MergeFrom(push_of(name=name))
    assert only_push(metrics_data)["client_type"] == client_type
