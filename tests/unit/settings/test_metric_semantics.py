"""conf/metric_semantics.csv against captured pushes, and files that are wrong."""

import csv
from collections import defaultdict

import pyarrow as pa
import pytest

from pipelines.errors import InvalidSetting
from pipelines.settings import CONF_PATH
from pipelines.settings.metric_semantics import (
    FILE_NAME,
    LABELS,
    PREFIX,
    REQUIRED,
    load_metric_semantics,
    semantics_of,
    short_name,
)
from tests.unit.udfs.otlp.random_pushes import captures
from udfs.otlp.metrics import decode_pushes

GOLDEN = CONF_PATH.parent / "tests" / "golden" / "telemetry"
FRANZ_GO_NAMES = {
    *(f"producer.connection.creation.{end}" for end in ("rate", "total")),
    *(f"consumer.connection.creation.{end}" for end in ("rate", "total")),
    *(f"producer.node.request.latency.{end}" for end in ("avg", "max")),
    *(f"consumer.node.request.latency.{end}" for end in ("avg", "max")),
    *(f"producer.produce.throttle.time.{end}" for end in ("avg", "max")),
    *(f"consumer.coordinator.commit.latency.{end}" for end in ("avg", "max")),
}
"""All that franz-go 1.21.4 pushes, by pkg/kgo/metrics_714.go."""


def decode_captures():
    paths, codec_ids = zip(*captures(), strict=True)
    points = decode_pushes(
        pa.array([path.read_bytes() for path in paths], pa.binary()),
        pa.array(codec_ids, pa.int32()),
        max_decompressed_bytes=1 << 20,
    ).points
    return points.to_pylist()


def level_of(point):
    for level in ("partition", "topic", "node"):
        if point[LABELS[level]] is not None:
            return level
    return "client"


@pytest.fixture(scope="module")
def seen():
    """Metric to the kinds and levels at which captured clients push it."""
    found = defaultdict(set)
    for point in decode_captures():
        found[point["metric"]].add((point["kind"], level_of(point)))
    assert len(found) > 200
    return found


@pytest.fixture(scope="module")
def listed():
    """Rows of the captures' lists: client family, name, kind, attributes."""
    found = []
    for path in sorted(GOLDEN.glob("*_metrics.csv")):
        with path.open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        found += [(path.name.split("_")[0], row) for row in rows]
    assert len(found) > 200
    return found


@pytest.fixture(scope="module")
def rows():
    return {one.metric: one for one in load_metric_semantics()}


def test_every_captured_metric_has_a_row(rows, seen, listed):
    captured = {*seen, *(row["metric"] for _, row in listed)}
    assert sorted(captured - rows.keys()) == []


def test_rows_agree_with_the_captures_on_kind_and_levels(rows, seen, listed):
    for metric, found in seen.items():
        row = rows[metric]
        assert {kind for kind, _ in found} == {row.kind}, metric
        assert {level for _, level in found} == {*row.levels}, metric
    for _, one in listed:
        row = rows[one["metric"]]
        assert one["otlp_type"] == row.kind, row.metric
        level = next(
            (
                level
                for key, level in (
                    ("partition", "partition"),
                    ("topic", "topic"),
                    ("node", "node"),
                )
                if key in one["attributes"]
            ),
            "client",
        )
        assert level in row.levels, row.metric


def test_rows_agree_with_the_captures_on_families(rows, listed):
    by_librdkafka = {row["metric"] for family, row in listed if family != "java"}
    by_java = {row["metric"] for family, row in listed if family == "java"}
    for metric in by_java:
        assert rows[metric].java != "never", metric
        told = rows[metric].librdkafka != "never"
        assert told == (metric in by_librdkafka), metric
    of_franz_go = {one.metric for one in rows.values() if one.franz_go != "never"}
    assert of_franz_go == {f"{PREFIX}{name}" for name in FRANZ_GO_NAMES}
    assert {rows[one].franz_go for one in of_franz_go} == {"zero"}


