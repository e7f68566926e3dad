"""Pictures for notebooks; they take pandas frames and return matplotlib figures.

Each axis has a title with its unit. The first ten names have a colour, and the others
are grey with one line in the legend. One value, or only zeros, becomes a sentence.
"""

# Longer than 400 lines: six pictures, whose arguments need most of them.

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FuncFormatter

from pipelines.skew import is_skewed

from .chart_axes import (
    COLOURS,
    DARK,
    GREY,
    MOST,
    NOTHING,
    TEXT_POINTS,
    WIDTH_INCHES,
    choose_ticks,
    describe_plainly,
    draw_lines,
    dress,
    format_number,
    keep_drawable,
    make_figure,
    name_all,
    place_legend,
    rank,
    scale_values,
    shorten,
    show_times,
    write_figure,
    write_sentence,
)

MOST_LINES_OF_A_GRID = 25
_HEIGHT_INCHES = 3.8
_BAR_INCHES = 0.32
_BAR_LETTERS = 56
_BROKEN_END = 1.3
"""End of an axis with broken bars, as a multiple of the longest whole bar."""
_LEAST_BARS = 3
"""Room for so many, that one alone is no block."""
_AXIS_INCHES = 1.1
_PANEL_INCHES = 1.75
_EMPTY_PANEL = 0.25
"""Height of a panel that is a sentence, as a part of one with lines."""
_DAY_S = 86_400
"""What matplotlib counts times in."""
_GRID_COLOURS = ("#eeeeee", "#f4b183", "#9dc3e6", "#a9d18e", "#d5a6bd")
_GRID_LETTERS = 20
_LEAST_GRID_LETTERS = 4
_GRID_INCHES = 6.5
_LETTER_INCHES = 0.075
_RANKS = ("most frequent in its line", "another value", "third value", "fourth value")


def line_chart(
    frame: pd.DataFrame, *, x: str, y: str, by: str, title: str, unit: str
) -> Figure:
    """Draw one line per value of `by`, the ten with the highest mean in colour.

    Args:
        frame: One row per mark; x is a time in UTC.
        x: Column of times.
        y: Column of numbers.
        by: Column that names the line.
        title: What is shown.
        unit: What y is, with its unit.
    """
    frame, title = keep_drawable(name_all(frame, by), title, y)
    if sentence := describe_plainly(frame, x=x, y=y, by=by, unit=unit):
        return write_figure(title, sentence)
    figure, axes = make_figure(_HEIGHT_INCHES)
    draw_lines(axes, frame, rank(frame, y, by), x=x, y=y, by=by)
    place_legend(axes)
    dress(axes, title)
    scale_values(axes, frame[y], unit)
    show_times(axes, frame, x)
    return figure


def column_chart(
    frame: pd.DataFrame,
    *,
    x: str,
    y: str,
    by: str,
    window_s: int,
    title: str,
    unit: str,
) -> Figure:
    """Draw a column per window of time, made of its parts, one above the other.

    Args:
        frame: One row per window and part; x is its beginning in UTC.
        x: Column of times.
        y: Column of numbers that add up.
        by: Column of the parts; those beyond the ten largest are one.
        window_s: Length of a window, in seconds.
        title: What is shown.
        unit: What y is, with its unit.
    """
    frame, title = keep_drawable(name_all(frame, by), title, y)
    if sentence := describe_plainly(frame, x=x, y=y, by=by, unit=unit):
        return write_figure(title, sentence)
    figure, axes = make_figure(_HEIGHT_INCHES)
    ranked = [str(one) for one in frame.groupby(by)[y].sum().sort_values().index[::-1]]
    parts = ranked[:MOST]
    rest = f"{len(ranked) - MOST} others"
    named = frame.assign(part=frame[by].where(frame[by].isin(parts), rest))
    table = named.pivot_table(
        index=x, columns="part", values=y, aggfunc="sum", observed=True
    ).fillna(0)
    ends = np.zeros(len(table))
    for place, part in enumerate([*parts, rest] if len(ranked) > MOST else parts):
        heights = table[part].to_numpy(dtype=float)
        axes.bar(
            table.index,
            heights,
            width=0.9 * window_s / _DAY_S,
            align="edge",
            bottom=ends,
            color=COLOURS[place] if place < MOST else GREY,
            label=shorten(part),
        )
        ends += heights
    place_legend(axes)
    # A part of no height lies on the top of its column, which would be the picture's.
    axes.use_sticky_edges = False
    dress(axes, title)
    axes.set_ylim(bottom=0)
    axes.set_ylabel(unit, fontsize=TEXT_POINTS + 1)
    choose_ticks(axes.yaxis, frame[y])
    show_times(axes, frame, x, window_s)
    return figure


