"""Many pushes at once: order, neighbours, and memory whatever they hold."""

import struct

import pyarrow as pa
import pytest
import zstandard
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from tests.bench.generated_pushes import java_push, librdkafka_push
from tests.unit.udfs.otlp.comparison import decode, expected_rows, point_rows, rows_of
from tests.unit.udfs.otlp.message_pieces import holding, tiny_points, write_varint
from tests.unit.udfs.otlp.random_pushes import captures, random_push, seeded
from udfs.compression.codecs import GZIP, NONE, SNAPPY, ZSTD
from udfs.otlp.limits import holds_too_many_points
from udfs.otlp.metrics import POINT_SCHEMA, PUSH_SCHEMA, iter_decoded

LIMIT = 16 << 20
GOOD = java_push(1, 3)


def zstd(data):
    return zstandard.ZstdCompressor().compress(data)


def iter_parts(bodies, codec_id=NONE, max_bytes=LIMIT):
    return iter_decoded(
        pa.array(bodies, pa.binary()),
        pa.array([codec_id] * len(bodies), pa.int32()),
        max_decompressed_bytes=max_bytes,
    )


def test_an_empty_batch_has_the_schemas_and_no_rows():
    decoded = decode([])
    assert decoded.pushes.schema == PUSH_SCHEMA
    assert decoded.points.schema == POINT_SCHEMA
    assert (decoded.pushes.num_rows, decoded.points.num_rows) == (0, 0)
    assert decoded.offsets.to_pylist() == [0]
    assert list(iter_parts([])) == []


BAD = {
    "null_value": (None, ZSTD),
    "unknown_codec": (GOOD, 9),
    "wrong_codec": (zstd(GOOD), GZIP),
    "truncated_frame": (zstd(GOOD)[:-5], ZSTD),
    "corrupt_frame": (b"\x0a\x00a\xfe\xff\x00", SNAPPY),
    "too_large": (zstd(bytes(2 << 20)), ZSTD),
    "truncated_otlp": (GOOD[:-1], NONE),
    "malformed_otlp": (zstd(GOOD + b"\x0e"), ZSTD),
    "invalid_utf8": (b"\x0a\x03\x1a\x01\xff", NONE),
}


def test_bad_pushes_among_good_ones_keep_their_place_and_touch_no_other():
    bodies, codec_ids, expected = [GOOD], [NONE], ["ok"]
    for reason, (body, codec_id) in BAD.items():
        bodies += [body, zstd(GOOD), b""]
        codec_ids += [codec_id, ZSTD, 9]
        expected += [reason, "ok", "ok"]
    decoded = decode(bodies, codec_ids)
    assert decoded.pushes["decode_status"].to_pylist() == expected
    counts = decoded.pushes["point_count"].to_pylist()
    for push, body in enumerate(bodies):
        is_good = expected[push] == "ok" and body
        assert rows_of(decoded, push) == (expected_rows(GOOD) if is_good else [])
        assert counts[push] == (3 if is_good else 0)
        assert (decoded.pushes["detail"][push].as_py() is None) == (
            expected[push] == "ok"
        )
        client_type = decoded.pushes["client_type"][push].as_py()
        assert client_type == ("consumer" if is_good else None)


@pytest.mark.parametrize("frame", [zstd(GOOD), b"\x1f\x8b\x08" + bytes(9)])
def test_a_compressed_push_that_says_none_is_the_wrong_codec(frame):
    decoded = decode([frame, b"\x0e"], [NONE, NONE])
    reasons = decoded.pushes["decode_status"].to_pylist()
    assert reasons == ["wrong_codec", "malformed_otlp"]


def test_no_compression_type_is_an_unknown_codec():
    assert decode([GOOD], [None]).pushes["decode_status"].to_pylist() == [
        "unknown_codec"
    ]


