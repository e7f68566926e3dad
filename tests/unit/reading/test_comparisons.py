"""Before and after: how large and how sure, against what is known of both."""

import math

import numpy as np
import pandas as pd
import pytest

from pipelines.reading.comparisons import (
    LIKELY,
    OPEN,
    SURE,
    TOO_FEW,
    compare,
    compare_metrics,
    false_discoveries,
    say_if_too_few,
    select_certain,
)


def normal(seed, mean, count, spread=2.0):
    return np.random.default_rng(seed).normal(mean, spread, count)


def test_the_test_says_what_scipy_says():
    stats = pytest.importorskip("scipy.stats")
    for seed, shift in enumerate((0.0, 0.4, 1.0, 3.0)):
        before = normal(seed, 10, 30).round(1)  # with ties
        after = normal(seed + 50, 10 + shift, 21).round(1)
        said = stats.mannwhitneyu(after, before, method="asymptotic")
        found = compare(before, after)
        assert found.p_value == pytest.approx(said.pvalue)
        assert found.share_greater * 30 * 21 == pytest.approx(said.statistic)


def test_a_change_is_the_shift_and_lies_in_its_interval():
    before = normal(1, 10, 40)
    found = compare(before, before + 3)
    assert found.change == pytest.approx(3)
    assert found.change_low <= 3 <= found.change_high
    mirrored = compare(before + 3, before)
    assert mirrored.change == pytest.approx(-found.change)
    assert mirrored.change_low == pytest.approx(-found.change_high)


def test_the_interval_holds_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(400):
        found = compare(rng.normal(0, 1, 12), rng.normal(1, 1, 9))
        held += found.change_low <= 1 <= found.change_high
    assert 0.93 <= held / 400 <= 0.98


def test_where_nothing_differs_nothing_is_found():
    same = np.ones(6)
    found = compare(same, same)
    assert (found.p_value, found.change, found.share_greater) == (1.0, 0.0, 0.5)


def test_shares_of_false_discoveries_are_those_of_the_procedure():
    # As R's p.adjust(c(0.01, 0.04, 0.03, 0.005), "BH") has it.
    assert false_discoveries([0.01, 0.04, 0.03, 0.005]) == pytest.approx(
        [0.02, 0.04, 0.04, 0.02]
    )
    assert false_discoveries([]) == []


def samples(metric, before, after, kind="gauge"):
    return pd.DataFrame(
        [
            {"metric": metric, "kind": kind, "unit": "ms", "side": side, "value": value}
            for side, values in (("before", before), ("after", after))
            for value in values
        ]
    )


def test_metrics_are_told_by_how_sure_they_are():
    metrics = {
        "a.request.latency.avg": (normal(1, 10, 30), normal(2, 14, 30)),
        "b.batch.size.avg": (normal(3, 10, 30), normal(4, 11.6, 30)),
        "c.same": (normal(5, 10, 30), normal(6, 10, 30)),
        "d.few": ([1.0, 2.0], [3.0]),
        "e.zero.rate": (np.zeros(20), np.arange(20.0)),
        "f.constant": (np.ones(9), np.ones(9)),
        "g.new": ([1.0, 2.0, 3.0], []),
    }
    table = compare_metrics(
        pd.concat([samples(name, *sides) for name, sides in metrics.items()])
    ).set_index("metric")
    assert list(table.index)[-1] == "d.few"
    assert table["how_sure"].to_dict() == {
        "a.request.latency.avg": SURE,
        "b.batch.size.avg": LIKELY,
        "c.same": OPEN,
        "d.few": TOO_FEW,
        "e.zero.rate": SURE,
    }
    first = table.loc["a.request.latency.avg"]
    assert first["percent_low"] < first["change_percent"] < first["percent_high"]
    assert first["unit"] == "ms"
    assert math.isnan(table.loc["d.few", "p_value"])
    assert math.isnan(table.loc["e.zero.rate", "change_percent"])
    shown = select_certain(table.reset_index())
    assert set(shown["metric"]) == {"a.request.latency.avg", "b.batch.size.avg"}
    assert say_if_too_few(table) == ""


def test_change_of_a_count_is_never_below_minus_100_percent():
    # Differences may be larger than the median before.
    table = compare_metrics(
        samples("a.records", [1.0] * 6 + [100.0] * 4, [0.0] * 10)
    ).set_index("metric")
    found = table.loc["a.records"]
    assert found["change_percent"] == -100
    assert found["percent_low"] == -100
    spread = compare_metrics(samples("a.net", [-10.0, 1.0, 9.0] * 4, [-90.0] * 12))
    assert spread["percent_low"].iloc[0] < -100


def test_a_picture_of_what_was_not_tested_says_why_it_is_empty():
    few = compare_metrics(samples("a.rate", [1.0, 2.0], [3.0, 4.0]))
    assert select_certain(few).empty
    assert say_if_too_few(few) == ": under 5 numbers a side, each 5 min of a client"


def test_no_points_are_an_empty_table():
    empty = samples("a", [], [])
    columns = ["metric", "kind", "unit", "side", "value"]
    table = compare_metrics(empty.reindex(columns=columns))
    assert table.empty
    assert select_certain(table).empty
    assert say_if_too_few(table) == ""
