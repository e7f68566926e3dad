"""Quotas of two clusters, and lines whose last step has not ended."""

import dataclasses
from datetime import timedelta

from pipelines.report.asked import Asked
from pipelines.report.detail_rows import leave_partial_step
from pipelines.report.fleet import Line, Part
from pipelines.report.pictures import draw
from tests.support.report.fleets import MADE_AT, make_fleet


def test_draw_equal_quotas_of_two_clusters_are_two_bars():
    names = ("cluster", "quota-id", "quota key", "used (%)")
    rows = [
        (cluster, "shop:", "producer_byte_rate", used)
        for cluster, used in (("Amsterdam", 2.4), ("Barcelona", 0.1))
    ]
    fleet = dataclasses.replace(make_fleet(), limits=Part(names=names, rows=rows))
    datasets = draw(fleet, {})["limits"]["datasets"].values()
    assert [one["quota"] for rows in datasets for one in rows if "quota" in one] == [
        "shop: Amsterdam producer_byte_rate",
        "shop: Barcelona producer_byte_rate",
    ]


def test_leave_partial_step_sum_has_whole_steps_only():
    axis = make_fleet().axis
    line = Line(
        name="rebalance.total",
        unit="rebalances",
        points=[(46, 18.0), (47, 3.0)],
        is_per_step=True,
    )
    asked = Asked(
        spark=None,
        settings=None,
        names=set(),
        made_at=MADE_AT,
        since=axis.start,
        axis=axis,
        newest_push=axis.end - timedelta(minutes=20),
        push_interval_ms=300_000,
        principals=(),
    )
    assert leave_partial_step(asked, line).points == [(46, 18.0)]
    ended = dataclasses.replace(asked, newest_push=axis.end)
    assert leave_partial_step(ended, line).points == line.points
    gauge = dataclasses.replace(line, is_per_step=False)
    assert leave_partial_step(asked, gauge).points == line.points