def bar_chart(
    frame: pd.DataFrame,
    *,
    x: str,
    y: str,
    title: str,
    unit: str,
    what: str,
    by: str | None = None,
    adds_up: bool = True,
    limit: float | None = None,
) -> Figure:
    """Draw one horizontal bar per value of x, the first one on top.

    Args:
        frame: One row per bar, or per bar and part of it; in the order of the bars.
        x: Column of names.
        y: Column of numbers.
        title: What is shown.
        unit: What y is, with its unit.
        what: What a name is.
        by: Column of the parts of a bar, which are put one behind the other.
        adds_up: Whether what is beyond the first ten makes one bar together; else
            the title says how many are left out.
        limit: What y ought to stay below, as a line.
    """
    frame, title = keep_drawable(name_all(frame, x, *([by] if by else [])), title, y)
    if frame[y].dropna().empty:
        return write_figure(title, NOTHING)
    names = list(dict.fromkeys(frame[x]))
    is_rest = len(names) > MOST
    shown = names[: MOST - 1 if is_rest and adds_up else MOST]
    rest = f"{len(names) - len(shown)} others"
    if is_rest and not adds_up:
        title = f"{title}: the first {MOST} of {len(names)}"
    bars = [*shown, rest] if is_rest and adds_up else shown
    place = frame[x].where(frame[x].isin(shown), rest)
    figure, axes = make_figure(_AXIS_INCHES + _BAR_INCHES * max(len(bars), _LEAST_BARS))
    numbers = frame.assign(bar=place, part=frame[by] if by else y)
    table = numbers.pivot_table(
        index="bar", columns="part", values=y, aggfunc="sum", observed=True
    ).reindex(bars)
    parts = list(dict.fromkeys(numbers["part"]))
    end = _find_end([*table.sum(axis=1), limit or 0])
    _draw_bars(axes, table, bars, parts, end)
    if by:
        place_legend(axes)
    dress(axes, title, grid="x")
    axes.set_ylim(max(len(bars), _LEAST_BARS) - 0.5, -0.5)
    axes.set_xlabel(unit, fontsize=TEXT_POINTS + 1)
    axes.set_ylabel(what, fontsize=TEXT_POINTS + 1)
    if limit is not None:
        axes.axvline(limit, color=COLOURS[3], linewidth=1, linestyle="--")
    # Room for the numbers after the bars.
    axes.set_xlim(0, 1.12 * end or 1)
    choose_ticks(axes.xaxis, numbers[y])
    return figure


def _find_end(lengths: Sequence[float]) -> float:
    """Return the end of an axis of bars; longer bars are broken at it.

    One bar that is far longer than the others would make them invisible.
    """
    longest = max(lengths)
    others = sorted(one for one in lengths if 0 < one < longest)
    if not others or not is_skewed(lengths):
        return longest
    steps = [
        later / earlier
        for earlier, later in zip(others, [*others[1:], longest], strict=True)
    ]
    # The bars after the largest step are broken.
    return _BROKEN_END * others[int(np.argmax(steps))]


