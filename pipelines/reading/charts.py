"""Pictures for notebooks; they take pandas frames and return matplotlib figures.

Every axis says what it shows and in which unit, and no legend is longer than a screen:
the first ten have a colour, and the rest is grey, with one line in the legend.
"""

# Longer than 400 lines: six pictures, and what makes their axes and legends alike.

from collections.abc import Sequence
from typing import Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator

MOST = 10
"""More than this cannot be told apart."""
MOST_LINES_OF_A_GRID = 25
_WIDTH_INCHES = 9.5
_HEIGHT_INCHES = 3.8
_BAR_INCHES = 0.32
_LEAST_BARS = 3
"""Room for so many, that one alone is no block."""
_AXIS_INCHES = 1.1
_PANEL_INCHES = 1.75
_MOMENT_S = 300
_DAY_S = 86_400
"""What matplotlib counts times in."""
_TITLE_POINTS = 11
_TEXT_POINTS = 8
_GREY = "#bbbbbb"
_DARK = "#444444"
# Of Okabe and Ito, who chose colours that most eyes can tell apart, and two greys.
_COLOURS = (
    *("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7"),
    *("#56b4e9", "#8a6d00", "#444444", "#7f3c8d", "#88aa00"),
)
_GRID_COLOURS = ("#eeeeee", "#f4b183", "#9dc3e6", "#a9d18e", "#d5a6bd")
_NAME_LETTERS = 44
_GRID_LETTERS = 20
_LARGE = 10_000
"""From here on digits behind the point say nothing."""
_MAX_DRAWN = 1e19
"""More than any 64-bit integer; larger numbers would leave nothing else to be seen."""
# Names of clients, groups and topics may contain two `$`; they are never TeX.
mpl.rcParams["text.parse_math"] = False


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
    frame, title = _keep_drawable(frame, title, y)
    figure, axes = _make_figure(_HEIGHT_INCHES)
    _draw_lines(axes, frame, _rank(frame, y, by), x=x, y=y, by=by)
    if len(frame):
        _place_legend(axes)
    _dress(axes, title)
    axes.set_ylabel(unit, fontsize=_TEXT_POINTS + 1)
    _choose_ticks(axes.yaxis, frame[y])
    _show_times(axes, frame, x)
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
    frame, title = _keep_drawable(frame, title, y)
    figure, axes = _make_figure(_HEIGHT_INCHES)
    ranked = [str(one) for one in frame.groupby(by)[y].sum().sort_values().index[::-1]]
    parts = ranked[:MOST]
    rest = f"{len(ranked) - MOST} others"
    known = frame[by].astype(str)
    named = frame.assign(part=known.where(known.isin(parts), rest))
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
            color=_COLOURS[place] if place < MOST else _GREY,
            label=_shorten(part),
        )
        ends += heights
    if parts:
        _place_legend(axes)
    # A part of no height lies on the top of its column, which would be the picture's.
    axes.use_sticky_edges = False
    _dress(axes, title)
    axes.set_ylabel(unit, fontsize=_TEXT_POINTS + 1)
    _choose_ticks(axes.yaxis, frame[y])
    _show_times(axes, frame, x, window_s)
    _say_empty(axes, frame)
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
    frame, title = _keep_drawable(frame, title, y)
    names = list(dict.fromkeys(frame[x].astype(str)))
    is_rest = len(names) > MOST
    shown = names[: MOST - 1 if is_rest and adds_up else MOST]
    rest = f"{len(names) - len(shown)} others"
    if is_rest and not adds_up:
        title = f"{title}: the first {MOST} of {len(names)}"
    bars = [*shown, rest] if is_rest and adds_up else shown
    place = frame[x].astype(str).where(frame[x].astype(str).isin(shown), rest)
    figure, axes = _make_figure(
        _AXIS_INCHES + _BAR_INCHES * max(len(bars), _LEAST_BARS)
    )
    numbers = frame.assign(bar=place, part=frame[by] if by else y)
    table = numbers.pivot_table(
        index="bar", columns="part", values=y, aggfunc="sum", observed=True
    ).reindex(bars)
    parts = list(dict.fromkeys(numbers["part"].astype(str)))
    _draw_bars(axes, table, bars, parts)
    if by and parts:
        _place_legend(axes)
    _dress(axes, title, grid="x")
    axes.set_ylim(max(len(bars), _LEAST_BARS) - 0.5, -0.5)
    axes.set_xlabel(unit, fontsize=_TEXT_POINTS + 1)
    axes.set_ylabel(what, fontsize=_TEXT_POINTS + 1)
    if limit is not None:
        axes.axvline(limit, color=_COLOURS[3], linewidth=1, linestyle="--")
    # Room for the numbers behind the bars.
    longest = max(table.sum(axis=1).max() if bars else 0, limit or 0)
    axes.set_xlim(0, 1.1 * longest or 1)
    _choose_ticks(axes.xaxis, numbers[y])
    _say_empty(axes, frame)
    return figure


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
    lines, columns = (sorted(frame[name].unique()) for name in (y, x))
    if base in columns:
        columns = [base, *(one for one in columns if one != base)]
    if len(lines) > MOST_LINES_OF_A_GRID:
        title = f"{title}: the first {MOST_LINES_OF_A_GRID} of {len(lines)}"
        lines = lines[:MOST_LINES_OF_A_GRID]
    frame = frame[frame[y].isin(lines)]
    figure, axes = _make_figure(_AXIS_INCHES + _BAR_INCHES * max(len(lines), 2))
    for line, of_line in frame.groupby(y):
        first = of_line.loc[of_line[x] == base, value] if base else of_line[value][:0]
        texts = dict.fromkeys([*first, *_by_frequency(of_line[value])])
        ranks = {text: rank for rank, text in enumerate(texts)}
        for column, text in zip(of_line[x], of_line[value], strict=True):
            place = columns.index(column), lines.index(line)
            colour = _GRID_COLOURS[min(ranks[text], len(_GRID_COLOURS) - 1)]
            corner = (place[0] - 0.5, place[1] - 0.5)
            axes.add_patch(Rectangle(corner, 1, 1, facecolor=colour, edgecolor="white"))
            shown = _shorten(text, _GRID_LETTERS)
            axes.text(*place, shown, ha="center", va="center", fontsize=_TEXT_POINTS)
    axes.set_xlim(-0.5, max(len(columns), 1) - 0.5)
    axes.set_ylim(max(len(lines), 1) - 0.5, -0.5)
    axes.set_xticks(range(len(columns)), [str(one) for one in columns])
    axes.set_yticks(range(len(lines)), [_shorten(str(one)) for one in lines])
    _dress(axes, title, grid="")
    axes.set_xlabel(unit, fontsize=_TEXT_POINTS + 1)
    axes.set_ylabel(what, fontsize=_TEXT_POINTS + 1)
    axes.spines[["left", "bottom"]].set_visible(False)
    _say_empty(axes, frame)
    return figure


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
    frame, title = _keep_drawable(frame, title, y)
    panels = list(dict.fromkeys(frame[panel])) or [y]
    figure = Figure(
        figsize=(_WIDTH_INCHES, _AXIS_INCHES + _PANEL_INCHES * len(panels)),
        layout="constrained",
    )
    every = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    ranked = [str(one) for one in frame[by].value_counts().index]
    for place, (axes, name) in enumerate(zip(every, panels, strict=True)):
        of_panel = frame[frame[panel] == name]
        _draw_lines(axes, of_panel, ranked, x=x, y=y, by=by)
        _dress(axes, title if place == 0 else "")
        axes.set_ylabel(name.replace(", ", ",\n"), fontsize=_TEXT_POINTS)
        _choose_ticks(axes.yaxis, of_panel[y])
        _mark(axes, marks)
    axes = every[-1]
    _show_times(axes, frame, x)
    if len(frame):
        _place_legend(every[0])
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
    frame, title = _keep_drawable(frame, title, x, low, high)
    shown = frame.head(2 * MOST)
    if len(frame) > len(shown):
        title = f"{title}: the first {len(shown)} of {len(frame)}"
    figure, axes = _make_figure(_AXIS_INCHES + _BAR_INCHES * max(len(shown), 3))
    places = np.arange(len(shown))
    is_more = shown[x].to_numpy(dtype=float) > 0
    colours = [_COLOURS[3] if more else _COLOURS[0] for more in is_more]
    axes.hlines(places, shown[low], shown[high], colors=colours, linewidth=2)
    axes.scatter(shown[x], places, color=colours, s=26, zorder=3)
    axes.axvline(0, color=_DARK, linewidth=0.8)
    axes.set_yticks(places, [_shorten(str(one), 64) for one in shown[y]])
    axes.set_ylim(max(len(shown), 1) - 0.5, -0.5)
    _dress(axes, title, grid="x")
    axes.set_xlabel(unit, fontsize=_TEXT_POINTS + 1)
    axes.set_ylabel(what, fontsize=_TEXT_POINTS + 1)
    axes.xaxis.set_major_formatter(FuncFormatter(_format_number))
    _say_empty(axes, shown)
    return figure


