"""Pictures: what is drawn, and that nothing is an empty picture rather than a fault."""

import io

import pandas as pd
import pytest
from matplotlib.text import Text

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
    assert {line.get_label() for line in axes.lines} == {"a", "b"}
    assert axes.get_ylabel() == "ms"
    assert axes.get_xlabel() == "time (UTC)"
    assert [text.get_text() for text in axes.get_legend().texts] == ["a", "b"]


def test_more_lines_than_colours_are_grey_and_unnamed():
    axes = draw_lines(make_lines([f"client-{n:02}" for n in range(12)])).axes[0]
    assert len(axes.lines) == 12
    named = [text.get_text() for text in axes.get_legend().texts]
    assert len(named) == 11
    assert named[-1] == "2 others"
    greys = [line for line in axes.lines if line.get_color() == "#bbbbbb"]
    assert len(greys) == 2


def test_the_highest_lines_have_colours():
    frame = make_lines([f"client-{n:02}" for n in range(12)])
    frame.loc[frame["client"] == "client-11", "latency_ms"] = 9.0
    axes = draw_lines(frame).axes[0]
    assert axes.get_legend().texts[0].get_text() == "client-11"


def test_no_rows_give_axes_without_lines():
    axes = draw_lines(make_lines([])).axes[0]
    assert len(axes.lines) == 0
    assert axes.texts[0].get_text() == "nothing to show"


@pytest.mark.parametrize("rows", [1, 3])
def test_a_bar_per_row_the_first_on_top(rows):
    frame = pd.DataFrame({"software": list("abc")[:rows], "clients": range(rows)})
    axes = charts.bar_chart(
        frame,
        x="software",
        y="clients",
        title="Software",
        unit="clients",
        what="software",
    ).axes[0]
    assert len(axes.patches) == rows
    assert axes.yaxis.get_inverted()
    assert axes.get_xlabel() == "clients"
    assert axes.get_ylabel() == "software"


def draw_bars(count, **options):
    frame = pd.DataFrame({"name": [f"n{n:02}" for n in range(count)], "size": 2})
    return charts.bar_chart(
        frame, x="name", y="size", title="Sizes", unit="bytes", what="name", **options
    ).axes[0]


def test_what_is_beyond_the_first_ten_bars_is_one_or_is_left_out():
    axes = draw_bars(14)
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [*(f"n{n:02}" for n in range(9)), "5 others"]
    assert axes.patches[-1].get_width() == 10
    axes = draw_bars(14, adds_up=False)
    assert len(axes.patches) == 10
    assert axes.get_title(loc="left") == "Sizes: the first 10 of 14"


def test_parts_of_a_bar_are_one_behind_the_other():
    rows = [("a", "live", 3), ("a", "silent", 1), ("b", "live", 2)]
    frame = pd.DataFrame(rows, columns=["name", "state", "clients"])
    axes = charts.bar_chart(
        frame, x="name", y="clients", by="state", title="t", unit="u", what="w"
    ).axes[0]
    parts = [(one.get_x(), one.get_width()) for one in axes.patches]
    assert parts == [(0, 3), (0, 2), (3, 1), (2, 0)]
    assert [one.get_text() for one in axes.get_legend().texts] == ["live", "silent"]
    assert [text.get_text() for text in axes.texts] == ["4", "2"]


def test_columns_are_as_wide_as_their_window_and_add_up():
    rows = [("2026-01-01 00:00", "a", 3), ("2026-01-01 00:00", "b", 1)]
    rows += [("2026-01-01 00:01", "a", 2)]
    frame = pd.DataFrame(rows, columns=["at", "group", "changes"])
    frame["at"] = pd.to_datetime(frame["at"])
    axes = charts.column_chart(
        frame, x="at", y="changes", by="group", window_s=60, title="t", unit="u"
    ).axes[0]
    parts = [(one.get_y(), one.get_height()) for one in axes.patches]
    assert parts == [(0, 3), (0, 2), (3, 1), (2, 0)]
    assert axes.patches[0].get_width() == pytest.approx(54 / 86_400)
    assert axes.get_ylabel() == "u"


def test_one_column_alone_is_seen_whole():
    rows = {"at": pd.to_datetime(["2026-01-01"] * 2), "g": ["a", "b"], "n": [2, 3]}
    axes = charts.column_chart(
        pd.DataFrame(rows), x="at", y="n", by="g", window_s=86_400, title="t", unit="u"
    ).axes[0]
    column, _ = axes.patches
    low, high = axes.get_xlim()
    assert low < column.get_x() < column.get_x() + column.get_width() < high