def grid_chart(
    frame: pd.DataFrame,
    *,
    x: str,
    y: str,
    value: str,
    title: str,
    unit: str,
    what: str,
    base: str | None = None,
) -> Figure:
    """Draw a cell for each x and y, in the colour of its value within its line.

    Args:
        frame: One row a cell; a cell that has none stays white.
        x: Column that names the columns, a few.
        y: Column that names the lines.
        value: Column of what is compared, a text. The most frequent one of a line is
            light, and each other one has a colour.
        title: What is shown.
        unit: What the columns are.
        what: What the lines are.
        base: Value of x whose column is light, and the first; without it the most
            frequent value of a line is.
    """
    if frame.empty:
        return write_figure(title, NOTHING)
    lines, columns = (sorted(frame[name].unique()) for name in (y, x))
    if base in columns:
        columns = [base, *(one for one in columns if one != base)]
    if len(lines) > MOST_LINES_OF_A_GRID:
        title = f"{title}: the first {MOST_LINES_OF_A_GRID} of {len(lines)}"
        lines = lines[:MOST_LINES_OF_A_GRID]
    frame = frame[frame[y].isin(lines)]
    figure, axes = make_figure(_AXIS_INCHES + _BAR_INCHES * max(len(lines), 2))
    room = int(_GRID_INCHES / len(columns) / _LETTER_INCHES)
    letters = max(_LEAST_GRID_LETTERS, min(_GRID_LETTERS, room))
    used = 0
    for line, of_line in frame.groupby(y):
        first = of_line.loc[of_line[x] == base, value] if base else of_line[value][:0]
        texts = dict.fromkeys([*first, *_by_frequency(of_line[value])])
        ranks = {text: rank for rank, text in enumerate(texts)}
        for column, text in zip(of_line[x], of_line[value], strict=True):
            place = columns.index(column), lines.index(line)
            used = max(used, ranks[text])
            colour = _GRID_COLOURS[min(ranks[text], len(_GRID_COLOURS) - 1)]
            corner = (place[0] - 0.5, place[1] - 0.5)
            axes.add_patch(Rectangle(corner, 1, 1, facecolor=colour, edgecolor="white"))
            shown = shorten(text, letters)
            axes.text(*place, shown, ha="center", va="center", fontsize=TEXT_POINTS)
    axes.set_xlim(-0.5, max(len(columns), 1) - 0.5)
    axes.set_ylim(max(len(lines), 1) - 0.5, -0.5)
    names = [shorten(str(one), _GRID_LETTERS) for one in columns]
    is_tight = max(map(len, names)) > letters
    axes.set_xticks(range(len(columns)), names)
    if is_tight:
        axes.tick_params(axis="x", labelrotation=30)
        for one in axes.get_xticklabels():
            one.set_horizontalalignment("right")
    axes.set_yticks(range(len(lines)), [shorten(str(one)) for one in lines])
    dress(axes, title, grid="")
    axes.set_xlabel(unit, fontsize=TEXT_POINTS + 1)
    axes.set_ylabel(what, fontsize=TEXT_POINTS + 1)
    axes.spines[["left", "bottom"]].set_visible(False)
    _explain_colours(axes, used, base if base in columns else None)
    return figure


def _explain_colours(axes: Axes, used: int, base: str | None) -> None:
    """Add a legend that explains the colours of a grid."""
    words = [f"value of {shorten(base)}" if base else _RANKS[0], *_RANKS[1:], "others"]
    handles = [
        Patch(facecolor=colour, label=word)
        for colour, word in list(zip(_GRID_COLOURS, words, strict=True))[: used + 1]
    ]
    axes.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        fontsize=TEXT_POINTS,
        frameon=False,
    )


def panel_chart(
    frame: pd.DataFrame,
    *,
    x: str,
    y: str,
    by: str,
    panel: str,
    title: str,
    marks: pd.DataFrame | None = None,
) -> Figure:
    """Draw panels one below the other over one axis of time.

    Args:
        frame: One row per mark; x is a time in UTC, panel what is shown with its unit.
        x: Column of times.
        y: Column of numbers.
        by: Column that names the line, in the same colour in all panels.
        panel: Column that names the panel; they stand in the order of the rows.
        title: What is shown.
        marks: What happened: `at`, a time, and `what`, a few words, each a vertical
            line through all panels.
    """
    frame, title = keep_drawable(name_all(frame, by), title, y)
    panels = list(dict.fromkeys(frame[panel]))
    if not panels:
        return write_figure(title, NOTHING)
    of_panel = {name: frame[frame[panel] == name] for name in panels}
    sentences = {
        name: describe_plainly(rows, x=x, y=y, by=by, unit=name)
        for name, rows in of_panel.items()
    }
    heights = [_EMPTY_PANEL if sentences[name] else 1.0 for name in panels]
    figure = Figure(
        figsize=(WIDTH_INCHES, _AXIS_INCHES + _PANEL_INCHES * sum(heights)),
        layout="constrained",
    )
    every = figure.subplots(
        len(panels), 1, sharex=True, squeeze=False, height_ratios=heights
    )[:, 0]
    ranked = [str(one) for one in frame[by].value_counts().index]
    drawn = []
    for place, (axes, name) in enumerate(zip(every, panels, strict=True)):
        dress(axes, title if place == 0 else "")
        if sentence := sentences[name]:
            write_sentence(axes, sentence)
            continue
        drawn.append(axes)
        draw_lines(axes, of_panel[name], ranked, x=x, y=y, by=by)
        scale_values(axes, of_panel[name][y], name.replace(", ", ",\n"))
        _mark(axes, marks)
    if drawn:
        show_times(drawn[-1], frame, x)
        drawn[-1].tick_params(labelbottom=True)
        place_legend(drawn[0])
    return figure


