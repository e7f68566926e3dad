"""Pictures of the page: specifications of Vega-Lite, made and checked by Vega-Altair.

Each has one y axis with its unit, and no legend of more than ten names and the rest.
A sentence replaces a picture of a single value. Colours of text, axes
and grid are the page's, which knows light, dark and paper. Names of clients are data,
never a field, an expression or a key.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pipelines.counted import counted

from .fleet import ADVICE, ERROR, WARNING, Fleet, Part, RuleFindings
from .looks import (
    BLUE,
    GREY,
    PINK,
    PLOT_PIXELS,
    RED,
    Spec,
    colour,
    draw_bars,
    finish,
    inline,
    label,
    millis,
    name_days,
    time_axis,
    time_tooltip,
)
from .packing import round_number
from .performance_pictures import draw_consumers, draw_latency, draw_time_spent
from .texts import show_text

MOST_NAMES = 10
REST = "all others"
MARKS = ("throttled", "rebalance", "configuration")
"""Kinds of marks in the lines of a client."""
_MARK_COLOURS = (RED, PINK, GREY)
_MARK_DASHES = ((1, 0), (3, 2), (1, 2))
_SEVERITY_COLOURS = {ERROR: "#d64550", WARNING: "#e69f00", ADVICE: "#4a90c2"}
_NEARLY_FULL, _FULL = 80, 100
"""Percent of a limit from which on it is red, and at which requests are throttled."""

Drawn = Spec | str
"""A picture, or the sentence that replaces it."""


def draw(fleet: Fleet, versions: Mapping[str, int]) -> dict[str, Drawn]:
    """Return the pictures that there are rows for, by the id of their place.

    Args:
        versions: Names of software versions to the number of clients.
    """
    made = {
        "live": _draw_live(fleet),
        "software": _draw_software(versions),
        "findings": _draw_findings(fleet.rules),
        "limits": _draw_limits(fleet.limits),
        "latency": draw_latency(fleet.latency.rows),
        "time_spent": draw_time_spent(fleet.time_spent.rows),
        "consumers": draw_consumers(fleet.consumers.rows),
    }
    return {name: one for name, one in made.items() if one is not None}


def draw_line(fleet: Fleet) -> Spec:
    """Return the picture of one metric of one client, without its data.

    The page fills the data set `points`: at, value, and of a mark its kind. A point
    without a value breaks the line; one is at both ends of the axis.
    """
    x = time_axis(fleet.axis, title=None, ticks=4)
    y = alt.Y("value:Q", title="", axis=alt.Axis(tickCount=3, format=".3~s"))
    base = alt.Chart(alt.NamedData(name="points"))
    kinds = alt.Scale(domain=[*MARKS], range=[*_MARK_COLOURS])
    dashes = alt.Scale(domain=[*MARKS], range=[[*one] for one in _MARK_DASHES])
    marks = (
        base.transform_filter("datum.mark != null")
        .mark_rule(strokeWidth=2, opacity=0.55)
        .encode(
            x=x,
            color=alt.Color("mark:N", scale=kinds, legend=None),
            strokeDash=alt.StrokeDash("mark:N", scale=dashes, legend=None),
            tooltip=[alt.Tooltip("mark:N"), time_tooltip()],
        )
    )
    line = (
        base.transform_filter("datum.mark == null")
        .mark_line(
            color=BLUE, strokeWidth=1.5, point=alt.OverlayMarkDef(size=14, color=BLUE)
        )
        .encode(
            x=x, y=y, tooltip=[time_tooltip(), alt.Tooltip("value:Q", format=",.4~g")]
        )
    )
    return finish(alt.layer(marks, line), height=90)


def keep_most(
    counts: Mapping[str, float], most: int = MOST_NAMES
) -> tuple[list[str], set[str]]:
    """Return the names with the most, and those that become one rest."""
    names = sorted(counts, key=lambda name: (-counts[name], name))
    if len(names) <= most + 1:
        return names, set()
    return names[:most], set(names[most:])


def _draw_live(fleet: Fleet) -> Drawn | None:
    counts: dict[str, float] = defaultdict(float)
    for _, name, live in _typed(fleet.live.rows):
        counts[name] += live
    if not counts:
        return None
    if fleet.axis.steps == 1:
        most = sorted(counts, key=lambda name: (-counts[name], name))[:MOST_NAMES]
        told = ", ".join(f"{label(name)} {counts[name]:,.0f}" for name in most)
        return f"One value: {sum(counts.values()):,.0f} active instances ({told})."
    names, rest = keep_most(counts)
    start, step_ms = millis(fleet.axis.start), fleet.axis.step_ms
    steps = fleet.axis.steps
    summed: Counter[tuple[int, str]] = Counter()
    for step, name, live in _typed(fleet.live.rows):
        summed[step, REST if name in rest else name] += live
    shown = [*map(label, names), *([REST] if rest else [])]
    # A missing step is zero. Without it, the area would cover the gap.
    every = [*names, *([REST] if rest else [])]
    values = [
        {
            "at": start + step * step_ms,
            "who": who,
            "place": place,
            "live": summed[min(step, steps - 1), name],
        }
        for place, (name, who) in enumerate(zip(every, shown, strict=True))
        # The last step has an end.
        for step in range(steps + 1)
    ]
    x = time_axis(fleet.axis, title=name_days(fleet.axis), ticks=8)
    areas = (
        alt.Chart(inline(values))
        .mark_area(interpolate="step-after", opacity=0.85)
        .encode(
            x=x,
            y=alt.Y(
                "live:Q",
                title="active client instances",
                stack=True,
                axis=alt.Axis(tickMinStep=1, tickCount=5),
            ),
            color=colour("who:N", shown),
            order=alt.Order("place:Q"),
            tooltip=[
                alt.Tooltip("who:N", title="clients"),
                time_tooltip(),
                alt.Tooltip("live:Q", title="active"),
            ],
        )
    )
    moments = _list_moments(fleet)
    if not moments:
        return finish(areas, height=PLOT_PIXELS)
    changes = (
        alt.Chart(inline(moments))
        .mark_rule(color=GREY, strokeDash=[2, 3], strokeWidth=1.5)
        .encode(x=x, tooltip=[alt.Tooltip("what:N", title="changed"), time_tooltip()])
    )
    return finish(alt.layer(areas, changes), height=PLOT_PIXELS)


def _list_moments(fleet: Fleet) -> list[dict[str, object]]:
    """Return the changes within the axis, as data of a picture."""
    return [
        {"at": millis(moment), "what": label(what)}
        for change in fleet.changes
        for moment, what in change.moments
        if fleet.axis.start <= moment <= fleet.axis.end
    ]


def _draw_software(counts: Mapping[str, int]) -> Drawn | None:
    if not counts:
        return None
    if len(counts) == 1:
        ((only, clients),) = counts.items()
        verb = "runs" if clients == 1 else "run"
        return f"{counted(clients, 'client')} {verb} {label(only)}."
    names, rest = keep_most(counts)
    values: list[dict[str, object]] = [
        {"what": label(one), "clients": counts[one]} for one in names
    ]
    if rest:
        more = sum(counts[one] for one in rest)
        values.append({"what": f"{len(rest)} other versions", "clients": more})
    return draw_bars(values, "what", "clients", title="clients")


def _draw_findings(rules: Sequence[RuleFindings]) -> Drawn | None:
    most = sorted(rules, key=lambda one: -one.clients)
    values: list[dict[str, object]] = [
        {"rule": label(one.rule), "severity": one.severity, "clients": one.clients}
        for one in most[: MOST_NAMES + 2]
    ]
    if not values:
        return None
    if len(values) == 1:
        return f"{label(most[0].rule)}: {counted(most[0].clients, 'client')}."
    scale = alt.Scale(domain=[*_SEVERITY_COLOURS], range=[*_SEVERITY_COLOURS.values()])
    severities = alt.Color(
        "severity:N", scale=scale, legend=alt.Legend(title=None, orient="top")
    )
    return draw_bars(
        values, "rule", "clients", title="clients with it", colour=severities
    )


def _draw_limits(limits: Part) -> Drawn | None:
    if limits.missing:
        return None
    use, quota, key = map(limits.names.index, ("used (%)", "quota-id", "quota key"))
    cluster = limits.names.index("cluster") if "cluster" in limits.names else None
    values: list[dict[str, object]] = []
    for row in limits.rows[: MOST_NAMES + 2]:
        if row[use] is not None:
            percent = float(str(row[use]))
            # Quotas of several clusters may have equal names.
            place = "" if cluster is None else f" {row[cluster]}"
            values.append(
                {
                    "quota": show_text(f"{row[quota]}{place} {row[key]}"),
                    "percent": round_number(percent),
                    "colour": RED if percent >= _NEARLY_FULL else BLUE,
                }
            )
    if not values:
        return None
    if len(values) == 1:
        return f"{values[0]['quota']}: {values[0]['percent']:,} % used."
    return draw_bars(
        values,
        "quota",
        "percent",
        title="used of a limit (%)",
        colour=alt.Color("colour:N", scale=None),
        limit=_FULL,
    )


def _typed(rows: Sequence[Sequence[object]]) -> Sequence[Any]:
    """Return rows whose columns are known to be of the types that fleet.py says."""
    return rows