def test_panels_share_time_and_marks():
    frame = make_lines(["a", "b"]).assign(panel="latency, ms")
    frame = pd.concat([frame, frame.assign(panel="sent, bytes/s")])
    marks = pd.DataFrame({"at": frame["time"][:1], "what": "rebalanced"})
    figure = charts.panel_chart(
        frame,
        x="time",
        y="latency_ms",
        by="client",
        panel="panel",
        title="t",
        marks=marks,
    )
    labels = [axes.get_ylabel().replace("\n", " ") for axes in figure.axes]
    assert labels == ["latency, ms", "sent, bytes/s"]
    assert figure.axes[-1].get_xlabel() == "time (UTC)"
    legend = [text.get_text() for text in figure.axes[0].get_legend().texts]
    assert sorted(legend) == ["a", "b", "rebalanced"]


def test_changes_are_marks_with_intervals_around_zero():
    rows = [("latency", 12.0, 8.0, 15.0), ("batch", -3.0, -5.0, -1.0)]
    frame = pd.DataFrame(rows, columns=["metric", "by", "low", "high"])
    axes = charts.change_chart(
        frame, x="by", low="low", high="high", y="metric", title="t", unit="%", what="m"
    ).axes[0]
    lines, marks = axes.collections
    assert [tuple(one[:, 0]) for one in lines.get_segments()] == [(8, 15), (-5, -1)]
    assert marks.get_offsets()[:, 0].tolist() == [12, -3]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]


def draw_grid(rows, base=None):
    frame = pd.DataFrame(rows, columns=["config", "broker", "value"])
    return charts.grid_chart(
        frame,
        x="broker",
        y="config",
        value="value",
        title="Drift",
        unit="broker",
        what="config",
        base=base,
    ).axes[0]


def test_a_cell_of_a_grid_has_the_colour_of_its_value_within_its_line():
    axes = draw_grid(
        [("a", 1, "x"), ("a", 2, "start" + "long" * 9), ("a", 3, "x"), ("b", 1, "y")]
    )
    colours = [patch.get_facecolor() for patch in axes.patches]
    assert colours[0] == colours[2] == colours[3] != colours[1]
    assert [text.get_text() for text in axes.texts] == [
        "x",
        "startlongl…glonglong",
        "x",
        "y",
    ]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "3"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]


def test_the_base_of_a_grid_is_light_and_first():
    rows = [("k", "app", "1"), ("k", "usual", "all"), ("k", "other", "1")]
    axes = draw_grid(rows, base="usual")
    assert [one.get_text() for one in axes.get_xticklabels()] == [
        "usual",
        "app",
        "other",
    ]
    colours = {
        text.get_text(): patch.get_facecolor()
        for text, patch in zip(axes.texts, axes.patches, strict=True)
    }
    assert colours["all"] == (*[pytest.approx(0xEE / 255)] * 3, 1.0)


def test_a_grid_without_rows_is_empty():
    assert len(draw_grid([]).patches) == 0


ODD_NAMES = ["svc-$a_$b", "$\\x{$", "a\\$b$c"]
ODD_NUMBERS = [float("inf"), 1.7e308, -1e300]


def draw_every_chart(name, number):
    """Draw all charts with a client of some name and number among others."""
    times = pd.to_datetime(["2026-01-01 00:00", "2026-01-01 00:01", "2026-01-01 00:02"])
    frame = pd.DataFrame(
        {"time": times, "client": ["a", name, "b"], "part": ["p", name, "p"],
         "value": [1.5, number, 2.5], "low": [0.0, number, 1.0], "text": ["x", name, "y"]},
    )  # fmt: skip
    lines = {"x": "time", "y": "value", "by": "client", "title": name}
    return [
        charts.line_chart(frame, unit="ms", **lines),
        charts.column_chart(frame, unit="ms", window_s=60, **lines),
        charts.bar_chart(
            frame, x="client", y="value", by="part", title="t", unit="ms", what=name
        ),
        charts.grid_chart(
            frame, x="client", y="part", value="text", title="t", unit="", what="w"
        ),
        charts.panel_chart(
            frame.assign(panel=name), panel="panel",
            marks=pd.DataFrame({"at": times[:1], "what": [name]}), **lines,
        ),
        charts.change_chart(
            frame, x="value", low="low", high="value", y="client",
            title="t", unit="%", what="w",
        ),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ODD_NAMES)
def test_charts_with_dollar_signs_in_names_show_them_literally(name):
    for figure in draw_every_chart(name, 2.0):
        figure.savefig(io.BytesIO(), format="svg")
        texts = {text.get_text() for text in figure.findobj(Text)}
        assert name in texts
        assert not any(text.get_parse_math() for text in figure.findobj(Text))


@pytest.mark.parametrize("number", ODD_NUMBERS)
def test_charts_with_numbers_beyond_any_scale_draw_the_others(number):
    figures = draw_every_chart("odd", number)
    for figure in figures:
        figure.savefig(io.BytesIO(), format="svg")
    lines, _, bars, *_ = (figure.axes[0] for figure in figures)
    assert lines.get_title(loc="left") == "odd: without 1 infinite or too large"
    assert lines.get_ylim()[1] < 10
    assert [text.get_text() for text in bars.get_yticklabels()] == ["a", "b"]


