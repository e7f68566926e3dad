"""Details of the clients that need somebody most: a question for all of them together.

Rows come by the client's row on the page; what is over a bound is counted.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading import client_details
from pipelines.reading.changes import CONFIG
from pipelines.reading.chosen import Chosen
from pipelines.reading.points import read_points
from pipelines.reading.throttling import THROTTLE_METRICS
from pipelines.reading.views.client_config_views import ENTRIES
from pipelines.reading.views.client_software_views import FAMILY_SQL
from pipelines.reading.views.effective_configs_view import EFFECTIVE
from pipelines.reading.views.quota_use_view import CLIENT_QUOTA_USE
from pipelines.settings.metric_semantics import semantics_of, short_name
from pipelines.tables.findings import KindCoverage

from . import finding_rows
from .asked import Asked
from .client_rows import TRAFFIC, Known
from .fleet import Detail, Line, Part

_MOST_INSTANCES, _MOST_CONFIGS, _MOST_CHANGES = 20, 200, 40
_METRICS = "client_metrics"
_SUM = "sum"

Parts = Mapping[int, Part]


def read_details(
    asked: Asked,
    known: Known,
    find_changes: Callable[[], DataFrame],
    coverage: Sequence[KindCoverage],
    most: int,
) -> list[Detail]:
    """Return details of the first clients, in order.

    Args:
        find_changes: Returns the rows of change_rows.find_changes.
        coverage: From finding_rows.read_coverage.
        most: How many.
    """
    chosen = known.rows.where(F.col("row") < most)
    instances = known.instances.where(F.col("row") < most)
    number = min(most, known.clients.num_rows)
    if not number:
        return []
    of_instances = instances.collect()
    told = _read_instances(of_instances)
    configs = _read_configs(asked, instances)
    axis = asked.axis
    of_chosen = client_details.select_changes(
        find_changes(), chosen, start=axis.start, step_ms=axis.step_ms
    ).collect()
    history = _read_history(of_chosen)
    quotas = _read_quotas(asked, chosen)
    lines = _read_lines(asked, instances)
    marks = _read_marks(asked, chosen, lines, of_chosen)
    findings: Parts = {}
    if known.findings is not None:
        findings = finding_rows.read_of_clients(known.findings, chosen)
    no_findings = Part(missing=asked.explain_missing(finding_rows.FINDINGS))
    intervals = _find_intervals(of_instances)
    kinds = _read_kinds(instances, coverage)
    return [
        Detail(
            instances=told.get(row, Part()),
            configs=configs(row),
            history=history.get(row, Part()),
            lines=[leave_partial_step(asked, one) for one in lines.get(row, ())],
            marks=marks(row),
            quotas=quotas(row),
            findings=findings.get(row, no_findings),
            push_interval_ms=intervals.get(row),
            rules_evaluated=kinds[row].evaluated if row in kinds else None,
            rules_not_evaluated=_tell_missing_rules(kinds.get(row)),
        )
        for row in range(number)
    ]


def _part_rows(rows: Sequence[Row], names: Mapping[str, str], most: int) -> Parts:
    """Return rows as a table for each client; `row` comes first in them."""
    found: dict[int, list[tuple[object, ...]]] = defaultdict(list)
    for one in rows:
        found[one["row"]].append(tuple(one[name] for name in names))
    return {
        row: Part(
            names=tuple(names.values()),
            rows=of_client[:most],
            more=max(0, len(of_client) - most),
        )
        for row, of_client in found.items()
    }


def _read_instances(rows: Sequence[Row]) -> Parts:
    names = {
        "client_instance_id": "client instance id",
        "state": "state",
        "client_software_name": "software",
        "client_software_version": "version",
        "client_source_address": "address",
        "first_seen": "first seen",
        "last_seen": "last seen",
        "push_interval_ms": "push interval (ms)",
    }
    told = [one for one in rows if one["client_instance_id"] is not None]
    return _part_rows(told, names, _MOST_INSTANCES)


def _find_intervals(rows: Sequence[Row]) -> dict[int, int]:
    found: dict[int, int] = {}
    for one in rows:
        if one["push_interval_ms"] is not None:
            longest = found.get(one["row"], 0)
            found[one["row"]] = max(longest, one["push_interval_ms"])
    return found


def _read_kinds(
    instances: DataFrame, coverage: Sequence[KindCoverage]
) -> dict[int, KindCoverage]:
    """Return the coverage of each client's kind, by the client's row."""
    if not coverage:
        return {}
    of_kind = {(one.family, one.client_type): one for one in coverage}
    rows = client_details.select_kinds(instances, F.expr(FAMILY_SQL)).collect()
    kinds = {one["row"]: (one["family"], one["client_type"]) for one in rows}
    return {row: of_kind[kind] for row, kind in kinds.items() if kind in of_kind}


def _tell_missing_rules(kind: KindCoverage | None) -> Part:
    if kind is None:
        return Part()
    return Part(names=("rule", "why not"), rows=kind.not_evaluated)


def _or_missing(
    asked: Asked, name: str, read: Callable[[], Parts]
) -> Callable[[int], Part]:
    """Return what tells a client's table, also where nothing tells of any."""
    missing = asked.explain_missing(name)
    found = {} if missing else read()
    return lambda row: found.get(row, Part(missing=missing))


