"""Pictures of the page: specifications of Vega-Lite, made and checked by Vega-Altair.

Every one has one y axis with its unit, and no legend of more than ten names and the
rest. Colours of text, axes and grid are the page's, which knows light, dark and paper.
Names of clients are data, never a field, an expression or a key.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from .fleet import (
    ADVICE,
    ERROR,
    SPENT_PARTS,
    UNKNOWN,
    WARNING,
    Fleet,
    Part,
    RuleFindings,
)
from .looks import (
    BAR_PIXELS,
    BLUE,
    PINK,
    PLOT_PIXELS,
    RED,
    Spec,
    colour,
    counts_axis,
    draw_bars,
    finish,
    inline,
    label,
    millis,
    names_axis,
    time_axis,
    time_tooltip,
)
from .packing import round_number

MOST_NAMES = 10
REST = "all others"
_SEVERITY_COLOURS = {ERROR: "#d64550", WARNING: "#e69f00", ADVICE: "#4a90c2"}

Ages = Mapping[tuple[str, str], int | None]


def draw(fleet: Fleet, ages: Ages) -> dict[str, Spec]:
    """Return the pictures that there are rows for, by the id of their place.

    Args:
        ages: Software and version to days since its release; null: not known.
    """
    made = {
        "live": _draw_live(fleet),
        "software": _draw_software(fleet, ages),
        "findings": _draw_findings(fleet.rules),
        "limits": _draw_limits(fleet.limits),
        "latency": _draw_latency(fleet.latency.rows),
        "time_spent": _draw_time_spent(fleet.time_spent.rows),
        "consumers": _draw_consumers(fleet.consumers.rows),
    }
    return {name: one for name, one in made.items() if one is not None}


def draw_line(fleet: Fleet) -> Spec:
    """Return the picture of one metric of one client, without its data.

    The page fills the data set `points`: at, value, and of a mark its kind. It has a
    point without a value at both ends of the time, so that all lines have one axis.
    """
    x = time_axis(fleet, title=None, ticks=4)
    y = alt.Y("value:Q", title="", axis=alt.Axis(tickCount=3, format=".3~s"))
    base = alt.Chart(alt.NamedData(name="points"))
    kinds = alt.Scale(domain=["throttled", "rebalance"], range=[RED, PINK])
    marks = (
        base.transform_filter("datum.mark != null")
        .mark_rule(strokeWidth=2, opacity=0.55)
        .encode(
            x=x,
            color=alt.Color("mark:N", scale=kinds, legend=None),
            strokeDash=alt.StrokeDash(
                "mark:N",
                scale=alt.Scale(
                    domain=["throttled", "rebalance"], range=[[1, 0], [3, 2]]
                ),
                legend=None,
            ),
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
    """Return the names with most, in order, and those that belong to the rest."""
    names = sorted(counts, key=lambda one: (-counts[one], one))
    # A rest of one would be no shorter than its name.
    if len(names) <= most + 1:
        return names, set()
    return names[:most], set(names[most:])


def _draw_live(fleet: Fleet) -> Spec | None:
    counts: dict[str, float] = defaultdict(float)
    for _, name, live in _typed(fleet.live.rows):
        counts[name] += live
    names, rest = keep_most(counts)
    start, step_ms = millis(fleet.axis.start), fleet.axis.step_ms
    summed: Counter[tuple[int, str]] = Counter()
    for step, name, live in _typed(fleet.live.rows):
        summed[step, REST if name in rest else name] += live
    shown = [*map(label, names), *([REST] if rest else [])]
    # A step that a group has no row for is zero, else areas would be drawn across it.
    every = [*names, *([REST] if rest else [])]
    values = [
        {
            "at": start + step * step_ms,
            "who": label,
            "place": place,
            "live": summed[step, name],
        }
        for place, (name, label) in enumerate(zip(every, shown, strict=True))
        for step in range(fleet.axis.steps)
    ]
    if not counts:
        return None
    areas = (
        alt.Chart(inline(values))
        .mark_area(interpolate="step-after", opacity=0.85)
        .encode(
            x=time_axis(fleet, title="time (UTC)", ticks=8),
            y=alt.Y("live:Q", title="live client instances", stack=True),
            color=colour("who:N", shown),
            order=alt.Order("place:Q"),
            tooltip=[
                alt.Tooltip("who:N", title="clients"),
                time_tooltip(),
                alt.Tooltip("live:Q"),
            ],
        )
    )
    changes = (
        alt.Chart(inline(_list_moments(fleet)))
        .mark_rule(color="#888888", strokeDash=[2, 3], strokeWidth=1.5)
        .encode(
            x=time_axis(fleet, title="time (UTC)", ticks=8),
            tooltip=[alt.Tooltip("what:N", title="changed"), time_tooltip()],
        )
    )
    return finish(alt.layer(areas, changes), height=PLOT_PIXELS)


def _list_moments(fleet: Fleet) -> list[dict[str, object]]:
    """Return when something changed, as data of a picture."""
    return [
        {"at": millis(moment), "what": label(what)}
        for change in fleet.changes
        for moment, what in change.moments
    ]


def _draw_software(fleet: Fleet, ages: Ages) -> Spec | None:
    columns = [fleet.clients.column(one).to_pylist() for one in ("software", "version")]
    counts = Counter(
        _name_version((software or UNKNOWN, version or UNKNOWN), ages)
        for software, version in zip(*columns, strict=True)
    )
    if not counts:
        return None
    names, rest = keep_most(counts)
    values = [{"what": label(one), "clients": counts[one]} for one in names]
    if rest:
        more = sum(counts[one] for one in rest)
        values.append({"what": f"{len(rest)} other versions", "clients": more})
    return draw_bars(values, "what", "clients", title="clients")


def _name_version(which: tuple[str, str], ages: Ages) -> str:
    age = ages.get(which)
    return " ".join(which) if age is None else f"{' '.join(which)}, {age:,} days old"


def _draw_findings(rules: Sequence[RuleFindings]) -> Spec | None:
    most = sorted(rules, key=lambda one: -one.clients)
    values = [
        {"rule": label(one.rule), "severity": one.severity, "clients": one.clients}
        for one in most[: MOST_NAMES + 2]
    ]
    if not values:
        return None
    scale = alt.Scale(domain=[*_SEVERITY_COLOURS], range=[*_SEVERITY_COLOURS.values()])
    chart = (
        alt.Chart(inline(values))
        .mark_bar()
        .encode(
            y=alt.Y("rule:N", title=None, sort=None, axis=names_axis()),
            x=alt.X("clients:Q", title="clients with it", axis=counts_axis()),
            color=alt.Color(
                "severity:N", scale=scale, legend=alt.Legend(title=None, orient="top")
            ),
            tooltip=["rule:N", "severity:N", "clients:Q"],
        )
    )
    return finish(chart, height=BAR_PIXELS * len(values))


def _draw_limits(limits: Part) -> Spec | None:
    if limits.missing:
        return None
    use, quota, key = map(limits.names.index, ("used (%)", "quota-id", "quota key"))
    values = [
        {
            "quota": label(f"{row[quota]} {row[key]}"),
            "percent": round_number(float(str(row[use]))),
        }
        for row in limits.rows[: MOST_NAMES + 2]
        if row[use] is not None
    ]
    if not values:
        return None
    bars = (
        alt.Chart(inline(values))
        .mark_bar()
        .encode(
            y=alt.Y("quota:N", title=None, sort=None, axis=names_axis()),
            x=alt.X(
                "percent:Q",
                title="used of a broker's limit (%)",
                axis=alt.Axis(tickCount=6),
            ),
            color=alt.condition("datum.percent >= 80", alt.value(RED), alt.value(BLUE)),
            tooltip=["quota:N", alt.Tooltip("percent:Q", title="% used")],
        )
    )
    full = (
        alt.Chart(inline([{"percent": 100}]))
        .mark_rule(strokeDash=[4, 3], strokeWidth=2, color="#888888")
        .encode(x="percent:Q")
    )
    return finish(alt.layer(bars, full), height=BAR_PIXELS * len(values))


def _draw_latency(rows: Sequence[Sequence[object]]) -> Spec | None:
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


def _draw_time_spent(rows: Sequence[Sequence[object]]) -> Spec | None:
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
    chart = (
        alt.Chart(inline(values))
        .mark_bar()
        .encode(
            y=alt.Y("client:N", title=None, sort=None, axis=names_axis()),
            x=alt.X("ms:Q", title="mean time of a record (ms)"),
            color=colour("part:N", SPENT_PARTS),
            order=alt.Order("place:Q"),
            tooltip=["client:N", "part:N", alt.Tooltip("ms:Q", format=",.3~g")],
        )
    )
    return finish(
        chart, height=BAR_PIXELS * len({str(one["client"]) for one in values})
    )


def _draw_consumers(rows: Sequence[Sequence[object]]) -> Spec | None:
    if not rows:
        return None
    values = [
        {
            "client": label(client),
            "idle": round_number(100 * idle),
            # A logarithm has no place for none at all.
            "lag": None if lag is None else max(1, round_number(lag) or 0),
            "rate": round_number(rate),
        }
        for client, idle, lag, rate in _typed(rows)
    ]
    x = alt.X(
        "idle:Q",
        title="idle part of its polls (%); left: the consumer is slow",
        scale=alt.Scale(domain=[0, 100]),
    )
    tooltip = ["client:N", "idle:Q", "lag:Q", "rate:Q"]
    told = (
        alt.Chart(inline([one for one in values if one["lag"] is not None]))
        .mark_circle(color=BLUE, opacity=0.65)
        .encode(
            x=x,
            y=alt.Y(
                "lag:Q",
                title="lag (records, log)",
                scale=alt.Scale(type="log", domainMin=1),
                axis=alt.Axis(format="~s", tickCount=5),
            ),
            size=alt.Size(
                "rate:Q",
                legend=alt.Legend(
                    title="records/s", orient="top", format="~s", tickCount=3
                ),
            ),
            tooltip=tooltip,
        )
    )
    # Those that tell no lag stand on the lower edge.
    silent = (
        alt.Chart(inline([one for one in values if one["lag"] is None]))
        .mark_tick(color=RED, thickness=2, size=12, yOffset=-6)
        .encode(x=x, y=alt.value(PLOT_PIXELS), tooltip=["client:N", "idle:Q"])
    )
    return finish(alt.layer(told, silent), height=PLOT_PIXELS)


def _typed(rows: Sequence[Sequence[object]]) -> Sequence[Any]:
    """Return rows whose columns are known to be of the types that fleet.py says."""
    return rows
