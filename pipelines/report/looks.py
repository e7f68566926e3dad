"""Sizes, colours, axes and scales that all pictures have in common."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import altair as alt

from pipelines.skew import is_skewed

from .fleet import TimeAxis
from .texts import show_text

_LONGEST_LABEL = 44
_LABEL_PIXELS = 230
_LEGEND_PIXELS = 110
BAR_PIXELS = 22
PLOT_PIXELS = 240
_CLOCK_TIMES = timedelta(days=2)
"""Longest time whose axis says hours, and not days."""
# Okabe and Ito's, which colour-blind people tell apart, on white and on black.
COLOURS = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"),
    *("#8c6bb1", "#b3a100", "#7f5539", "#4db6ac", "#9a9a9a"),
)
BLUE, RED, PINK, GREY = COLOURS[0], COLOURS[5], COLOURS[3], "#888888"
_NUMBER_ROOM = 1.2
"""Length of the axis, as a multiple of the longest bar."""

Spec = dict[str, Any]


def draw_bars(
    values: list[dict[str, object]],
    y: str,
    x: str,
    *,
    title: str,
    colour: alt.Color | None = None,
    limit: float | None = None,
) -> Spec:
    """Return a bar and a number for each value, in their order.

    If one value hides the others, the axis is logarithmic, and dots replace the bars: a
    bar's length means nothing there.

    Args:
        values: Rows of the picture.
        y: Field of names.
        x: Field of numbers.
        title: Title of the axis of numbers.
        colour: Encoding of the bars' colours; null: all are blue.
        limit: Number that is marked by a line; null: none.
    """
    numbers_shown = [float(str(one[x])) for one in values]
    is_log = is_skewed(numbers_shown)
    # The number beside the longest bar needs room inside the picture.
    linear = alt.Scale(
        zero=True, domainMax=_NUMBER_ROOM * max([*numbers_shown, limit or 0, 1e-9])
    )
    across = alt.X(
        f"{x}:Q",
        title=f"{title}, log" if is_log else title,
        axis=alt.Axis(format="~s", tickCount=4, grid=is_log)
        if is_log
        else counts_axis(),
        scale=alt.Scale(type="log", nice=True) if is_log else linear,
    )
    base = alt.Chart(inline(values)).encode(
        y=alt.Y(f"{y}:N", title=None, sort=None, axis=names_axis()),
        x=across,
        tooltip=[f"{y}:N", alt.Tooltip(f"{x}:Q", format=",.4~g")],
    )
    marks = base.mark_circle(size=70, opacity=1) if is_log else base.mark_bar()
    marks = marks.encode(color=colour or alt.value(BLUE))
    numbers = base.mark_text(align="left", dx=6, fontSize=11).encode(
        text=alt.Text(f"{x}:Q", format=",.4~g")
    )
    layers = [marks, numbers]
    if limit is not None:
        line = alt.Chart(inline([{x: limit}])).mark_rule(
            strokeDash=[4, 3], strokeWidth=2, color=GREY
        )
        layers.append(line.encode(x=f"{x}:Q"))
    return finish(alt.layer(*layers), height=BAR_PIXELS * len(values))


def finish(chart: alt.Chart | alt.LayerChart | alt.FacetChart, *, height: int) -> Spec:
    """Return the specification of a picture as wide as its place."""
    fitted = chart.properties(
        width="container", height=height, background="transparent"
    )
    spec: Spec = fitted.configure_view(stroke=None).to_dict()
    return spec


def names_axis() -> alt.Axis:
    """Return the axis of names beside bars."""
    return alt.Axis(labelLimit=_LABEL_PIXELS, ticks=False, domain=False, grid=False)


def counts_axis() -> alt.Axis:
    """Return an axis of whole numbers."""
    return alt.Axis(format="~s", tickMinStep=1, tickCount=5)


def colour(field: str, names: Sequence[str]) -> alt.Color:
    """Return the colours of names, and their legend; the last one is grey."""
    scale = alt.Scale(domain=[*names], range=[*COLOURS[: len(names)]])
    legend = alt.Legend(
        title=None, orient="top", labelLimit=_LEGEND_PIXELS, symbolType="square"
    )
    return alt.Color(field, scale=scale, sort=[*names], legend=legend)


def time_axis(axis: TimeAxis, *, title: str | None, ticks: int) -> alt.X:
    """Return an axis of time in UTC; data at both ends of it make it that long."""
    is_long = axis.end - axis.start > _CLOCK_TIMES
    labels = alt.Axis(
        tickCount=ticks,
        labelOverlap=True,
        format="%d %b" if is_long else "%H:%M",
    )
    return alt.X("at:T", title=title, scale=alt.Scale(type="utc"), axis=labels)


def name_days(axis: TimeAxis) -> str:
    """Return the title of an axis of time, which names its days."""
    first, last = axis.start.date(), axis.end.date()
    days = f"{first}" if first == last else f"{first} to {last}"
    return f"time (UTC), {days}"


def time_tooltip() -> alt.Tooltip:
    """Return how a time is told where it is pointed to."""
    return alt.Tooltip(
        "at:T",
        title="time (UTC)",
        timeUnit="utcyearmonthdatehoursminutes",
        format="%Y-%m-%d %H:%M",
    )


def inline(values: Iterable[Mapping[str, object]]) -> alt.InlineData:
    """Return rows as data of a picture."""
    return alt.InlineData(values=[dict(one) for one in values])


def label(text: object) -> str:
    """Return a text that fits beside a picture."""
    return show_text(str(text), _LONGEST_LABEL)


def millis(moment: datetime) -> int:
    """Return a moment in milliseconds since 1970."""
    return int(moment.timestamp() * 1_000)
