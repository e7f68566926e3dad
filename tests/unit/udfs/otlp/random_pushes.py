"""Pushes of every kind, and their mutants: what clients might send, and worse."""

import random
import struct
from pathlib import Path

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from udfs.compression.codecs import COMPRESSION_NAMES, decompress

TELEMETRY = Path(__file__).parents[3] / "golden" / "telemetry"
IDS = {name: codec_id for codec_id, name in COMPRESSION_NAMES.items()}
KINDS = ("gauge", "sum", "histogram", "exponential_histogram", "summary")
KEYS = (
    *("topic", "partition", "node_id", "node.id", "x", "é", ""),
    *("group_id", "member_id", "group_member_id", "group_instance_id"),
    *("client_rack", "transactional_id"),
)
NUMBERS = (0.0, -0.0, 1.5, float("nan"), float("inf"), float("-inf"), 5e-324, 1e300)
STRANGE_NAN = struct.unpack("<d", struct.pack("<Q", 0x7FF8_0000_DEAD_BEEF))[0]
TIMES = (0, 1, 999, 1_000, 1_795_171_040_692_123_999, 2**63 - 1, 2**63, 2**64 - 1)
COUNTS = (0, 1, 2**31, 2**63 - 1, 2**63, 2**64 - 1)
INTS = (0, 1, -1, 7, 2**31, -(2**63), 2**63 - 1)


def codec_of(path):
    """Return the compression id that a capture's name states."""
    stem = path.stem.split("__")[0]
    ending = stem.rsplit("_", 1)[1]
    return int(ending[1:]) if ending[1:].isdigit() else IDS[ending]


def captures():
    """Return path and compression id of every capture."""
    return [(path, codec_of(path)) for path in sorted(TELEMETRY.rglob("*.bin"))]


def captured_payloads():
    """Return the captures without their compression."""
    return [decompress(p.read_bytes(), c, 1 << 20).data for p, c in captures()]


def seeded(seed):
    """Return random numbers that come again, so that a failure can be repeated."""
    return random.Random(seed)  # noqa: S311 - as the docstring says


def any_value(rng, depth=0):  # noqa: PLR0911 - one return a kind
    kind = rng.randrange(10 if depth < 3 else 7)
    if kind == 0:
        return AnyValue()
    if kind in {1, 2}:
        return AnyValue(string_value=rng.choice(["", "a", "12", "-7", "x" * 40, "zß"]))
    if kind == 3:
        return AnyValue(int_value=rng.choice(INTS))
    if kind == 4:
        return AnyValue(double_value=rng.choice([*NUMBERS, STRANGE_NAN]))
    if kind == 5:
        return AnyValue(bool_value=rng.random() < 0.5)
    if kind == 6:
        return AnyValue(bytes_value=rng.randbytes(rng.randrange(5)))
    if kind == 7:
        return AnyValue(string_value_strindex=3)
    value = AnyValue()
    if kind == 8:
        value.array_value.SetInParent()
        value.array_value.values.extend(
            any_value(rng, depth + 1) for _ in range(rng.randrange(3))
        )
        return value
    value.kvlist_value.SetInParent()
    value.kvlist_value.values.extend(attributes(rng, depth + 1))
    return value


def attributes(rng, depth=0):
    return [
        KeyValue(key=rng.choice(KEYS), value=any_value(rng, depth))
        if rng.random() < 0.9
        else KeyValue(key=rng.choice(KEYS))
        for _ in range(rng.randrange(4))
    ]


