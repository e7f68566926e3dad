"""The kernel that turns conf/metric_semantics.csv into columns, and the view of it."""

import shlex
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading import views
from pipelines.reading.semantics import (
    OVER_INSTANCES,
    OVER_NODES,
    OVER_PARTS,
    OVER_TIME,
    combination,
    combine,
    is_never,
    is_quantity,
    unit_of_point,
    with_weighing_metrics,
    with_weights,
)
from pipelines.settings import load_settings
from pipelines.settings.metric_semantics import load_metric_semantics, semantics_of
from tests.support.documents import find_block

P = "org.apache.kafka."
START = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = (
    "client_instance_id STRING, push_id STRING, metric STRING, kind STRING, "
    "node_id INT, node_role STRING, topic_name STRING, topic_partition INT, "
    "value DOUBLE, at TIMESTAMP, unit STRING"
)
DIMENSIONS = (OVER_NODES, OVER_PARTS, OVER_INSTANCES, OVER_TIME)


def make_points(spark, *rows):
    """Return points; each row is metric, kind, value and fields that differ."""
    known = dict.fromkeys(part.split(" ")[0] for part in SCHEMA.split(", "))
    points = [
        known
        | {"client_instance_id": "a", "push_id": "p", "at": START}
        | {"metric": P + metric, "kind": kind, "value": value}
        | fields
        for metric, kind, value, fields in rows
    ]
    return spark.createDataFrame([tuple(one.values()) for one in points], SCHEMA)


def test_combination_of_each_metric_is_that_of_its_row_or_default(spark):
    rows = [(one.metric.removeprefix(P), one.kind) for one in load_metric_semantics()]
    rows += [(f"x.{end}", "gauge") for end in ("max", "min", "avg", "ratio", "rate")]
    rows += [("x.total", "gauge"), ("x.depth", "gauge"), ("x.max", "sum")]
    rows += [("x", "histogram"), ("producer.record.send.rate", "sum")]
    points = make_points(spark, *((*row, 1.0, {}) for row in rows))
    told = points.select("metric", "kind", *map(combination, DIMENSIONS)).collect()
    assert len(told) == len(rows)
    for metric, kind, *words in told:
        one = semantics_of(metric, kind)
        assert words == [getattr(one, name) for name in DIMENSIONS], metric


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        # 1, 5 and 3; the newest is 5, and null is no value.
        ("x.max", 5.0),
        ("x.min", 1.0),
        ("x.avg", 3.0),
        ("x.rate", 9.0),
        ("consumer.coordinator.assigned.partitions", 9.0),
        ("app.info.start.time.ms", 5.0),
        # Weights 1, 2 and 1.
        ("producer.request.latency.avg", 3.5),
    ],
)
def test_combine_of_values_follows_the_word(spark, metric, expected):
    numbers = [(1.0, 0, 1.0), (5.0, 2, 2.0), (3.0, 1, 1.0), (None, 3, 9.0)]
    points = make_points(
        spark,
        *(
            (metric, "gauge", value, {"at": START + timedelta(seconds=second)})
            for value, second, _ in numbers
        ),
    ).withColumn(
        "weight",
        F.when(F.col("value") == 5, 2.0)
        .when(F.col("value").isNull(), 9.0)
        .otherwise(1),
    )
    word = combination(OVER_INSTANCES)
    value = combine(word, F.col("value"), at=F.col("at"), weight=F.col("weight"))
    assert points.groupBy("metric", "kind").agg(value).first()[2] == expected


def test_combine_without_all_weights_is_the_plain_mean(spark):
    latency = "producer.request.latency.avg"
    points = make_points(
        spark, (latency, "gauge", 2.0, {}), (latency, "gauge", 4.0, {})
    )
    word = combination(OVER_INSTANCES)
    for weight in (F.when(F.col("value") == 2, 9.0), F.lit(0.0), F.lit(None)):
        value = combine(word, F.col("value"), at=F.col("at"), weight=weight)
        assert points.groupBy("metric", "kind").agg(value).first()[2] == 3.0


def test_with_weights_finds_the_weight_of_the_same_push_and_node(spark):
    latency, rate = "producer.node.request.latency.avg", "producer.node.request.rate"
    first = {"node_id": 1, "node_role": "broker"}
    second = {"node_id": 1, "node_role": "coordinator"}
    points = make_points(
        spark,
        (latency, "gauge", 900.0, first),
        (rate, "gauge", 1.0, first),
        (rate, "gauge", 7.0, first | {"push_id": "q"}),
        (rate, "gauge", 8.0, first | {"client_instance_id": "b"}),
        (latency, "gauge", 3.0, second),
        (rate, "gauge", 99.0, second),
        (latency, "gauge", 5.0, {"node_id": 2, "node_role": "broker"}),
        ("producer.request.latency.avg", "gauge", 10.0, {}),
        ("producer.request.rate", "gauge", 4.0, {}),
    )
    told = with_weights(points).where("metric LIKE '%.avg'").select("value", "weight")
    assert sorted(map(tuple, told.collect())) == [
        (3.0, 99.0),
        (5.0, None),
        (10.0, 4.0),
        (900.0, 1.0),
    ]


def test_with_weighing_metrics_adds_the_weights():
    latency = f"{P}producer.request.latency.avg"
    assert with_weighing_metrics([latency, "x"]) == {
        latency,
        "x",
        f"{P}producer.request.rate",
    }


def test_units_clocks_and_ages_are_told_by_column(spark):
    points = make_points(
        spark,
        ("producer.request.latency.avg", "gauge", 1.0, {"unit": ""}),
        ("producer.record.send.total", "sum", 1.0, {}),
        ("x", "sum", 1.0, {}),
        ("x.sent", "sum", 1.0, {"unit": "By"}),
        ("app.info.start.time.ms", "gauge", 1.7e12, {}),
        ("consumer.last.poll.seconds.ago", "gauge", -1.0, {}),
        ("consumer.last.poll.seconds.ago", "gauge", 0.0, {}),
        ("consumer.fetch.manager.records.lag", "gauge", -1.0, {}),
    )
    told = points.select(unit_of_point(), is_quantity(), is_never(F.col("value")))
    assert [tuple(row) for row in told.collect()] == [
        ("ms", True, False),
        ("records/s", True, False),
        ("1/s", True, False),
        ("By/s", True, False),
        ("timestamp ms", False, False),
        ("s", True, True),
        ("s", True, False),
        ("records", True, False),
    ]


def test_view_metric_semantics_has_a_row_of_each_metric(spark, tmp_path):
    settings = load_settings("base", [f"tables.root_path={tmp_path}"])
    names = views.find_names("select * from metric_semantics")
    assert views.register(spark, settings, names) == ["metric_semantics"]
    told = {row["metric"]: row for row in spark.table("metric_semantics").collect()}
    assert told.keys() == {one.metric for one in load_metric_semantics()}
    lag = told[f"{P}consumer.fetch.manager.records.lag.max"]
    assert (lag["levels"], lag["over_parts"]) == (["client", "partition"], "max")
    latency = told[f"{P}producer.node.request.latency.avg"]
    assert latency["weight"] == f"{P}producer.node.request.rate"
    assert (latency["franz_go"], latency["usable_from"]) == ("zero", "franz-go 1.21.4")
    (command,) = find_block("docs/guide/metrics.md", "metric-semantics").commands
    lags = {row["metric"]: row for row in spark.sql(shlex.split(command)[-1]).collect()}
    assert lags[lag["metric"]]["over_instances"] == "max"
