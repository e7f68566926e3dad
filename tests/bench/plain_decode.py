"""Plain loop over the protobuf classes: what the kernel must equal, and outrun.

It says the rules once more, point by point, on what google.protobuf has parsed. Times
in microseconds stay integers here.
"""

import base64
import json
import math

from google.protobuf.message import DecodeError
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

MAX_INT64 = 2**63 - 1
TEMPORALITIES = {0: "unspecified", 1: "delta", 2: "cumulative"}
BROKER_LABELS = {
    "client_instance_id", "client_id", "client_software_name",
    "client_software_version", "client_source_address", "client_source_port",
    "principal", "node_id", "listener", "bridge_id",
}  # fmt: skip
IDENTITY = (
    "group_id",
    "group_instance_id",
    "group_member_id",
    "transactional_id",
    "client_rack",
)
POINT_NAMES = {"node.id": "node_id"}
RESOURCE_NAMES = {"member_id": "group_member_id"}


def json_value(value):
    member = value.WhichOneof("value")
    if member in {None, "string_value_strindex"}:
        return None
    content = getattr(value, member)
    if member == "bytes_value":
        return base64.b64encode(content).decode()
    if member == "array_value":
        return [json_value(item) for item in content.values]
    if member == "kvlist_value":
        return {item.key: json_value(item.value) for item in content.values}
    if member == "double_value" and not math.isfinite(content):
        return repr(content)
    return content


def value_text(value):
    member = value.WhichOneof("value")
    content = json_value(value)
    if content is None or isinstance(content, str):
        return content
    if member in {"array_value", "kvlist_value"}:
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    if isinstance(content, bool):
        return "true" if content else "false"
    return repr(content)


def attribute_map(attributes, names):
    return {names.get(a.key, a.key): value_text(a.value) for a in attributes}


def int32_or_none(text):
    digits = (text or "").removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(text) <= 11):
        return None
    return int(text) if -(2**31) <= int(text) < 2**31 else None


def node_of(text):
    """Return broker ID and role; Java counts coordinators down from the maximum."""
    number = int32_or_none((text or "").removeprefix("node-"))
    if number is None:
        return text, None
    if number >= 2**30:
        return str(2**31 - 1 - number), "coordinator"
    return str(number), "bootstrap" if number < 0 else "broker"


def count_or_none(number):
    return number if number <= MAX_INT64 else None


def buckets(point, side):
    if not point.HasField(side):
        return None, None
    sent = getattr(point, side)
    return sent.offset, [count_or_none(n) for n in sent.bucket_counts]


def optional(point, name):
    return getattr(point, name) if point.HasField(name) else None


NO_DISTRIBUTION = dict.fromkeys(
    (
        "count",
        "sum",
        "min",
        "max",
        "explicit_bounds",
        "bucket_counts",
        "scale",
        "zero_count",
        "zero_threshold",
        "positive_offset",
        "positive_bucket_counts",
        "negative_offset",
        "negative_bucket_counts",
        "quantiles",
    )
)


def distribution_of(kind, point):
    row = dict(NO_DISTRIBUTION, count=count_or_none(point.count))
    if kind == "summary":
        row["sum"] = point.sum
        row["quantiles"] = [
            {"quantile": q.quantile, "value": q.value} for q in point.quantile_values
        ]
        return row
    for name in ("sum", "min", "max"):
        row[name] = optional(point, name)
    if kind == "histogram":
        row["explicit_bounds"] = list(point.explicit_bounds)
        row["bucket_counts"] = [count_or_none(n) for n in point.bucket_counts]
        return row
    row["scale"] = point.scale
    row["zero_count"] = count_or_none(point.zero_count)
    row["zero_threshold"] = point.zero_threshold
    for side in ("positive", "negative"):
        offset, counts = buckets(point, side)
        row[f"{side}_offset"], row[f"{side}_bucket_counts"] = offset, counts
    return row


def has_bad_count(kind, point):
    counts = [point.count]
    if kind == "histogram":
        counts += point.bucket_counts
    if kind == "exponential_histogram":
        counts.append(point.zero_count)
        counts += point.positive.bucket_counts
        counts += point.negative.bucket_counts
    return any(count > MAX_INT64 for count in counts)


def time_or_none(nanos):
    return nanos if 0 < nanos <= MAX_INT64 else None


def point_error(kind, point, is_number):
    if max(point.time_unix_nano, point.start_time_unix_nano) > MAX_INT64:
        return "time_out_of_range"
    if not is_number and has_bad_count(kind, point):
        return "count_out_of_range"
    return None


def point_row(index, resource, scope, metric, kind, data, point):
    is_number = kind in {"gauge", "sum"}
    value = point.WhichOneof("value") if is_number else None
    attributes = attribute_map(point.attributes, POINT_NAMES)
    time = time_or_none(point.time_unix_nano)
    temporality = None
    if kind not in {"gauge", "summary"}:
        number = data.aggregation_temporality
        temporality = TEMPORALITIES.get(number, str(number))
    return {
        "point_index": index,
        "metric": metric.name,
        "description": metric.description or None,
        "unit": metric.unit or None,
        "kind": kind,
        "temporality": temporality,
        "is_monotonic": data.is_monotonic if kind == "sum" else None,
        "flags": point.flags,
        "value_double": point.as_double if value == "as_double" else None,
        "value_long": point.as_int if value == "as_int" else None,
        "distribution": None if is_number else distribution_of(kind, point),
        "time_unix_nano": time,
        "start_time_unix_nano": time_or_none(point.start_time_unix_nano),
        "time": None if time is None else time // 1000,
        "attributes": attributes,
        "topic_name": attributes.get("topic"),
        "topic_partition": int32_or_none(attributes.get("partition")),
        "node_id": node_of(attributes.get("node_id"))[0],
        **{name: resource.get(name) for name in IDENTITY},
        "resource_attributes": {
            name: text
            for name, text in resource.items()
            if name not in IDENTITY and name not in BROKER_LABELS
        },
        "scope_name": scope.name or None,
        "scope_version": scope.version or None,
        "point_error": point_error(kind, point, is_number),
        "node_role": node_of(attributes.get("node_id"))[1],
    }


def plain_points(payload):
    """Return the points of one uncompressed push; None where protobuf refuses it."""
    try:
        metrics_data = MetricsData.FromString(payload)
    except DecodeError:
        return None
    rows = []
    for resource_metrics in metrics_data.resource_metrics:
        attributes = resource_metrics.resource.attributes
        resource = attribute_map(attributes, RESOURCE_NAMES)
        for scope_metrics in resource_metrics.scope_metrics:
            for metric in scope_metrics.metrics:
                kind = metric.WhichOneof("data")
                if kind is None:
                    continue
                data = getattr(metric, kind)
                rows += [
                    point_row(
                        len(rows) + index,
                        resource,
                        scope_metrics.scope,
                        metric,
                        kind,
                        data,
                        point,
                    )
                    for index, point in enumerate(data.data_points)
                ]
    return rows
