"""How many rules the newest evaluation could ask of each kind of client, and why not.

A kind of client is a software family and a client type.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pipelines.tables.findings import KindCoverage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SOFTWARE, PUSHES = "software", "pushes"
"""What a client lacks if a rule is not for its software, or if it pushed too rarely."""
_WORDS = {
    SOFTWARE: "not for this software",
    PUSHES: "fewer than three pushes in the window",
}
_COVERAGE_SQL = "inline(coverage) AS (family, client_type, lacks, clients)"


def explain_lack(lacks: str) -> str:
    """Return why a rule was not evaluated, in words.

    Args:
        lacks: As in finding_runs: SOFTWARE, PUSHES, or a config key or metric.
    """
    return _WORDS.get(lacks, f"no {lacks}")


def select_rule_coverage(finding_runs: "DataFrame") -> "DataFrame":
    """Return the coverage of the newest evaluation.

    Args:
        finding_runs: The table.
    Returns: rule, family, client_type, lacks (empty: evaluated) and clients.
    """
    newest = finding_runs.selectExpr("max_by(run_id, evaluated_at) AS run_id")
    return finding_runs.join(newest, "run_id").selectExpr("rule", _COVERAGE_SQL)


def sum_up_coverage(rows: Iterable[Mapping[str, Any]]) -> list[KindCoverage]:
    """Return one entry per kind of client, in the order of their names.

    Args:
        rows: As select_rule_coverage returns them.
    """
    kinds: dict[tuple[str, str | None], dict[str, dict[str, int]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for row in rows:
        by_rule = kinds[row["family"], row["client_type"]]
        by_rule[row["rule"]][row["lacks"]] = row["clients"]
    found = []
    for (family, client_type), by_rule in sorted(kinds.items(), key=str):
        missing = [
            (rule, explain_lack(max(lacks, key=lambda one: (lacks[one], one))))
            for rule, lacks in sorted(by_rule.items())
            if "" not in lacks
        ]
        found.append(
            KindCoverage(
                family=family,
                client_type=client_type,
                clients=max(sum(lacks.values()) for lacks in by_rule.values()),
                rules=len(by_rule),
                evaluated=len(by_rule) - len(missing),
                not_evaluated=missing,
            )
        )
    return found
