"""Details of chosen clients: lines by the semantics, configurations in force."""

from datetime import timedelta

from pipelines.reading.client_details import select_current_configs, select_lines
from tests.support.spark.metric_points import START, delta, make_points, point

_CONSUMER = "org.apache.kafka.consumer."
LAG = f"{_CONSUMER}fetch.manager.records.lag.max"
CONSUMED = f"{_CONSUMER}fetch.manager.records.consumed.rate"
REBALANCES = f"{_CONSUMER}coordinator.rebalance.total"
_WHO = (
    "client_instance_id STRING, cluster_id STRING, principal STRING, "
    "client_id STRING, client_source_address STRING, client_type STRING"
)
_INSTANCES = (
    f"row INT, {_WHO}, state STRING, known_by STRING, last_seen TIMESTAMP, "
    "push_interval_ms INT"
)
_ENTRIES = (
    f"{_WHO}, config_key STRING, config_value STRING, source STRING, status STRING, "
    "is_default BOOLEAN"
)


def make_instances(spark, *rows):
    return spark.createDataFrame([*rows], _INSTANCES)


def instance(
    row, name, state="active", interval_s=60, known_by="telemetry", seen=START
):
    who = (name, "c1", "User:a", f"id-{row}", "10.0.0.7", "producer")
    return (row, *who, state, known_by, seen, interval_s * 1_000)


def lines(spark, rows, instances, interval_s=60):
    found = select_lines(
        make_points(spark, rows, interval_s=interval_s),
        make_instances(spark, *instances),
        start=START,
        step_ms=60_000,
    )
    return {
        (row["row"], row["metric"], row["step"]): row["amount"]
        if row["kind"] == "sum"
        else row["value"]
        for row in found.collect()
    }


def test_select_lines_lag_of_one_partition_is_lag_of_client(spark):
    rows = [
        point(5, 1_000_000.0, metric=LAG),
        *(
            point(5, 1_000_000.0 * (part == 0), metric=LAG,
                topic_name="t", topic_partition=part)
            for part in range(20)
        ),
        point(5, 100.0, metric=CONSUMED),
        point(5, 100.0, metric=CONSUMED, topic_name="t"),
    ]  # fmt: skip
    assert lines(spark, rows, [instance(0, "a")]) == {
        (0, LAG, 0): 1_000_000.0,
        (0, CONSUMED, 0): 100.0,
    }


def test_select_lines_rate_of_four_instances_is_their_sum(spark):
    names = ("a", "b", "c", "d")
    rows = [point(5, 100.0, name, metric=CONSUMED) for name in names]
    told = [instance(0, name) for name in names]
    assert lines(spark, rows, told) == {(0, CONSUMED, 0): 400.0}


def test_select_lines_client_with_clock_ahead_is_in_step_of_its_push(spark):
    ahead = START + timedelta(days=5 * 365)
    rows = [point(65, 7.0, metric=LAG, time=ahead)]
    assert lines(spark, rows, [instance(0, "a")]) == {(0, LAG, 1): 7.0}


def test_select_lines_counter_tells_amount_of_step(spark):
    rows = [
        delta(5, 2.0, metric=REBALANCES, span_s=60),
        delta(65, 3.0, metric=REBALANCES, span_s=60),
    ]
    assert lines(spark, rows, [instance(3, "a")]) == {
        (3, REBALANCES, 0): 2.0,
        (3, REBALANCES, 1): 3.0,
    }


def test_select_lines_rare_pushes_of_one_client_leave_steps_of_others(spark):
    rows = [point(second, 1.0, "a", metric=LAG) for second in (5, 65, 125)]
    told = [instance(0, "a"), instance(1, "b", interval_s=3_600)]
    steps = [step for row, _, step in lines(spark, rows, told) if row == 0]
    assert sorted(steps) == [0, 1, 2]


def entry(holder, value, row=0, source="pushed"):
    who = (holder, "c1", "User:a", f"id-{row}", "10.0.0.7", "producer")
    return (*who, "acks", value, source, "overridden", False)


def current(spark, entries, *instances):
    frame = spark.createDataFrame([*entries], _ENTRIES)
    found = select_current_configs(frame, make_instances(spark, *instances))
    columns = ("row", "config_value", "instances")
    return [tuple(row) for row in found.select(*columns).collect()]


def test_select_current_configs_mended_client_has_new_value_only(spark):
    entries = [entry("old", "1"), entry("new", "all"), entry("newer", "all")]
    told = [instance(0, "old", "terminated"), instance(0, "new"), instance(0, "newer")]
    assert current(spark, entries, *told) == [(0, "all", 2)]


def test_select_current_configs_ended_client_has_its_last_values(spark):
    entries = [entry("old", "1"), entry("last", "all")]
    last = instance(0, "last", "idle", seen=START + timedelta(hours=1))
    assert current(spark, entries, instance(0, "old", "expired"), last) == [
        (0, "all", 1)
    ]


def test_select_current_configs_client_of_proxy_has_values_seen(spark):
    entries = [entry(None, "0", source="wire"), entry(None, "1", 1, "wire")]
    assert current(spark, entries, instance(0, None, known_by="wire")) == [(0, "0", 1)]