def _keep_drawable(
    frame: pd.DataFrame, title: str, *numbers: str
) -> tuple[pd.DataFrame, str]:
    """Return the rows whose numbers fit on an axis, and a title that counts the others.

    A client may push any number; no number of one client hides those of the others.
    """
    is_beyond = (frame[[*numbers]].astype(float).abs() > _MAX_DRAWN).any(axis=1)
    count = int(is_beyond.sum())
    if not count:
        return frame, title
    return frame[~is_beyond], f"{title}: without {count} infinite or too large"


def _make_figure(height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(_WIDTH_INCHES, height), layout="constrained")
    return figure, figure.subplots()


def _rank(frame: pd.DataFrame, y: str, by: str) -> list[str]:
    """Return the names of lines, the one with the highest mean first."""
    means = frame.groupby(by)[y].mean().sort_values(ascending=False, kind="stable")
    return [str(one) for one in means.index]


def _draw_lines(
    axes: Axes,
    frame: pd.DataFrame,
    ranked: Sequence[str],
    *,
    x: str,
    y: str,
    by: str,
) -> None:
    own = set(frame[by].astype(str))
    is_rest_named = False
    # The grey ones first: they shall hide none.
    for place, name in reversed(list(enumerate(ranked))):
        if name not in own:
            continue
        rows = frame[frame[by].astype(str) == name].sort_values(x)
        is_coloured = place < MOST
        label: str | None = _shorten(name) if is_coloured else None
        if not is_coloured and not is_rest_named:
            label, is_rest_named = f"{len(ranked) - MOST} others", True
        axes.plot(
            rows[x],
            rows[y],
            marker="o",
            markersize=2.5,
            linewidth=1.3 if is_coloured else 0.8,
            color=_COLOURS[place] if is_coloured else _GREY,
            label=label,
            zorder=2 if is_coloured else 1,
        )
    _say_empty(axes, frame)


