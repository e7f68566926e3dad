"""Findings that are open: by rule with a few clients of each, and client by client."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from pyspark.sql import Row

from pipelines.reading.finding_overview import read_evaluated_at
from pipelines.reading.views.finding_views import OPEN_FINDINGS as OPEN_VIEW
from pipelines.tables.findings import CLIENT_FINDINGS, FINDING_RUNS

from .asked import Asked
from .fleet import SEVERITIES, Example, Part, RuleFindings
from .texts import name_client_id

FINDINGS = CLIENT_FINDINGS.name
OPEN_FINDINGS = "report_open_findings"
EXAMPLES = 10
"""Clients that the page names of a rule."""
_WHO = ("cluster_id", "principal", "client_id", "client_type")
_COLUMNS = (
    *_WHO,
    *("rule", "severity", "instances", "sentence", "setting", "current_value"),
    *("suggested_value", "why", "source", "since"),
)
Key = tuple[str | None, ...]
"""Of a client: its _WHO."""

# A rule is one step less severe where what decides it is a default.
_PLACE_SQL = "array_position(array('error', 'warning', 'advice'), severity)"
_RULES_SQL = f"""
SELECT rule, min_by(severity, {_PLACE_SQL}) AS severity, count(*) AS clients,
  sum(instances) AS instances, count_if(since >= {{since}}) AS opened,
  min(since) AS since, max_by(struct(setting, suggested_value, why, source), since)
    AS newest
FROM {OPEN_FINDINGS} GROUP BY rule
"""  # noqa: S608 - the same
_EXAMPLES_SQL = f"""
SELECT {", ".join(_COLUMNS)} FROM (
  SELECT *, row_number() OVER (
    PARTITION BY rule ORDER BY instances DESC, since, principal, client_id
  ) AS place FROM {OPEN_FINDINGS}
) WHERE place <= {EXAMPLES} ORDER BY rule, place
"""  # noqa: S608 - the same
_OF_CLIENTS_SQL = f"""
SELECT c.row, f.severity, f.rule, f.sentence, f.setting, f.current_value,
  f.suggested_value, f.why, f.since
FROM {OPEN_FINDINGS} AS f JOIN {{chosen}} AS c ON c.principal <=> f.principal
  AND c.client_id <=> f.client_id AND c.client_type <=> f.client_type
  AND coalesce(c.cluster_id = f.cluster_id, true)
"""  # noqa: S608 - the same
# What held once, and ends where it was seen, was never open.
_CHANGES_SQL = f"""
SELECT count_if(since >= {{since}}) AS opened, count_if(until >= {{since}}) AS closed
FROM {FINDINGS} WHERE coalesce(since < until, true) AND {{principals}}
"""  # noqa: S608 - the same


def register_open(asked: Asked) -> None:
    """Register the view of findings that are open and not silenced, where they are."""
    if OPEN_VIEW in asked.names:
        found = asked.spark.table(OPEN_VIEW).where(asked.of_principals())
        found.createOrReplaceTempView(OPEN_FINDINGS)


def read_evaluation(asked: Asked) -> datetime | None:
    """Return when the rules were evaluated last; null: not known."""
    if FINDING_RUNS.name not in asked.names:
        return None
    return read_evaluated_at(asked.spark.table(FINDING_RUNS.name))


def read_rules(asked: Asked, rows: Mapping[Key, int]) -> list[RuleFindings]:
    """Return what rules have found, the most severe first, then by clients.

    Args:
        rows: A client to its row on the page.
    """
    examples = defaultdict(list)
    for one in asked.ask(_EXAMPLES_SQL):
        examples[one["rule"]].append(_make_example(one, rows))
    found = [
        RuleFindings(
            rule=one["rule"],
            severity=one["severity"],
            clients=one["clients"],
            instances=one["instances"] or 0,
            opened=one["opened"],
            since=one["since"],
            examples=examples[one["rule"]],
            **one["newest"].asDict(),
        )
        for one in asked.ask(_RULES_SQL.format(since=asked.since_sql))
    ]
    return sorted(found, key=_by_need)


def _by_need(one: RuleFindings) -> tuple[int, int, str]:
    return SEVERITIES.index(one.severity), -one.clients, one.rule


def _make_example(one: Row, rows: Mapping[Key, int]) -> Example:
    return Example(
        row=rows.get(tuple(one[name] for name in _WHO)),
        name=name_client_id(one["client_id"]),
        sentence=one["sentence"],
        since=one["since"],
    )


def read_of_clients(asked: Asked, chosen: str) -> dict[int, Part]:
    """Return the open findings of the clients of a view, by their row."""
    found: dict[int, list[Row]] = defaultdict(list)
    for one in asked.ask(_OF_CLIENTS_SQL.format(chosen=chosen)):
        found[one["row"]].append(one)
    return {row: _make_part(of_client) for row, of_client in found.items()}


def _make_part(found: Iterable[Row]) -> Part:
    names = {
        "severity": "severity",
        "rule": "rule",
        "sentence": "what is wrong",
        "setting": "set",
        "current_value": "is",
        "suggested_value": "to",
        "why": "why",
        "since": "since",
    }
    rows: Sequence[Row] = sorted(
        found, key=lambda one: (SEVERITIES.index(one["severity"]), one["rule"])
    )
    told = [tuple(one[name] for name in names) for one in rows]
    return Part(names=tuple(names.values()), rows=told)


def count_changes(asked: Asked) -> tuple[int, int]:
    """Return how many findings have opened, and how many closed, since then."""
    query = _CHANGES_SQL.format(since=asked.since_sql, principals=asked.of_principals())
    (one,) = asked.ask(query)
    return one["opened"], one["closed"]
