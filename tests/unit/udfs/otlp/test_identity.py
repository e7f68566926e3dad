"""Who sent a push, as far as the push says it."""

import pytest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from tests.unit.udfs.otlp.comparison import decode
from tests.unit.udfs.otlp.test_points import only_point, only_push, push_of, text


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
    assert row["resource_attributes"] == {"node.id": "n"}
    push = only_push(metrics_data)
    assert {name: push[name] for name in columns} == columns


@pytest.mark.parametrize("is_plain", [True, False])
def test_labels_that_a_broker_adds_are_no_attributes_of_a_resource(is_plain):
    """KIP-714: the broker's overwrite them; its columns have the true ones."""
    claims = [
        *("client_instance_id", "client_id", "client_software_name", "principal"),
        *("client_software_version", "client_source_address", "client_source_port"),
        *("node_id", "listener", "bridge_id"),
    ]
    claimed = [text(name, "claimed") for name in claims]
    metrics_data = push_of(
        resource=[text("a", "1"), *claimed[:5], text("b", "2"), *claimed[5:]],
        attributes=[text("client_id", "a point's"), text("principal", "its")],
    )
    metrics_data.MergeFrom(push_of(resource=claimed))
    metrics_data.MergeFrom(push_of(resource=[text("c", "3"), text("client_ids", "4")]))
    if not is_plain:
        # A nested value is left to the protobuf classes.
        nested = metrics_data.resource_metrics[1].resource.attributes.add(key="d")
        nested.value.kvlist_value.values.add(key="client_id").value.string_value = "x"
    points = decode([metrics_data.SerializeToString()]).points
    rows = points.to_pylist(maps_as_pydicts="strict")
    found = [row["resource_attributes"] for row in rows]
    assert [set(one) for one in found] == [
        {"a", "b"}, set() if is_plain else {"d"}, {"c", "client_ids"},
    ]  # fmt: skip
    assert (found[0], found[2]) == (
        {"a": "1", "b": "2"}, {"c": "3", "client_ids": "4"},
    )  # fmt: skip
    assert rows[0]["attributes"] == {"client_id": "a point's", "principal": "its"}


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
