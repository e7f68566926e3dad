"""Pictures for notebooks; they take pandas frames and return matplotlib figures."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

_SIZE_INCHES = (9.0, 3.6)
_BAR_INCHES = 0.4
_AXIS_INCHES = 1.0
_MAX_LINES = 10
"""More lines than this cannot be told apart; the rest is drawn in grey."""
_GREY = "#bbbbbb"
_GRID_COLOURS = ("#eeeeee", "#f4b183", "#9dc3e6", "#a9d18e", "#d5a6bd")
_GRID_TEXT = 18


def line_chart(
    frame: pd.DataFrame, *, x: str, y: str, by: str, title: str, unit: str
) -> Figure:
    """Draw one line per value of `by`, the ones with most rows in colour.

    Args:
        frame: One row per mark; x is a time in UTC.
        x: Column of times.
        y: Column of numbers.
        by: Column that names the line.
        title: What is shown.
        unit: Unit of y.
    """
    figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
    axes = figure.subplots()
    names = frame[by].value_counts().index
    for place, name in enumerate(names):
        rows = frame[frame[by] == name].sort_values(x)
        is_coloured = place < _MAX_LINES
        axes.plot(
            rows[x],
            rows[y],
            marker="o",
            markersize=3,
            linewidth=1.4,
            color=None if is_coloured else _GREY,
            label=str(name) if is_coloured else None,
        )
    if len(names) > 0:
        _place_legend(axes)
    _dress(axes, title, unit)
    _show_times(axes)
    return figure


def bar_chart(frame: pd.DataFrame, *, x: str, y: str, title: str, unit: str) -> Figure:
    """Draw one horizontal bar per row, the first row on top.

    Args:
        frame: One row per bar.
        x: Column of names.
        y: Column of numbers.
        title: What is shown.
        unit: Unit of y.
    """
    size = (_SIZE_INCHES[0], _AXIS_INCHES + _BAR_INCHES * len(frame))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    bars = axes.barh(frame[x].astype(str), frame[y], height=0.6)
    axes.bar_label(bars, padding=3, fontsize=8)
    axes.invert_yaxis()
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel(unit)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def grid_chart(
    frame: pd.DataFrame, *, x: str, y: str, value: str, title: str, unit: str
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
    """
    lines, columns = (sorted(frame[name].unique()) for name in (y, x))
    figure = Figure(
        figsize=(_SIZE_INCHES[0], _AXIS_INCHES + _BAR_INCHES * len(lines)),
        layout="constrained",
    )
    axes = figure.subplots()
    for line, of_line in frame.groupby(y):
        ranks = {text: rank for rank, text in enumerate(_by_frequency(of_line[value]))}
        for column, text in zip(of_line[x], of_line[value], strict=True):
            place = columns.index(column), lines.index(line)
            colour = _GRID_COLOURS[min(ranks[text], len(_GRID_COLOURS) - 1)]
            corner = (place[0] - 0.5, place[1] - 0.5)
            axes.add_patch(Rectangle(corner, 1, 1, facecolor=colour, edgecolor="white"))
            shown = text if len(text) <= _GRID_TEXT else f"{text[: _GRID_TEXT - 1]}…"
            axes.text(*place, shown, ha="center", va="center", fontsize=8)
    axes.set_xlim(-0.5, max(len(columns), 1) - 0.5)
    axes.set_ylim(max(len(lines), 1) - 0.5, -0.5)
    axes.set_xticks(range(len(columns)), [str(one) for one in columns])
    axes.set_yticks(range(len(lines)), [str(one) for one in lines])
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel(unit)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    return figure


def _by_frequency(values: pd.Series) -> list[str]:
    """Return the different values, the most frequent one first, then by name."""
    counts = values.value_counts()
    return sorted(
        (str(one) for one in counts.index), key=lambda one: (-counts[one], one)
    )


def _dress(axes: Axes, title: str, unit: str) -> None:
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_ylabel(unit)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", linewidth=0.4)
    axes.spines[["top", "right"]].set_visible(False)


def _show_times(axes: Axes) -> None:
    locator = AutoDateLocator()
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.set_xlabel("time (UTC)")


def _place_legend(axes: Axes) -> None:
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False)