def fill_distribution(rng, kind, point):
    point.count = rng.choice(COUNTS)
    if kind == "summary":
        for _ in range(rng.randrange(3)):
            point.quantile_values.add(
                quantile=rng.choice(NUMBERS), value=rng.choice(NUMBERS)
            )
        point.sum = rng.choice(NUMBERS)
        return
    for name in ("sum", "min", "max"):
        if rng.random() < 0.5:
            setattr(point, name, rng.choice(NUMBERS))
    if kind == "histogram":
        point.bucket_counts.extend(rng.choices(COUNTS, k=rng.randrange(4)))
        point.explicit_bounds.extend(rng.choices(NUMBERS, k=rng.randrange(4)))
        return
    point.scale = rng.choice([0, 1, -1, 2**31 - 1, -(2**31)])
    point.zero_count = rng.choice(COUNTS)
    point.zero_threshold = rng.choice(NUMBERS)
    for side in (point.positive, point.negative):
        if rng.random() < 0.5:
            side.offset = rng.choice([0, 5, -5])
            side.bucket_counts.extend(rng.choices(COUNTS, k=rng.randrange(4)))


def fill_point(rng, kind, point):
    point.time_unix_nano = rng.choice(TIMES)
    point.start_time_unix_nano = rng.choice(TIMES)
    point.flags = rng.choice([0, 1, 2**32 - 1])
    point.attributes.extend(attributes(rng))
    if kind != "summary" and rng.random() < 0.2:
        exemplar = point.exemplars.add(as_int=4, span_id=b"\xff", trace_id=b"\x00")
        exemplar.filtered_attributes.extend(attributes(rng))
    if kind not in {"gauge", "sum"}:
        fill_distribution(rng, kind, point)
    elif rng.random() < 0.4:
        point.as_int = rng.choice(INTS)
    elif rng.random() < 0.9:
        point.as_double = rng.choice([*NUMBERS, STRANGE_NAN])


def fill_metric(rng, metric):
    metric.name = rng.choice(["", "org.apache.kafka.producer.x", "m", "ü" * 30])
    metric.unit = rng.choice(["", "ms"])
    metric.description = rng.choice(["", "what it is"])
    metric.metadata.extend(attributes(rng))
    if rng.random() < 0.1:
        return
    kind = rng.choice(KINDS)
    data = getattr(metric, kind)
    data.SetInParent()
    if kind not in {"gauge", "summary"}:
        data.aggregation_temporality = rng.choice([0, 1, 2])
    if kind == "sum":
        data.is_monotonic = rng.random() < 0.5
    for _ in range(rng.randrange(4)):
        fill_point(rng, kind, data.data_points.add())


def random_push(rng):
    """Return the bytes of a small push with anything in it."""
    metrics_data = MetricsData()
    for _ in range(rng.randrange(1, 4)):
        resource_metrics = metrics_data.resource_metrics.add()
        resource_metrics.schema_url = rng.choice(["", "https://example.org/schema"])
        resource_metrics.resource.attributes.extend(attributes(rng))
        if rng.random() < 0.3:
            resource_metrics.resource.entity_refs.add(type="a", id_keys=["k"])
        for _ in range(rng.randrange(3)):
            scope_metrics = resource_metrics.scope_metrics.add()
            scope_metrics.scope.name = rng.choice(["", "scope"])
            scope_metrics.scope.version = rng.choice(["", "1.2"])
            scope_metrics.scope.attributes.extend(attributes(rng))
            for _ in range(rng.randrange(3)):
                fill_metric(rng, scope_metrics.metrics.add())
    return metrics_data.SerializeToString()


def mutant(rng, payload, others):
    """Return a payload with bytes flipped, cut, doubled or put in from another."""
    content = bytearray(payload)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(content) + 1)
        end = min(len(content), at + rng.randrange(1, 12))
        choice = rng.randrange(7)
        if choice == 0 and at < len(content):
            content[at] ^= 1 << rng.randrange(8)
        elif choice == 1 and at < len(content):
            content[at] = rng.choice(
                [0, 1, 8, 0x0A, 0x0B, 0x0C, 0x12, 0x7F, 0x80, 0xFF]
            )
        elif choice == 2:
            del content[at:]
        elif choice == 3:
            del content[at:end]
        elif choice == 4:
            content[at:at] = content[at:end]
        elif choice == 5:
            other = rng.choice(others)
            start = rng.randrange(len(other) + 1)
            content[at:at] = other[start : start + rng.randrange(1, 30)]
        else:
            content[at:at] = rng.choice(others)[:60]
    return bytes(content)