def test_rows_of_the_share_consumer_are_the_17_of_librdkafka(rows):
    of_librdkafka = [
        one.metric
        for one in rows.values()
        if one.client_type == "share_consumer" and one.librdkafka != "never"
    ]
    assert len(of_librdkafka) == 17
    assert f"{PREFIX}consumer.share.poll.idle.ratio.avg" in of_librdkafka


def test_franz_go_averages_are_usable_from_the_release_that_mended_them(rows):
    wrong = {
        f"{PREFIX}{name}" for name in FRANZ_GO_NAMES if name.endswith((".avg", ".rate"))
    }
    usable = {
        one.metric for one in rows.values() if one.usable_from == ("franz-go", "1.21.4")
    }
    assert usable == wrong


def test_the_proposal_has_8_metrics_of_producers_and_13_of_consumers(rows):
    asked = [one for one in rows.values() if one.requirement]
    types = [one.client_type for one in asked]
    assert {name: types.count(name) for name in types} == {
        "producer": 8,
        "consumer": 13,
    }
    required = [one for one in asked if one.requirement == REQUIRED]
    assert {
        one.metric.removeprefix(f"{PREFIX}{one.client_type}.") for one in required
    } == {
        "connection.creation.total",
        "node.request.latency.avg",
        "node.request.latency.max",
    }
    assert len(required) == 6
    for one in asked:
        assert (one.label == "node_id") == (".node." in one.metric)
        assert (one.kind == "sum") == one.metric.endswith(".total")


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("consumer.fetch.manager.records.lag.max", "gauge", ("max",) * 4),
        ("consumer.fetch.manager.records.lag", "gauge", ("max", "max", "max", "last")),
        ("producer.outgoing.byte.rate", "gauge", ("sum", "sum", "sum", "mean")),
        ("producer.record.send.total", "sum", ("sum",) * 4),
        (
            "producer.request.latency.avg",
            "gauge",
            ("mean", "mean", "weighted mean", "mean"),
        ),
        (
            "producer.node.request.latency.avg",
            "gauge",
            ("weighted mean", "mean", "weighted mean", "mean"),
        ),
        ("producer.node.request.latency.max", "gauge", ("max",) * 4),
        (
            "consumer.coordinator.assigned.partitions",
            "gauge",
            ("sum", "sum", "sum", "last"),
        ),
        ("producer.connection.count", "gauge", ("sum", "sum", "sum", "last")),
        ("consumer.poll.idle.ratio.avg", "gauge", ("mean",) * 4),
        ("producer.buffer.available.bytes", "gauge", ("min",) * 4),
        ("no.such.latency.max", "gauge", ("max",) * 4),
        ("no.such.value.min", "gauge", ("min",) * 4),
        ("no.such.size.avg", "gauge", ("mean",) * 4),
        ("no.such.ratio", "gauge", ("mean",) * 4),
        ("no.such.rate", "gauge", ("sum", "sum", "sum", "mean")),
        ("no.such.total", "gauge", ("sum", "sum", "sum", "last")),
        ("no.such.depth", "gauge", ("max", "max", "max", "last")),
        ("no.such.avg", "sum", ("sum",) * 4),
        ("no.such", "histogram", ("sum",) * 4),
    ],
)
def test_semantics_of_a_metric_says_how_its_values_combine(name, kind, expected):
    one = semantics_of(f"{PREFIX}{name}", kind)
    assert (one.over_nodes, one.over_parts, one.over_instances, one.over_time) == (
        expected
    )


def test_semantics_of_a_latency_names_the_weight_of_its_level():
    weights = {
        level: semantics_of(f"{PREFIX}producer.{level}request.latency.avg", "gauge")
        for level in ("", "node.")
    }
    assert weights[""].weight == f"{PREFIX}producer.request.rate"
    assert weights["node."].weight == f"{PREFIX}producer.node.request.rate"


