"""What the test plan of a proposal names is there."""

import ast
import re

import pytest

from pipelines.settings import CONF_PATH

TESTS = CONF_PATH.parent / "tests"
PLAN = TESTS / "kip_1324_test_plan.md"
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")
ROW = re.compile(r"^\| (?P<item>[^|]+) \| (?P<shown>[^|]+) \|$", re.MULTILINE)
HEAD = "Item"
OUT_OF_REACH = re.compile(r"out of reach: \S")


def list_rows():
    rows = ROW.findall(PLAN.read_text(encoding="utf-8"))
    return [row for row in rows if row[0] != HEAD]


def list_tests(path):
    """Return the names of the tests that pytest collects from a file."""
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    return {
        one.name
        for one in tree.body
        if isinstance(one, ast.FunctionDef) and one.name.startswith("test_")
    }


@pytest.mark.parametrize(("path", "name"), NAMED.findall(PLAN.read_text()))
def test_a_test_that_the_plan_names_exists(path, name):
    assert name in list_tests(path)


def test_each_item_of_the_plan_has_a_test_or_a_reason_why_not():
    rows = list_rows()
    assert len(rows) > 30
    for item, shown in rows:
        assert NAMED.search(shown) or OUT_OF_REACH.match(shown), item
