"""Axes, scales, legends and sentences that all pictures of notebooks share."""

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
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from pipelines.skew import is_skewed

MOST = 10
"""More than this cannot be told apart."""
WIDTH_INCHES = 9.5
TEXT_POINTS = 8
GREY = "#bbbbbb"
DARK = "#444444"
# Of Okabe and Ito, who chose colours that most eyes can tell apart, and two greys.
COLOURS = (
    *("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7"),
    *("#56b4e9", "#8a6d00", "#444444", "#7f3c8d", "#88aa00"),
)
NO_NAME = "(no name)"
NOTHING = "nothing to show"
_SENTENCE_INCHES = 0.75
_TITLE_POINTS = 11
_NAME_LETTERS = 44
_LARGE = 10_000
"""Larger numbers are shown without decimals."""
_MAX_DRAWN = 1e19
"""More than any 64-bit integer; larger numbers would hide all others."""
_GAP_POINTS = 3
"""Usual distances of a line's points that break the line."""
_MOMENT_S = 300
# Names of clients, groups and topics may contain two `$`; they are never TeX.
mpl.rcParams["text.parse_math"] = False


def keep_drawable(
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


def name_all(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return a frame with texts in the columns of names; null is NO_NAME."""
    named = {
        name: frame[name].map(str).where(frame[name].notna(), NO_NAME)
        for name in columns
    }
    return frame.assign(**named)


def make_figure(height: float) -> tuple[Figure, Axes]:
    """Return a figure with one pair of axes."""
    figure = Figure(figsize=(WIDTH_INCHES, height), layout="constrained")
    return figure, figure.subplots()


def write_figure(title: str, sentence: str) -> Figure:
    """Return a figure that is a title and a sentence: no axes, no empty grid."""
    figure, axes = make_figure(_SENTENCE_INCHES)
    axes.set_title(title, loc="left", fontsize=_TITLE_POINTS)
    write_sentence(axes, sentence)
    return figure


def write_sentence(axes: Axes, sentence: str) -> None:
    """Write a sentence in place of axes."""
    axes.set_axis_off()
    axes.text(
        *(0, 0.5),
        sentence,
        transform=axes.transAxes,
        va="center",
        color=DARK,
        fontsize=TEXT_POINTS + 2,
        wrap=True,
    )


def describe_plainly(
    frame: pd.DataFrame, *, x: str, y: str, by: str, unit: str
) -> str | None:
    """Return the sentence that replaces a picture of no, one or only zero values.

    Null: the frame needs a picture.
    """
    known = frame.dropna(subset=[y])
    if known.empty:
        return NOTHING
    if len(known) == 1:
        ((name, value, at),) = known[[by, y, x]].itertuples(index=False, name=None)
        told = pd.Timestamp(at).strftime("%Y-%m-%d %H:%M UTC")
        return f"one value: {format_number(value)} ({unit}), {shorten(name)}, {told}"
    if (known[y] == 0).all():
        names = known[by].nunique()
        whose = shorten(str(known[by].iloc[0])) if names == 1 else f"{names} lines"
        return f"0 at all times: {whose} ({unit})"
    return None


def rank(frame: pd.DataFrame, y: str, by: str) -> list[str]:
    """Return the names of lines, the one with the highest mean first."""
    means = frame.groupby(by)[y].mean().sort_values(ascending=False, kind="stable")
    return [str(one) for one in means.index]


def draw_lines(
    axes: Axes,
    frame: pd.DataFrame,
    ranked: Sequence[str],
    *,
    x: str,
    y: str,
    by: str,
) -> None:
    """Draw one line per name; a line breaks where its points stop for a while."""
    own = set(frame[by])
    is_rest_named = False
    # The grey ones first, so that they hide no coloured line.
    for place, name in reversed(list(enumerate(ranked))):
        if name not in own:
            continue
        rows = break_line(frame.loc[frame[by] == name, [x, y]].sort_values(x), x)
        is_coloured = place < MOST
        label: str | None = shorten(name) if is_coloured else None
        if not is_coloured and not is_rest_named:
            label, is_rest_named = f"{len(ranked) - MOST} others", True
        axes.plot(
            rows[x],
            rows[y],
            marker="o",
            markersize=2.5,
            linewidth=1.3 if is_coloured else 0.8,
            color=COLOURS[place] if is_coloured else GREY,
            label=label,
            zorder=2 if is_coloured else 1,
        )


def break_line(rows: pd.DataFrame, x: str) -> pd.DataFrame:
    """Return the rows of a line with an empty row in each absence.

    An absence is a time longer than three usual distances of the points.
    """
    distances = rows[x].diff()
    known = distances[distances > pd.Timedelta(0)]
    if known.empty:
        return rows
    usual = known.median()
    after = rows[distances > _GAP_POINTS * usual]
    if after.empty:
        return rows
    gaps = pd.DataFrame({x: after[x] - usual})
    return pd.concat([rows, gaps]).sort_values(x, kind="stable")


def dress(axes: Axes, title: str, grid: Literal["x", "y", ""] = "y") -> None:
    """Set the title and the looks of axes."""
    axes.set_title(title, loc="left", fontsize=_TITLE_POINTS)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=TEXT_POINTS)
    if grid:
        axes.grid(axis=grid, linewidth=0.4)
        axes.set_axisbelow(True)


def scale_values(axes: Axes, numbers: pd.Series, unit: str) -> None:
    """Scale and label the y axis of values: logarithmic if one value hides the others.

    A logarithmic axis cannot show zero. If there are zeros, the axis is linear below
    the smallest positive value.
    """
    known = numbers.dropna().to_numpy(dtype=float)
    if is_skewed(known) and (known >= 0).all():
        smallest = float(known[known > 0].min())
        if (known > 0).all():
            axes.set_yscale("log")
        else:
            axes.set_yscale("symlog", linthresh=smallest, linscale=0.5)
            axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(FuncFormatter(format_number))
        axes.yaxis.set_minor_formatter(NullFormatter())
        unit = f"{unit} (log)"
    else:
        if not (known < 0).any():
            axes.set_ylim(bottom=0)
        choose_ticks(axes.yaxis, numbers)
    axes.set_ylabel(unit, fontsize=TEXT_POINTS + 1)


def choose_ticks(axis: Axis, numbers: pd.Series) -> None:
    """Let an axis of counts have whole numbers alone."""
    known = numbers.dropna().to_numpy(dtype=float)
    is_whole = bool((known == np.round(known)).all())
    axis.set_major_locator(MaxNLocator(6, integer=is_whole))
    axis.set_major_formatter(FuncFormatter(format_number))


def show_times(
    axes: Axes, frame: pd.DataFrame, x: str, span_s: float = _MOMENT_S
) -> None:
    """Label an axis of times.

    Args:
        span_s: Seconds shown before a single time, which has no width of its own;
            twice as much is shown after it.
    """
    locator = AutoDateLocator()
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.set_xlabel("time (UTC)", fontsize=TEXT_POINTS + 1)
    if len(frame) and (frame[x] == frame[x].iloc[0]).all():
        at = pd.Timestamp(frame[x].iloc[0])
        ends = [at + pd.Timedelta(seconds=times * span_s) for times in (-1, 2)]
        axes.set_xlim(*date2num(ends))


def place_legend(axes: Axes) -> None:
    """Place the legend to the right of the axes."""
    handles, labels = axes.get_legend_handles_labels()
    lines = [one for one in handles if isinstance(one, Line2D)]
    if lines and len(lines) == len(handles):
        # Lines are drawn from the last one on.
        handles, labels = handles[::-1], labels[::-1]
    axes.legend(
        handles,
        labels,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        fontsize=TEXT_POINTS,
        frameon=False,
    )


def shorten(text: str, letters: int = _NAME_LETTERS) -> str:
    """Cut a name in its middle: both ends tell names apart."""
    if len(text) <= letters:
        return text
    half = letters // 2
    return f"{text[:half]}…{text[half - letters + 1 :]}"


def format_number(value: float, _: int | None = None) -> str:
    """Return a number with four digits, or whole if it is large."""
    return f"{value:,.4g}" if abs(value) < _LARGE else f"{value:,.0f}"
