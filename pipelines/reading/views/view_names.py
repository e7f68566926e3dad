"""Which tables and views a text names, and which job makes a missing one.

Reading a table's log takes part of a second, and the views of client configurations
take several: a reader registers what is named, and what that is made of.
"""

import difflib
import re
from collections.abc import Collection
from collections.abc import Set as AbstractSet

from pipelines.settings.records import Settings
from pipelines.tables.cluster import CLUSTER_CONTRACTS, EFFECTIVE_QUOTAS
from pipelines.tables.configs import CLIENT_CONFIG_CONTRACTS
from pipelines.tables.dynamic_configs import DYNAMIC_CONFIG_CONTRACTS
from pipelines.tables.findings import FINDING_CONTRACTS
from pipelines.tables.maintenance import MAINTENANCE_RUNS
from pipelines.tables.quality import QUALITY_RESULTS
from pipelines.tables.telemetry import TELEMETRY_CONTRACTS
from pipelines.tables.traffic import CLIENT_TRAFFIC
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS

from .registry import VIEWS, VIEWS_AND_FUNCTIONS

_TABLE_MAKERS = {
    **{one.name: "client_telemetry_to_delta" for one in TELEMETRY_CONTRACTS},
    **{one.name: "client_configs_to_delta" for one in CLIENT_CONFIG_CONTRACTS},
    CLIENT_WIRE_CONFIGS.name: "client_wire_configs_to_delta",
    **{one.name: "cluster_metadata_to_delta" for one in CLUSTER_CONTRACTS},
    EFFECTIVE_QUOTAS.name: "refresh_quotas",
    CLIENT_TRAFFIC.name: "client_traffic_to_delta",
    **{one.name: "dynamic_configs_to_delta" for one in DYNAMIC_CONFIG_CONTRACTS},
    MAINTENANCE_RUNS.name: "maintain_tables",
    **{one.name: "client_findings" for one in FINDING_CONTRACTS},
    QUALITY_RESULTS.name: "check_tables",
}
_ALL_MAKERS: dict[str, str] = _TABLE_MAKERS | {
    one.name: one.made_by for one in VIEWS_AND_FUNCTIONS if one.made_by
}
"""What readers may name to the job that makes it."""
TABLES_AND_VIEWS = frozenset(_TABLE_MAKERS) | {one.name for one in VIEWS}
"""All that has rows, without the functions, which take seconds to be known."""
_PARTS = {one.name: {*one.needs, *one.uses} for one in VIEWS_AND_FUNCTIONS}
_NAMES = frozenset(_ALL_MAKERS) | _PARTS.keys()
_WORD = re.compile(r"\w+")
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_READS = frozenset({"select", "with", "from", "values", "table", "explain", "describe"})
"""First words of statements that read nothing but what they name."""
_LISTS_TABLES = frozenset({"identifier", "catalog"})
"""Words of a text whose tables only a run can tell."""


def find_maker(name: str) -> str:
    """Return the job that makes what readers may name."""
    return _ALL_MAKERS[name]


def find_names(query: str) -> Collection[str] | None:
    """Return the tables and views that a statement may need.

    Args:
        query: One statement of SQL.
    Returns: Names that stand in it, in a text or a comment, too, and their parts.
    Nulls: None for all of them, as `SHOW TABLES` needs.
    """
    words = _WORD.findall(_COMMENT.sub(" ", query).lower())
    if not words or words[0] not in _READS | {"desc"}:
        return None
    return find_names_in(query)


def find_names_in(text: str) -> Collection[str] | None:
    """Return the tables and views that a text names, whatever its language is.

    Nulls: None for all of them, where it computes the name of one.
    """
    words = set(_WORD.findall(text.lower()))
    if words & _LISTS_TABLES:
        return None
    return with_parts(words & _NAMES)


def with_parts(names: Collection[str]) -> AbstractSet[str]:
    """Return tables, views and functions with all that they are made of."""
    found: set[str] = set()
    new = {*names}
    while new:
        found |= new
        new = set().union(*(_PARTS.get(name, ()) for name in new)) - found
    return found


def explain_missing(name: str, settings: Settings) -> str:
    """Return a sentence about a table, view or function that a query found missing.

    Args:
        name: As the query has it.
    """
    made_by = _ALL_MAKERS.get(name.lower())
    if made_by:
        where = settings.tables.catalog_schema or settings.tables.root_path
        return f"there is no {name} in {where} yet; {made_by} makes it"
    near = difflib.get_close_matches(name.lower(), _ALL_MAKERS, n=3)
    hint = f"; there is {', '.join(near)}" if near else "; SHOW TABLES names all"
    return f"there is no table, view or function {name}{hint}"
