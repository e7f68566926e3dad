"""Findings that are open: by rule with a few clients of each, and client by client."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime

from pyspark.sql import DataFrame, Row

from pipelines.reading import finding_overview
from pipelines.reading.client_states import CLIENT_KEY
from pipelines.reading.rule_coverage import select_rule_coverage, sum_up_coverage
from pipelines.reading.views.finding_views import OPEN_FINDINGS
from pipelines.tables.findings import KindCoverage

from .asked import Asked
from .fleet import Example, Part, RuleFindings
from .texts import name_client_id

FINDINGS, _RUNS = "client_findings", "finding_runs"
EXAMPLES = 10
"""Clients that the page names of a rule."""
Key = tuple[str | None, ...]
"""Of a client: cluster, principal, client ID and type."""


def select_open(asked: Asked, known_clients: DataFrame) -> DataFrame | None:
    """Return the open findings with the keys of their clients; None: no table."""
    if OPEN_FINDINGS not in asked.names:
        return None
    found = asked.of_principals(asked.table(OPEN_FINDINGS))
    return finding_overview.with_known_client(found, known_clients)


def read_evaluation(asked: Asked) -> datetime | None:
    """Return when the rules were evaluated last; null: not known."""
    if _RUNS not in asked.names:
        return None
    return finding_overview.read_evaluated_at(asked.table(_RUNS))


def read_coverage(asked: Asked) -> list[KindCoverage]:
    """Return how many rules were evaluated for each kind of client; empty: unknown."""
    if _RUNS not in asked.names:
        return []
    rows = select_rule_coverage(asked.table(_RUNS)).collect()
    return sum_up_coverage(row.asDict() for row in rows)


def read_rules(
    asked: Asked, found: DataFrame, rows: Mapping[Key, int]
) -> list[RuleFindings]:
    """Return what rules have found, the most severe first, then by clients.

    Args:
        found: From select_open.
        rows: A client to its row on the page.
    """
    examples = defaultdict(list)
    for one in finding_overview.select_examples(found, EXAMPLES).collect():
        examples[one["rule"]].append(_make_example(one, rows))
    return [
        RuleFindings(
            rule=one["rule"],
            severity=one["severity"],
            clients=one["clients"],
            instances=one["instances"] or 0,
            opened=one["opened"],
            since=one["since"],
            setting=one["setting"],
            suggested_value=one["suggested_value"],
            why=one["why"],
            source=one["source"],
            examples=examples[one["rule"]],
        )
        for one in finding_overview.select_by_rule(found, asked.since).collect()
    ]


def _make_example(one: Row, rows: Mapping[Key, int]) -> Example:
    who = tuple(one[name] for name in CLIENT_KEY)
    return Example(
        row=rows.get(who),
        name=name_client_id(one["client_id"]),
        sentence=one["sentence"],
        since=one["since"],
        cluster=one["cluster_id"],
    )


def read_of_clients(found: DataFrame, chosen: DataFrame) -> dict[int, Part]:
    """Return the open findings of chosen clients, by their row."""
    names = {
        "severity": "severity",
        "rule": "rule",
        "sentence": "what is wrong",
        "setting": "set",
        "current_value": "is",
        "suggested_value": "to",
        "why": "why",
        "source": "source",
        "since": "since",
    }
    of_row: dict[int, list[tuple[object, ...]]] = defaultdict(list)
    for one in finding_overview.select_of_clients(found, chosen).collect():
        of_row[one["row"]].append(tuple(one[name] for name in names))
    return {
        row: Part(names=tuple(names.values()), rows=told)
        for row, told in of_row.items()
    }
