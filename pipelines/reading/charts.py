"""Pictures for notebooks; they take pandas frames and return matplotlib figures."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

_SIZE_INCHES = (9.0, 3.6)
_BAR_INCHES = 0.4
_AXIS_INCHES = 1.0
_MAX_LINES = 10
"""More lines than this cannot be told apart; the rest is drawn in grey."""
_GREY = "#bbbbbb"


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
