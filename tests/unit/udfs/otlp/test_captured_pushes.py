"""What real clients sent: the kernel sees in it what the protobuf classes see."""

import csv

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from tests.unit.udfs.otlp.comparison import decode, expected_rows, rows_of
from tests.unit.udfs.otlp.random_pushes import TELEMETRY, captured_payloads, captures
from udfs.otlp.metrics import IDENTITY_ATTRIBUTES

CAPTURES = captures()
JAVA_SNAPSHOT = [f"java_producer_push_c{codec_id}.bin" for codec_id in (1, 2, 3, 4)]
LIBRDKAFKA = [f"librdkafka_producer_push_c{codec_id}.bin" for codec_id in (1, 2, 3, 4)]
LIBRDKAFKA_CONSUMER = [name.replace("producer", "consumer") for name in LIBRDKAFKA]


@pytest.fixture(scope="module")
def decoded():
    return decode([p.read_bytes() for p, _ in CAPTURES], [c for _, c in CAPTURES])


def test_all_captures_are_here():
    assert len(CAPTURES) == 59


def test_every_capture_decodes_to_the_points_of_the_protobuf_classes(decoded):
    for push, payload in enumerate(captured_payloads()):
        rows = rows_of(decoded, push)
        assert rows == expected_rows(payload), CAPTURES[push][0].name
        assert decoded.pushes["point_count"][push].as_py() == len(rows) > 0
    assert set(decoded.pushes["decode_status"].to_pylist()) == {"ok"}
    assert decoded.pushes["detail"].null_count == len(CAPTURES)


def test_the_client_type_is_the_one_that_was_captured(decoded):
    for (path, _), client_type in zip(
        CAPTURES, decoded.pushes["client_type"].to_pylist(), strict=True
    ):
        assert client_type == ("consumer" if "consumer" in path.name else "producer")


def test_groups_and_racks_are_those_of_the_resource(decoded):
    for push, payload in enumerate(captured_payloads()):
        sent = {
            attribute.key: attribute.value.string_value
            for resource_metrics in MetricsData.FromString(payload).resource_metrics
            for attribute in resource_metrics.resource.attributes
        }
        row = decoded.pushes.slice(push, 1).to_pylist()[0]
        assert row["group_id"] == sent.get("group_id")
        assert row["group_member_id"] == sent.get("group_member_id")
        assert row["client_rack"] == sent.get("client_rack")
        assert row["transactional_id"] == sent.get("transactional_id")


def metrics_in(name):
    with (TELEMETRY / name).open(newline="") as file:
        return {row["metric"]: row for row in csv.DictReader(file)}


def rows_by_metric(decoded, is_wanted):
    by_metric = {}
    for push, (path, _) in enumerate(CAPTURES):
        if is_wanted(path):
            for row in rows_of(decoded, push):
                by_metric.setdefault(row["metric"], []).append(row)
    return by_metric


def is_from(names):
    return lambda path: path.name in names


def is_java_consumer(path):
    return path.name.startswith("consumer_")


def value_type(row):
    return "as_int" if row["value_long"] is not None else "as_double"


EXPECTED = {
    "java producer": ("java_producer_metrics.csv", is_from(JAVA_SNAPSHOT)),
    "librdkafka producer": ("librdkafka_producer_metrics.csv", is_from(LIBRDKAFKA)),
    "librdkafka consumer": (
        "librdkafka_consumer_metrics.csv",
        is_from(LIBRDKAFKA_CONSUMER),
    ),
    "java consumer": ("java_consumer_metrics.csv", is_java_consumer),
}
each_table = pytest.mark.parametrize(
    ("table", "is_wanted"), EXPECTED.values(), ids=EXPECTED.keys()
)


@each_table
def test_every_name_of_the_table_is_there_with_its_type(decoded, table, is_wanted):
    seen = rows_by_metric(decoded, is_wanted)
    for metric, listed in metrics_in(table).items():
        for point in seen[metric]:
            assert point["kind"] == listed["otlp_type"], metric
            assert value_type(point) == listed["value_type"], metric
            is_monotonic = True if listed["monotonic"] else None
            assert point["is_monotonic"] == is_monotonic, metric
            has_start = point["start_time_unix_nano"] is not None
            assert has_start == (listed["start_time_set"] == "yes"), metric
            has_description = point["description"] is not None
            assert has_description == (listed["description_set"] == "yes"), metric


@each_table
def test_attributes_of_the_table_are_there(decoded, table, is_wanted):
    seen = rows_by_metric(decoded, is_wanted)
    for metric, listed in metrics_in(table).items():
        names = {name.split(":")[0] for name in listed["attributes"].split()}
        found = {name for point in seen[metric] for name in point["attributes"]}
        # librdkafka's node.id is Java's node_id.
        names = {name.replace(".", "_") for name in names}
        assert names <= found, metric
        # The table of the Java consumer is of another version than its captures.
        assert found <= names | {"topic", "partition"}, metric


JAVA_COORDINATOR = ("node-2147483646", "1", "coordinator")
JAVA_NODES = {("node--1", "-1", "bootstrap"), ("node-1", "1", "broker")}
LIBRDKAFKA_NODES = {("1", "1", "broker")}
NODES = {
    # As sent, node_id, node_role; each of them had one broker.
    "java producer": (is_from(JAVA_SNAPSHOT), JAVA_NODES),
    "java 3.9 producer": (lambda path: path.name.startswith("producer_"), JAVA_NODES),
    "java 3.9 consumer": (is_java_consumer, JAVA_NODES | {JAVA_COORDINATOR}),
    "java 3.9 consumer of the new protocol": (
        lambda path: path.name.startswith("consumerNew_"),
        JAVA_NODES | {JAVA_COORDINATOR},
    ),
    "librdkafka producer": (is_from(LIBRDKAFKA), LIBRDKAFKA_NODES),
    "librdkafka consumer": (
        is_from(LIBRDKAFKA_CONSUMER),
        LIBRDKAFKA_NODES | {("-1", "-1", "bootstrap")},
    ),
}


@pytest.mark.parametrize(("is_wanted", "expected"), NODES.values(), ids=NODES.keys())
def test_node_ids_of_every_client_family_name_the_one_broker(
    decoded, is_wanted, expected
):
    rows = [row for of in rows_by_metric(decoded, is_wanted).values() for row in of]
    found = {
        (row["attributes"].get("node_id"), row["node_id"], row["node_role"])
        for row in rows
    }
    assert found == expected | {(None, None, None)}


@each_table
def test_resource_attributes_are_columns_of_their_own(decoded, table, is_wanted):
    seen = rows_by_metric(decoded, is_wanted)
    for metric, listed in metrics_in(table).items():
        allowed = set(listed["resource_attributes"].split())
        for point in seen[metric]:
            assert point["resource_attributes"] == {}
            found = {name for name in IDENTITY_ATTRIBUTES if point[name] is not None}
            assert found <= allowed, metric
            assert not allowed or found, metric