def list_texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def make_values(values, name="a"):
    times = pd.date_range("2026-01-01", periods=len(values), freq="min")
    return pd.DataFrame({"client": name, "time": times, "latency_ms": values})


def test_line_chart_with_one_value_says_it_in_words():
    figure = draw_lines(make_values([12.5], name=None))
    assert list_texts(figure) == [
        "one value: 12.5 (ms), (no name), 2026-01-01 00:00 UTC"
    ]
    assert not figure.axes[0].axison


def test_line_chart_with_zeros_alone_says_so_in_words():
    assert list_texts(draw_lines(make_values([0, 0, 0]))) == ["0 at all times: a (ms)"]


def test_panel_chart_with_a_panel_of_zeros_draws_the_other_panel():
    quiet = make_values([0.0, 0.0]).assign(panel="retries")
    frame = pd.concat([quiet, make_values([1.0, 2.0]).assign(panel="latency, ms")])
    figure = charts.panel_chart(
        frame, x="time", y="latency_ms", by="client", panel="panel", title="t"
    )
    assert list_texts(figure) == ["0 at all times: a (retries)"]
    assert [len(axes.lines) for axes in figure.axes] == [0, 1]
    assert figure.axes[1].get_xlabel() == "time (UTC)"


@pytest.mark.parametrize(
    ("values", "scale"),
    [([1, 2, 3, 60], "linear"), ([1, 2, 3, 200], "log"), ([0, 1, 2, 200], "symlog")],
)
def test_line_chart_with_an_outlier_has_a_logarithmic_axis(values, scale):
    axes = draw_lines(make_values(values)).axes[0]
    assert axes.get_yscale() == scale
    assert axes.get_ylabel() == ("ms" if scale == "linear" else "ms (log)")


def test_bar_chart_with_an_outlier_breaks_its_bar_and_keeps_the_others_visible():
    frame = pd.DataFrame({"name": list("abcd"), "size": [60_000.0, 90.0, 50.0, 40.0]})
    figure = charts.bar_chart(
        frame, x="name", y="size", title="Sizes", unit="ms", what="name"
    )
    figure.savefig(io.BytesIO(), format="svg")
    assert figure.axes[0].get_xlim()[1] < 150
    assert list_texts(figure) == ["// 60,000", "90", "50", "40"]


def test_line_breaks_where_its_points_stop_for_a_while():
    before, after = make_values([1.0] * 5), make_values([2.0] * 5)
    after["time"] += pd.Timedelta(hours=20)
    (line,) = draw_lines(pd.concat([before, after])).axes[0].lines
    drawn = pd.Series(line.get_ydata())
    assert drawn.isna().sum() == 1
    assert drawn.isna().idxmax() == 5


def test_bar_chart_names_a_client_without_an_id():
    frame = pd.DataFrame({"name": [None, "b"], "size": [2, 1]})
    axes = charts.bar_chart(
        frame, x="name", y="size", title="Sizes", unit="ms", what="name"
    ).axes[0]
    assert [one.get_text() for one in axes.get_yticklabels()] == ["(no name)", "b"]


def test_grid_chart_explains_its_colours():
    axes = draw_grid([("a", 1, "x"), ("a", 2, "y"), ("a", 3, "x")])
    legend = [text.get_text() for text in axes.get_legend().texts]
    assert legend == ["most frequent in its line", "another value"]
    axes = draw_grid([("k", "app", "1"), ("k", "usual", "all")], base="usual")
    legend = [text.get_text() for text in axes.get_legend().texts]
    assert legend == ["value of usual", "another value"]


def test_grid_chart_with_many_columns_keeps_values_within_their_cells():
    rows = [("a", f"client-{n:02}-of-many", "3" * 40) for n in range(12)]
    axes = draw_grid(rows)
    axes.figure.canvas.draw()
    cells = [one.get_window_extent() for one in axes.patches]
    for text, cell in zip(axes.texts, cells, strict=True):
        assert text.get_window_extent().width <= cell.width


def test_change_chart_with_an_outlier_has_a_logarithmic_axis_around_zero():
    rows = [("a", 90_000.0, 80_000.0, 99_000.0), ("b", -3.0, -5.0, -1.0)]
    rows += [(name, 4.0, 2.0, 6.0) for name in "cdef"]
    frame = pd.DataFrame(rows, columns=["metric", "by", "low", "high"])
    figure = charts.change_chart(
        frame, x="by", low="low", high="high", y="metric", title="t", unit="%", what="m"
    )
    figure.savefig(io.BytesIO(), format="svg")
    axes = figure.axes[0]
    assert axes.get_xscale() == "symlog"
    assert axes.get_xlabel() == "% (log)"
    left, middle, right = axes.transData.transform([(-3, 0), (4, 0), (90_000, 0)])[:, 0]
    assert middle - left > 0.1 * (right - left)