def test_semantics_of_a_metric_with_another_kind_lends_unit_and_description():
    one = semantics_of(f"{PREFIX}producer.record.send.rate", "sum")
    assert (one.unit, one.over_time, one.requirement) == ("records/s", "sum", None)


def test_absence_of_an_unknown_family_or_metric_says_nothing():
    known = semantics_of(f"{PREFIX}producer.produce.throttle.time.avg", "gauge")
    assert known.absence("franz-go") == "zero"
    assert known.absence("librdkafka") == "unknown"
    assert known.absence("sarama") == "unknown"
    assert semantics_of("no.such", "gauge").absence("franz-go") == "unknown"
    only_java = semantics_of(f"{PREFIX}producer.record.error.total", "sum")
    assert only_java.absence("librdkafka") == "never"


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("producer.request.latency.avg", "ms"),
        ("producer.outgoing.byte.rate", "bytes/s"),
        ("producer.record.send.rate", "records/s"),
        ("producer.compression.rate.avg", "ratio"),
        ("producer.io.time.ns.avg", "ns"),
        ("consumer.coordinator.rebalance.rate.per.hour", "rebalances/h"),
        ("consumer.last.poll.seconds.ago", "s"),
        ("consumer.coordinator.assigned.partitions", "partitions"),
        ("app.info.start.time.ms", "timestamp ms"),
        ("no.such.latency.max", "ms"),
        ("no.such.byte.rate", "bytes/s"),
        ("no.such", "number"),
    ],
)
def test_semantics_of_a_gauge_has_the_unit_of_its_row_or_name(name, unit):
    assert semantics_of(f"{PREFIX}{name}", "gauge").unit == unit


def test_clocks_and_ids_are_no_quantities(rows):
    assert {one.metric for one in rows.values() if not one.is_quantity} == {
        f"{PREFIX}app.info.start.time.ms",
        f"{PREFIX}consumer.fetch.manager.preferred.read.replica",
    }


def test_short_name_omits_the_common_prefix():
    assert short_name("org.apache.kafka.producer.x") == "producer.x"


HEAD = (
    "metric,client_type,unit,kind,levels,over_nodes,over_parts,over_instances,"
    "over_time,weight,java,librdkafka,franz_go,requirement,usable_from,description\n"
)
GOOD = "a.b,producer,ms,gauge,client,max,max,max,max,,zero,never,unknown,,,Some text\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name\nx\n", "has other columns"),
        (HEAD + GOOD.replace("gauge", "counter"), "line 2: kind 'counter'"),
        (HEAD + GOOD.replace("client", "broker"), "line 2: levels 'broker'"),
        (HEAD + GOOD.replace("zero", "nothing"), "line 2: java 'nothing'"),
        (HEAD + GOOD.replace("max", "median"), "line 2: over_nodes 'median'"),
        (HEAD + GOOD.replace(",,,Some", ",must,,Some"), "line 2: requirement 'must'"),
        (
            HEAD + GOOD.replace(",,,Some", ",,kgo:1.2,Some"),
            "line 2: usable_from 'kgo:1.2'",
        ),
        (HEAD + GOOD.replace("max", "weighted mean"), "line 2: a weighted mean"),
        (HEAD + GOOD.replace(",,zero", ",a.c,zero"), "line 2: a weighted mean"),
        (
            HEAD + GOOD.replace(",,zero", ",a.c,zero").replace("max", "weighted mean"),
            "line 2: weight has no row",
        ),
        (HEAD + GOOD + GOOD, "line 3: a.b has a row already"),
    ],
)
def test_load_metric_semantics_of_a_wrong_line_names_it(tmp_path, text, reason):
    (tmp_path / FILE_NAME).write_text(text, encoding="utf-8")
    with pytest.raises(InvalidSetting, match=reason):
        load_metric_semantics(tmp_path)


def test_load_metric_semantics_without_a_file_names_it(tmp_path):
    with pytest.raises(InvalidSetting, match=rf"conf/{FILE_NAME}: cannot be read"):
        load_metric_semantics(tmp_path)