def change_chart(
    frame: pd.DataFrame,
    *,
    x: str,
    low: str,
    high: str,
    y: str,
    title: str,
    unit: str,
    what: str,
) -> Figure:
    """Draw changes as marks with their intervals, around zero; the first on top.

    Args:
        frame: One row a line.
        x: Column of changes.
        low: Column of the lower ends of their intervals.
        high: Column of the upper ends.
        y: Column of names.
        title: What is shown.
        unit: What a change is, with its unit.
        what: What a name is.
    """
    frame, title = keep_drawable(frame, title, x, low, high)
    if frame.empty:
        return write_figure(title, NOTHING)
    shown = frame.head(2 * MOST)
    if len(frame) > len(shown):
        title = f"{title}: the first {len(shown)} of {len(frame)}"
    figure, axes = make_figure(_AXIS_INCHES + _BAR_INCHES * max(len(shown), 3))
    places = np.arange(len(shown))
    is_more = shown[x].to_numpy(dtype=float) > 0
    colours = [COLOURS[3] if more else COLOURS[0] for more in is_more]
    axes.hlines(places, shown[low], shown[high], colors=colours, linewidth=2)
    axes.scatter(shown[x], places, color=colours, s=26, zorder=3)
    axes.axvline(0, color=DARK, linewidth=0.8)
    axes.set_yticks(places, [shorten(str(one), 64) for one in shown[y]])
    axes.set_ylim(max(len(shown), 1) - 0.5, -0.5)
    dress(axes, title, grid="x")
    sizes = shown[[x, low, high]].abs().to_numpy(dtype=float).ravel()
    if is_skewed(sizes):
        axes.set_xscale("symlog", linthresh=float(np.median(sizes[sizes > 0])))
        unit = f"{unit} (log)"
    axes.set_xlabel(unit, fontsize=TEXT_POINTS + 1)
    axes.set_ylabel(what, fontsize=TEXT_POINTS + 1)
    axes.xaxis.set_major_formatter(FuncFormatter(format_number))
    return figure


def _draw_bars(
    axes: Axes, table: pd.DataFrame, bars: list[str], parts: list[str], end: float
) -> None:
    """Draw bars of parts with their numbers; longer ones break at the axis' end."""
    ends = np.zeros(len(bars))
    for place, part in enumerate(parts):
        widths = table[part].fillna(0).to_numpy(dtype=float)
        colour = COLOURS[place] if place < MOST else GREY
        label = part if place < MOST else None
        axes.barh(range(len(bars)), widths, 0.65, left=ends, color=colour, label=label)
        ends += widths
    axes.set_yticks(range(len(bars)), [shorten(one, _BAR_LETTERS) for one in bars])
    for place, length in enumerate(ends):
        is_broken = length > end
        axes.annotate(
            f"// {format_number(length)}" if is_broken else format_number(length),
            (min(length, end), place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=TEXT_POINTS,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5}
            if is_broken
            else None,
        )


def _mark(axes: Axes, marks: pd.DataFrame | None) -> None:
    if marks is None or marks.empty:
        return
    for place, (what, of_kind) in enumerate(marks.groupby("what", sort=True)):
        for at in of_kind["at"]:
            axes.axvline(
                at, color=COLOURS[-1 - place % 3], linewidth=1, linestyle=(0, (4, 2))
            )
        # A line of the legend, for lines of axes have none of their own.
        axes.plot(
            [], [], color=COLOURS[-1 - place % 3], linestyle="--", label=str(what)
        )


def _by_frequency(values: pd.Series) -> list[str]:
    """Return the different values, the most frequent one first, then by name."""
    counts = values.value_counts()
    return sorted(
        (str(one) for one in counts.index), key=lambda one: (-counts[one], one)
    )