def _read_configs(asked: Asked, instances: DataFrame) -> Callable[[int], Part]:
    is_dynamic = EFFECTIVE in asked.names
    names = {
        "config_key": "key",
        "config_value": "value",
        "source": "source",
        "status": "status",
        "instances": "instances",
    }
    if is_dynamic:
        names |= {"dynamic_value": "set dynamically", "state": "what became of it"}

    def read() -> Parts:
        entries = asked.table(EFFECTIVE if is_dynamic else ENTRIES)
        rows = client_details.select_current_configs(entries, instances)
        return _part_rows(rows.collect(), names, _MOST_CONFIGS)

    return _or_missing(asked, ENTRIES, read)


def _read_history(changed: Sequence[Row]) -> Parts:
    names = {
        "at": "when (UTC)",
        "what": "what",
        "name": "name",
        "before": "before",
        "after": "now",
    }
    return _part_rows(changed, names, _MOST_CHANGES)


def _read_quotas(asked: Asked, chosen: DataFrame) -> Callable[[int], Part]:
    names = {
        "quota_key": "quota key",
        "limit": "limit of a broker",
        "used_percent": "used (%)",
        "basis": "measured by",
        "used_rate": "used (bytes/s)",
        "reported_rate": "its own report (bytes/s)",
        "throttled_ms": "throttled (ms)",
        "shared_by": "clients that share it",
        "quota_id": "quota-id",
        "reason": "why",
    }

    def read() -> Parts:
        rows = client_details.select_quotas(asked.table(CLIENT_QUOTA_USE), chosen)
        return _part_rows(rows.collect(), names, _MOST_CONFIGS)

    return _or_missing(asked, CLIENT_QUOTA_USE, read)


def _read_lines(asked: Asked, instances: DataFrame) -> dict[int, list[Line]]:
    if _METRICS not in asked.names:
        return {}
    axis = asked.axis
    # A counter needs its value before the time to tell what it grew by.
    earlier = timedelta(milliseconds=max(asked.push_interval_ms, axis.step_ms))
    picked = Chosen(since=axis.start - earlier, until=axis.end)
    rows = client_details.select_lines(
        read_points(
            asked.spark,
            picked,
            client_details.LINES,
            # They are few: the points of all other clients are not sorted.
            F.broadcast(instances.where(F.col("client_instance_id").isNotNull())),
        ),
        instances,
        start=axis.start,
        step_ms=axis.step_ms,
    )
    found: dict[tuple[int, str], list[Row]] = defaultdict(list)
    for one in rows.where(F.col("step").between(0, axis.steps - 1)).collect():
        found[one["row"], one["metric"]].append(one)
    order = {name: place for place, name in enumerate(client_details.LINES)}
    made: dict[int, list[Line]] = defaultdict(list)
    for row, metric in sorted(found, key=lambda one: (one[0], order[one[1]])):
        made[row].append(_make_line(metric, found[row, metric]))
    return made


def _make_line(metric: str, rows: Sequence[Row]) -> Line:
    kind = rows[0]["kind"]
    is_sum = kind == _SUM
    value = "amount" if is_sum else "value"
    return Line(
        name=short_name(metric),
        unit=semantics_of(metric, kind).unit if is_sum else rows[0]["unit"],
        points=sorted(
            (one["step"], one[value]) for one in rows if one[value] is not None
        ),
        is_per_step=is_sum,
    )


def leave_partial_step(asked: Asked, line: Line) -> Line:
    """Return a line of sums without the step that the newest push has not ended.

    Its sum is of a shorter time, and would look like a decrease.
    """
    axis = asked.axis
    if not line.is_per_step or asked.newest_push is None:
        return line
    whole = (asked.newest_push - axis.start) // timedelta(milliseconds=axis.step_ms)
    points = [one for one in line.points if one[0] < whole]
    return replace(line, points=points or line.points)


def _read_marks(
    asked: Asked,
    chosen: DataFrame,
    lines: Mapping[int, Sequence[Line]],
    changed: Sequence[Row],
) -> Callable[[int], Mapping[str, Sequence[int]]]:
    """Return what tells the steps in which something happened to a client."""
    throttled = _read_throttled(asked, chosen)
    configured: dict[int, set[int]] = defaultdict(set)
    for one in changed:
        if one["what"] == CONFIG and 0 <= one["step"] < asked.axis.steps:
            configured[one["row"]].add(one["step"])

    def tell(row: int) -> Mapping[str, Sequence[int]]:
        of_client = lines.get(row, ())
        waited = _steps_above_zero(of_client, THROTTLE_METRICS)
        return {
            "throttled": sorted(waited | throttled.get(row, set())),
            "rebalance": sorted(
                _steps_above_zero(of_client, [client_details.REBALANCES])
            ),
            "configuration": sorted(configured.get(row, ())),
        }

    return tell


def _read_throttled(asked: Asked, chosen: DataFrame) -> dict[int, set[int]]:
    """Return steps in which the proxy has seen brokers throttle clients."""
    if TRAFFIC not in asked.names:
        return {}
    axis = asked.axis
    in_time = F.col("window_start").between(F.lit(axis.start), F.lit(axis.end))
    rows = client_details.select_throttled_steps(
        asked.table(TRAFFIC).where(in_time),
        chosen,
        start=axis.start,
        step_ms=axis.step_ms,
    )
    return {
        one["row"]: {step for step in one["steps"] if step < axis.steps}
        for one in rows.collect()
    }


def _steps_above_zero(lines: Sequence[Line], metrics: Sequence[str]) -> set[int]:
    names = {short_name(one) for one in metrics}
    return {
        step
        for line in lines
        if line.name in names
        for step, value in line.points
        if value > 0
    }
