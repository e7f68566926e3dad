"""Only pipelines/reading defines what numbers mean; everything else selects from it."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
READERS = sorted(
    path
    for folder in ("report", "findings", "commands", "quality")
    for path in (ROOT / "pipelines" / folder).rglob("*.py")
) + sorted((ROOT / "notebooks").glob("*.py"))
QUERY = re.compile(
    r"(?<!sql \")(?:^|[\s(])select\s[^.;]*\sfrom\s+[\w{(]", re.IGNORECASE
)
"""A query; of people's commands (`sql "select ..."`) none."""
FACT_TABLES = {
    "client_metrics",
    "client_pushes",
    "client_instances",
    "client_configs",
    "client_config_pushes",
    "client_config_history",
    "client_wire_configs",
    "client_traffic",
    "effective_quotas",
}


def list_texts(path):
    """Return the strings of a module that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                one.value if isinstance(one, ast.Constant) else "{x}"
                for one in node.values
            )
        elif isinstance(node, ast.Constant) and id(node) not in docs:
            yield str(node.value)


@pytest.mark.parametrize("path", READERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_reader_module_contains_no_sql(path):
    assert [text for text in list_texts(path) if QUERY.search(text)] == []


def test_query_pattern_finds_sql_and_passes_sentences():
    assert QUERY.search("SELECT a FROM b")
    assert QUERY.search("with x as (select 1) select * from {x}")
    assert not QUERY.search('sql "select * from clients"')
    assert not QUERY.search("Read clients that you select.")


@pytest.mark.parametrize("path", READERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_reader_module_opens_no_fact_table(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    opened = {
        ast.unparse(node.args[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "table"
        and node.args
    }
    named = {one.lower().removesuffix(".name").strip("'") for one in opened}
    assert named & FACT_TABLES == set()