def _draw_bars(
    axes: Axes, table: pd.DataFrame, bars: list[str], parts: list[str]
) -> None:
    ends = np.zeros(len(bars))
    for place, part in enumerate(parts):
        widths = table[part].fillna(0).to_numpy(dtype=float)
        colour = _COLOURS[place] if place < MOST else _GREY
        label = part if place < MOST else None
        axes.barh(range(len(bars)), widths, 0.65, left=ends, color=colour, label=label)
        ends += widths
    axes.set_yticks(range(len(bars)), [_shorten(one) for one in bars])
    for place, end in enumerate(ends):
        axes.annotate(
            _format_number(end),
            (end, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=_TEXT_POINTS,
        )


def _mark(axes: Axes, marks: pd.DataFrame | None) -> None:
    if marks is None or marks.empty:
        return
    for place, (what, of_kind) in enumerate(marks.groupby("what", sort=True)):
        for at in of_kind["at"]:
            axes.axvline(
                at, color=_COLOURS[-1 - place % 3], linewidth=1, linestyle=(0, (4, 2))
            )
        # A line of the legend, for lines of axes have none of their own.
        axes.plot(
            [], [], color=_COLOURS[-1 - place % 3], linestyle="--", label=str(what)
        )


def _by_frequency(values: pd.Series) -> list[str]:
    """Return the different values, the most frequent one first, then by name."""
    counts = values.value_counts()
    return sorted(
        (str(one) for one in counts.index), key=lambda one: (-counts[one], one)
    )


def _dress(axes: Axes, title: str, grid: Literal["x", "y", ""] = "y") -> None:
    axes.set_title(title, loc="left", fontsize=_TITLE_POINTS)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=_TEXT_POINTS)
    if grid:
        axes.grid(axis=grid, linewidth=0.4)
        axes.set_axisbelow(True)
    if grid == "y":
        axes.set_ylim(bottom=0)


def _show_times(
    axes: Axes, frame: pd.DataFrame, x: str, span_s: float = _MOMENT_S
) -> None:
    """Label an axis of times.

    Args:
        span_s: Of one moment alone, which has no width that a scale could be made of,
            what is shown before it, and twice as much behind it.
    """
    locator = AutoDateLocator()
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.set_xlabel("time (UTC)", fontsize=_TEXT_POINTS + 1)
    if len(frame) and (frame[x] == frame[x].iloc[0]).all():
        at = pd.Timestamp(frame[x].iloc[0])
        ends = [at + pd.Timedelta(seconds=times * span_s) for times in (-1, 2)]
        axes.set_xlim(*date2num(ends))


def _place_legend(axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    lines = [one for one in handles if isinstance(one, Line2D)]
    if lines and len(lines) == len(handles):
        # They were drawn from the last one on.
        handles, labels = handles[::-1], labels[::-1]
    axes.legend(
        handles,
        labels,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        fontsize=_TEXT_POINTS,
        frameon=False,
    )


def _say_empty(axes: Axes, frame: pd.DataFrame) -> None:
    if frame.empty:
        # Of no rows a scale says nothing.
        axes.tick_params(labelbottom=False, labelleft=False)
        axes.text(
            0.5,
            0.5,
            "nothing to show",
            transform=axes.transAxes,
            ha="center",
            color=_DARK,
            fontsize=_TEXT_POINTS + 1,
        )


def _shorten(text: str, letters: int = _NAME_LETTERS) -> str:
    """Cut a name in its middle: both ends tell names apart."""
    if len(text) <= letters:
        return text
    half = letters // 2
    return f"{text[:half]}…{text[half - letters + 1 :]}"


def _choose_ticks(axis: Axis, numbers: pd.Series) -> None:
    """Let an axis of counts have whole numbers alone."""
    known = numbers.dropna().to_numpy(dtype=float)
    is_whole = bool((known == np.round(known)).all())
    axis.set_major_locator(MaxNLocator(6, integer=is_whole))
    axis.set_major_formatter(FuncFormatter(_format_number))


def _format_number(value: float, _: int | None = None) -> str:
    return f"{value:,.4g}" if abs(value) < _LARGE else f"{value:,.0f}"
