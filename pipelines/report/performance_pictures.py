"""Pictures of latency, of a record's time, and of consumers."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import altair as alt

from pipelines.skew import is_skewed

from .fleet import SPENT_PARTS
from .looks import (
    BAR_PIXELS,
    BLUE,
    PLOT_PIXELS,
    RED,
    Spec,
    colour,
    finish,
    inline,
    label,
    names_axis,
)
from .packing import round_number

_NAMED_DOTS = 6
"""Consumers with the highest lag that have their name beside the dot."""
_LEAST_DECADES, _LEAST_PERCENT = 0.45, 25
"""Distance of two dots that both have a name, in powers of ten of lag and in idle
percent: nearer names would cover each other."""
_RIGHT_HALF = 55
"""Idle percent from which on a name stands to the left of its dot."""

_LEFT = alt.MarkDef(type="text", align="left", dx=11, fontSize=11)
_RIGHT = alt.MarkDef(type="text", align="right", dx=-11, fontSize=11)

Drawn = Spec | str
Rows = Sequence[Sequence[object]]


def draw_latency(rows: Rows) -> Drawn | None:
    """Return the latency of clients by broker, against their own median."""
    if not rows:
        return None
    values = [
        {
            "client": label(client),
            "broker": str(broker),
            "ms": round_number(latency),
            "times": round_number(times),
        }
        for client, broker, latency, times in _typed(rows)
    ]
    clients = {str(one["client"]) for one in values}
    chart = (
        alt.Chart(inline(values))
        .mark_rect()
        .encode(
            x=alt.X("broker:N", title="broker", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("client:N", title=None, sort=None, axis=names_axis()),
            color=alt.Color(
                "times:Q",
                scale=alt.Scale(
                    type="log",
                    scheme="blueorange",
                    domain=[0.25, 4],
                    clamp=True,
                ),
                legend=alt.Legend(
                    title="times its own median",
                    orient="top",
                    format=".2~f",
                    gradientLength=160,
                    values=[0.25, 0.5, 1, 2, 4],
                ),
            ),
            tooltip=[
                "client:N",
                "broker:N",
                alt.Tooltip("ms:Q", format=",.3~g"),
                alt.Tooltip("times:Q", format=",.2~f"),
            ],
        )
    )
    return finish(chart, height=BAR_PIXELS * len(clients))


def draw_time_spent(rows: Rows) -> Drawn | None:
    """Return the parts of the time that producers' records take.

    If one producer hides the others, its parts are dots on a logarithmic axis.
    """
    if not rows:
        return None
    values = [
        {
            "client": label(client),
            "part": part,
            "ms": round_number(ms),
            "place": SPENT_PARTS.index(part),
        }
        for client, part, ms in _typed(rows)
    ]
    sums: dict[str, float] = defaultdict(float)
    for client, _, ms in _typed(rows):
        sums[label(client)] += ms
    is_log = is_skewed(sums.values())
    if is_log:
        # A logarithmic axis cannot show zero.
        values = [one for one in values if one["ms"]]
    base = alt.Chart(inline(values)).encode(
        y=alt.Y("client:N", title=None, sort=None, axis=names_axis()),
        color=colour("part:N", SPENT_PARTS),
        tooltip=["client:N", "part:N", alt.Tooltip("ms:Q", format=",.3~g")],
    )
    title = "mean time of a record (ms)"
    if is_log:
        x = alt.X(
            "ms:Q",
            title=f"{title}, log",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(format="~s", tickCount=4),
        )
        chart = base.mark_circle(size=70, opacity=0.9).encode(x=x)
    else:
        chart = base.mark_bar().encode(
            x=alt.X("ms:Q", title=title, axis=alt.Axis(tickCount=5)),
            order=alt.Order("place:Q"),
        )
    return finish(chart, height=BAR_PIXELS * len(sums))


def draw_consumers(rows: Rows) -> Drawn | None:
    """Return consumers by idle time and lag; those with the highest lag have names."""
    if not rows:
        return None
    values = [
        {
            "client": label(client),
            "idle": round_number(100 * idle),
            # A logarithmic axis cannot show zero.
            "lag": None if lag is None else max(1, round_number(lag) or 0),
            "rate": round_number(rate),
        }
        for client, idle, lag, rate in _typed(rows)
    ]
    if len(values) == 1:
        return _describe_consumer(values[0])
    x = alt.X(
        "idle:Q",
        title="idle part of its polls (%); left: the consumer is slow",
        scale=alt.Scale(domain=[0, 100]),
    )
    lagging = [one for one in values if one["lag"] is not None]
    layers = _draw_dots(lagging, x) if lagging else []
    if len(lagging) < len(values):
        # Those that report no lag are on the lower edge.
        others = [one for one in values if one["lag"] is None]
        layers.append(
            alt.Chart(inline(others))
            .mark_tick(color=RED, thickness=2, size=12, yOffset=-6)
            .encode(x=x, y=alt.value(PLOT_PIXELS), tooltip=["client:N", "idle:Q"])
        )
    return finish(alt.layer(*layers), height=PLOT_PIXELS)


def _draw_dots(values: Sequence[dict[str, Any]], x: alt.X) -> list[alt.Chart]:
    most = max(one["lag"] for one in values)
    y = alt.Y(
        "lag:Q",
        title="lag (records, log)",
        # Whole powers of ten, because a single value gives an axis no extent.
        scale=alt.Scale(
            type="log", domain=[1, 10 ** max(1, math.ceil(math.log10(most)))]
        ),
        axis=alt.Axis(format="~s", tickCount=5),
    )
    base = alt.Chart(inline(values)).encode(
        x=x, y=y, tooltip=["client:N", "idle:Q", "lag:Q", "rate:Q"]
    )
    dots = base.mark_circle(color=BLUE, opacity=0.65)
    if len({one["rate"] for one in values} - {None}) > 1:
        legend = alt.Legend(title="records/s", orient="top", format="~s", tickCount=3)
        dots = dots.encode(size=alt.Size("rate:Q", legend=legend))
    named = pick_named(values)
    left = [one for one in named if one["idle"] < _RIGHT_HALF]
    right = [one for one in named if one["idle"] >= _RIGHT_HALF]
    layers: list[alt.Chart] = [dots]
    for some, look in ((left, _LEFT), (right, _RIGHT)):
        if some:
            texts = alt.Chart(inline(some)).encode(x=x, y=y, text="client:N")
            texts.mark = look
            layers.append(texts)
    return layers


def pick_named(values: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the consumers with the highest lag whose names do not cover each other."""
    named: list[dict[str, Any]] = []
    for one in sorted(values, key=lambda one: (-one["lag"], one["client"])):
        if len(named) == _NAMED_DOTS:
            break
        if one["lag"] > 1 and not any(_is_near(one, other) for other in named):
            named.append(one)
    return named


def _is_near(one: dict[str, Any], other: dict[str, Any]) -> bool:
    decades = abs(math.log10(one["lag"]) - math.log10(other["lag"]))
    return (
        decades < _LEAST_DECADES and abs(one["idle"] - other["idle"]) < _LEAST_PERCENT
    )


def _describe_consumer(one: dict[str, Any]) -> str:
    told = [f"idle in {one['idle']} % of its polls"]
    if one["lag"] is not None:
        told.append(f"lag {one['lag']:,} records")
    if one["rate"] is not None:
        told.append(f"{one['rate']:,} records/s")
    return f"One consumer: {one['client']}, {', '.join(told)}."


def _typed(rows: Rows) -> Sequence[Any]:
    """Return rows whose columns are known to be of the types that fleet.py says."""
    return rows
