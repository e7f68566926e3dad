"""Consumer groups and their lag, kept apart by cluster, with times that are credible."""

from pipelines.reading import groups
from tests.support.spark.metric_points import (
    counter,
    delta,
    local,
    make_points,
    point,
)

LAG = groups.LAG_MAX
FAR_S = 5 * 365 * 86_400
"""A client's clock that is five years ahead."""


def member(make, second, value, client, metric, **fields):
    return make(second, value, client, metric=metric, group_id="orders", **fields)


def test_groups_of_two_clusters_with_one_name_are_two_groups(spark):
    rows = [
        row
        for client, partitions in (("a", 10.0), ("b", 10.0), ("c", 7.0))
        for row in (
            member(point, 0, partitions, client, groups.ASSIGNED),
            member(point, 0, partitions, client, LAG),
        )
    ]
    # A franz-go member reports no metric of groups.
    other = "org.apache.kafka.consumer.connection.creation.rate"
    rows.append(point(0, 0.1, "d", metric=other, group_id="go"))
    clusters = {"a": "A", "b": "A", "c": "B", "d": "B"}
    points = make_points(spark, rows, clusters=clusters)
    names = ("cluster_id", "group_id", "members", "partitions", "lag_max")
    found = groups.select_groups(points).select(*names).collect()
    assert sorted(map(tuple, found)) == [
        ("A", "orders", 2, 20, 10),
        ("B", "go", 1, None, None),
        ("B", "orders", 1, 7, 7),
    ]


def test_lag_of_a_group_is_that_of_its_worst_partition(spark):
    # 19 partitions are up to date, and one is 1,000,000 records behind.
    rows = [
        member(point, 0, value, client, LAG, topic_name="t", topic_partition=place)
        for client, lags in (("a", [1e6] + [0.0] * 9), ("b", [0.0] * 10))
        for place, value in enumerate(lags)
    ]
    rows += [member(point, 0, 1e6, "a", LAG), member(point, 0, 0.0, "b", LAG)]
    found = groups.select_lag_over_time(make_points(spark, rows), window_s=60)
    names = ("cluster_id", "group_id", "lag")
    assert [tuple(row) for row in found.select(*names).collect()] == [
        ("c1", "orders", 1e6)
    ]


def test_rebalances_are_in_the_window_of_the_bridge_if_a_clock_is_wrong(spark):
    rows = [
        member(delta, 0, 1.0, "a", groups.REBALANCES, time=local(FAR_S)),
        # A cumulative counter that stands still is no rebalance.
        member(counter, 0, 5.0, "b", groups.REBALANCES),
        member(counter, 60, 5.0, "b", groups.REBALANCES),
    ]
    points = make_points(spark, rows)
    found = groups.select_rebalances(points, window_s=600).collect()
    assert [(row["window_start"], row["rebalances"]) for row in found] == [
        (local(0), 1.0)
    ]
