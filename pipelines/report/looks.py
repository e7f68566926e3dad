"""How pictures look: sizes, colours, axes; what all of them have in common."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import altair as alt

from .fleet import Fleet
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
BLUE, RED, PINK = COLOURS[0], COLOURS[5], COLOURS[3]

Spec = dict[str, Any]


def draw_bars(values: list[dict[str, object]], y: str, x: str, *, title: str) -> Spec:
    """Return horizontal bars, one a value, in their order."""
    chart = (
        alt.Chart(inline(values))
        .mark_bar(color=BLUE)
        .encode(
            y=alt.Y(f"{y}:N", title=None, sort=None, axis=names_axis()),
            x=alt.X(f"{x}:Q", title=title, axis=counts_axis()),
            tooltip=[f"{y}:N", f"{x}:Q"],
        )
    )
    return finish(chart, height=BAR_PIXELS * len(values))


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


def time_axis(fleet: Fleet, *, title: str | None, ticks: int) -> alt.X:
    """Return an axis of time in UTC."""
    is_long = fleet.axis.end - fleet.axis.start > _CLOCK_TIMES
    axis = alt.Axis(
        tickCount=ticks,
        labelOverlap=True,
        format="%d %b" if is_long else "%H:%M",
    )
    return alt.X("at:T", title=title, scale=alt.Scale(type="utc"), axis=axis)


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