def test_a_push_decodes_alone_as_it_does_in_a_batch():
    bodies = [path.read_bytes() for path, _ in captures()]
    codec_ids = [codec_id for _, codec_id in captures()]
    together = decode(bodies, codec_ids)
    for push, (body, codec_id) in enumerate(zip(bodies, codec_ids, strict=True)):
        alone = decode([body], [codec_id])
        assert point_rows(alone.points) == rows_of(together, push)
        assert alone.pushes.equals(together.pushes.slice(push, 1))


def test_pushes_of_more_points_than_one_table_holds_come_in_parts_of_whole_pushes():
    rng = seeded(5)
    bodies = [librdkafka_push(push, 500) for push in range(70)]
    bodies += [random_push(rng) for _ in range(30)] + [bodies[3], b""]
    parts = list(iter_parts(bodies))
    assert len(parts) == 2
    assert sum(part.pushes.num_rows for part in parts) == len(bodies)
    # All parts are kept before one is looked at: the tables are used again.
    push = 0
    for part in parts:
        part.points.validate(full=True)
        assert part.offsets[part.pushes.num_rows].as_py() == part.points.num_rows
        for index in range(0, part.pushes.num_rows, 9):
            assert rows_of(part, index) == expected_rows(bodies[push + index])
        push += part.pushes.num_rows


def test_the_whole_of_several_parts_has_the_same_pushes_and_points():
    bodies = [java_push(push, 400) for push in range(100)]
    decoded = decode(bodies)
    assert decoded.pushes["point_count"].to_pylist() == [400] * 100
    assert decoded.offsets.to_pylist() == list(range(0, 40_001, 400))
    for push in (0, 50, 81, 82, 99):
        assert rows_of(decoded, push) == expected_rows(bodies[push])


def test_one_push_of_more_points_than_a_usual_table_holds_is_decoded():
    decoded = decode([GOOD, tiny_points(40_000), GOOD])
    assert decoded.pushes["point_count"].to_pylist() == [3, 40_000, 3]
    assert decoded.points["point_index"][40_002].as_py() == 39_999
    assert rows_of(decoded, 2) == expected_rows(GOOD)


TOO_MANY = {
    "points": tiny_points(300_000),
    # Those that repeat the one before would be one row.
    "resources": (b"\x0a\x00" + holding(b"\x0a\x01k", 1, 1, 1)) * 150_000,
    "scopes": holding(b"\x12\x00" * 300_000, 1),
    "metrics": holding(b"\x12\x00" * 300_000, 1, 2),
    "distributions": holding(b"\x0a\x00" * 300_000, 1, 2, 2, 9),
    "attributes": holding(b"\x3a\x02\x0a\x00" * 1, 1, 2, 2, 5, 1) * 300_000,
    "buckets": holding(
        b"\x12" + write_varint(2 << 20) + bytes(2 << 20), 1, 2, 2, 10, 1, 8
    ),
    "exemplars": holding(b"\x2a\x00" * 2_200_000, 1, 2, 2, 5, 1),
    "groups": b"\x13\x14" * 10 + b"\x0a\x00" * 300_000,
}


@pytest.mark.parametrize("payload", TOO_MANY.values(), ids=TOO_MANY.keys())
def test_more_than_memory_is_granted_for_is_too_large(payload):
    decoded = decode([GOOD, payload, GOOD], max_bytes=LIMIT)
    assert decoded.pushes["decode_status"].to_pylist() == ["ok", "too_large", "ok"]
    assert decoded.pushes["point_count"].to_pylist() == [3, 0, 3]
    # Packed numbers are no messages: nobody creates an object for each.
    assert holds_too_many_points(payload) == (payload is not TOO_MANY["buckets"])


@pytest.mark.parametrize(
    "payload",
    [
        GOOD,
        tiny_points(262_000),
        holding(b"\x3a\x02\x0a\x00" * 500_000, 1, 2, 2, 5, 1),
        b"\xff" * LIMIT,
        bytes(600_000),
    ],
    ids=["short", "points", "attributes", "garbage", "zeros"],
)
def test_holds_too_many_points_is_false_for_fewer_or_no_metrics_data(payload):
    assert not holds_too_many_points(payload)


