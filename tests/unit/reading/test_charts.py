"""Pictures: what is drawn, and that nothing is an empty picture rather than a fault."""

import pandas as pd
import pytest

from pipelines.reading import charts


def make_lines(names):
    times = pd.to_datetime(["2026-01-01 00:00", "2026-01-01 00:01"])
    return pd.DataFrame(
        [(name, time, 1.5) for name in names for time in times],
        columns=["client", "time", "latency_ms"],
    )


def draw_lines(frame):
    return charts.line_chart(
        frame, x="time", y="latency_ms", by="client", title="Latency", unit="ms"
    )


def test_a_line_per_name_with_unit_and_legend():
    axes = draw_lines(make_lines(["a", "b"])).axes[0]
    assert [line.get_label() for line in axes.lines] == ["a", "b"]
    assert axes.get_ylabel() == "ms"
    assert axes.get_xlabel() == "time (UTC)"
    assert [text.get_text() for text in axes.get_legend().texts] == ["a", "b"]


def test_more_lines_than_colours_are_grey_and_unnamed():
    axes = draw_lines(make_lines([f"client-{n:02}" for n in range(12)])).axes[0]
    assert len(axes.lines) == 12
    assert len(axes.get_legend().texts) == 10
    assert {line.get_color() for line in axes.lines[10:]} == {"#bbbbbb"}


def test_no_rows_give_axes_without_lines():
    assert len(draw_lines(make_lines([])).axes[0].lines) == 0


@pytest.mark.parametrize("rows", [1, 3])
def test_a_bar_per_row_the_first_on_top(rows):
    frame = pd.DataFrame({"software": list("abc")[:rows], "clients": range(rows)})
    axes = charts.bar_chart(
        frame, x="software", y="clients", title="Software", unit="clients"
    ).axes[0]
    assert len(axes.patches) == rows
    assert axes.yaxis.get_inverted()
    assert axes.get_xlabel() == "clients"


def draw_grid(rows):
    frame = pd.DataFrame(rows, columns=["config", "broker", "value"])
    return charts.grid_chart(
        frame, x="broker", y="config", value="value", title="Drift", unit="broker"
    ).axes[0]


def test_a_cell_of_a_grid_has_the_colour_of_its_value_within_its_line():
    axes = draw_grid(
        [("a", 1, "x"), ("a", 2, "long" * 9), ("a", 3, "x"), ("b", 1, "y")]
    )
    colours = [patch.get_facecolor() for patch in axes.patches]
    assert colours[0] == colours[2] == colours[3] != colours[1]
    assert [text.get_text() for text in axes.texts] == [
        "x",
        "longlonglonglongl…",
        "x",
        "y",
    ]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "3"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]


def test_a_grid_without_rows_is_empty():
    assert len(draw_grid([]).patches) == 0