def push_with_long_resource(text_bytes, points):
    metrics_data = MetricsData()
    resource_metrics = metrics_data.resource_metrics.add()
    attribute = resource_metrics.resource.attributes.add(key="client_rack")
    attribute.value.string_value = "r" * text_bytes
    metric = resource_metrics.scope_metrics.add().metrics.add(name="m")
    for index in range(points):
        metric.gauge.data_points.add(as_int=index)
    return metrics_data.SerializeToString()


def test_a_long_text_that_every_point_would_repeat_is_too_large():
    """100 kB, once on the wire, would be 200 MB in the rows of its points."""
    decoded = decode([GOOD, push_with_long_resource(100_000, 2_000), GOOD])
    assert decoded.pushes["decode_status"].to_pylist() == ["ok", "too_large", "ok"]
    assert decoded.points.num_rows == 6


def test_long_texts_make_smaller_parts():
    bodies = [push_with_long_resource(100_000, 200) for _ in range(12)]
    parts = list(iter_parts(bodies))
    assert [part.pushes.num_rows for part in parts] == [3, 3, 3, 3]
    assert max(part.points.nbytes for part in parts) < 64 << 20


def test_no_more_than_a_chunk_of_payloads_is_held_at_once():
    size = 1500 << 10
    unknown_field = b"\xfa\x07" + write_varint(size) + bytes(size)
    parts = list(iter_parts([zstd(unknown_field)] * 5, ZSTD))
    assert [part.pushes.num_rows for part in parts] == [2, 2, 1]
    assert parts[0].pushes["decode_status"].to_pylist() == ["ok"] * 2


def test_many_distinct_texts_and_numbers_are_each_kept():
    metrics_data = MetricsData()
    metric = metrics_data.resource_metrics.add().scope_metrics.add().metrics.add()
    for index in range(5_000):
        point = metric.gauge.data_points.add(as_double=index)
        point.attributes.add(key="topic").value.string_value = f"topic-{index}"
        point.attributes.add(key="partition").value.int_value = index - 2_500
        point.attributes.add(key=f"k{index}").value.double_value = index / 7
    payload = metrics_data.SerializeToString()
    assert rows_of(decode([payload]), 0) == expected_rows(payload)


def test_many_keys_of_one_point_are_each_kept_once():
    metrics_data = MetricsData()
    metric = metrics_data.resource_metrics.add().scope_metrics.add().metrics.add()
    point = metric.gauge.data_points.add()
    for index in range(20_000):
        point.attributes.add(key=str(index % 15_000)).value.int_value = index
    (attributes,) = decode([metrics_data.SerializeToString()]).points["attributes"]
    found = dict(attributes.as_py())
    assert len(attributes) == len(found) == 15_000
    assert (found["4999"], found["5000"]) == ("19999", "5000")


def test_columns_can_be_slices_of_larger_ones():
    bodies = pa.array([b"\x0e", GOOD, None, GOOD], pa.binary()).slice(1, 2)
    codec_ids = pa.array([7, NONE, NONE, 7], pa.int32()).slice(1, 2)
    (part,) = iter_decoded(bodies, codec_ids, max_decompressed_bytes=LIMIT)
    assert part.pushes["decode_status"].to_pylist() == ["ok", "null_value"]
    assert struct.unpack("<3i", part.offsets.buffers()[1].to_pybytes()[:12]) == (
        0,
        3,
        3,
    )


def test_decodes_that_take_turns_do_not_share_their_memory():
    """The memory of one decode serves the next one; what was returned is not in it."""
    bodies = [java_push(push, 60) for push in range(1_200)]
    others = [librdkafka_push(push, 60) for push in range(1_200)]
    alone = [list(iter_parts(sent)) for sent in (bodies, others)]
    turns = list(zip(iter_parts(bodies), iter_parts(others), strict=False))
    assert len(turns) > 1
    for (mine, theirs), mine_alone, theirs_alone in zip(turns, *alone, strict=False):
        for part, other in ((mine, mine_alone), (theirs, theirs_alone)):
            assert part.points.equals(other.points)
            assert part.pushes.equals(other.pushes)
