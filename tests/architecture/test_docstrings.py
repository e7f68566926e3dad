"""No line of a docstring repeats what the signature says."""

import ast
import re

import pytest

from pipelines.settings import CONF_PATH

ROOT = CONF_PATH.parent
NO_MEANING = frozenset(
    [
        "a",
        "an",
        "and",
        "any",
        "are",
        "as",
        "be",
        "by",
        "for",
        "from",
        "given",
        "in",
        "is",
        "it",
        "its",
        "of",
        "one",
        "or",
        "same",
        "that",
        "the",
        "their",
        "these",
        "this",
        "those",
        "to",
        "which",
        "with",
    ]
)
"""What is left of an empty line beside the words of name and type."""
OF_TYPE = {
    "SparkSession": frozenset(
        ["delta", "job", "kafka", "query", "reader", "s", "session", "source"]
    ),
    "Settings": frozenset(
        ["all", "conf", "environment", "one", "say", "tables", "where"]
    ),
    "TableSettings": frozenset(
        ["all", "conf", "environment", "say", "tables", "where"]
    ),
}
"""More such words, for an argument of that type."""


def split_words(text):
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", text)
    return {word.lower().rstrip("s") or "s" for word in found}


def list_arguments(function):
    named = function.args
    every = [*named.posonlyargs, *named.args, *named.kwonlyargs]
    return {one.arg: ast.unparse(one.annotation) for one in every if one.annotation}


def find_empty_lines(function):
    """Return the lines of Args that say nothing more than the signature."""
    text = ast.get_docstring(function) or ""
    section = re.search(r"^Args:\n((?:    .*\n?|\n)*)", text, re.MULTILINE)
    lines = re.findall(
        r"^    (\w+): (.*(?:\n        .*)*)",
        section[1] if section else "",
        re.MULTILINE,
    )
    types = list_arguments(function)
    return [
        f"{name}: {said}"
        for name, said in lines
        # A constant's name and what None means are news.
        if not re.search(r"\b[A-Z]+_[A-Z]+\b|\bNone\b", said)
        and not split_words(said)
        - split_words(" ".join(NO_MEANING))
        - split_words(" ".join(OF_TYPE.get(types.get(name, ""), ())))
        - split_words(f"{name} {types.get(name, '')}")
    ]


def parse_function(text):
    return ast.parse(text).body[0]


@pytest.mark.parametrize(
    ("said", "is_empty"),
    [
        ("Settings of one environment.", True),
        ("Of one environment.", True),
        ("One of SETTINGS_OF_TESTS.", False),
        ("What the job's checkpoint was made with.", False),
    ],
)
def test_an_empty_line_is_found(said, is_empty):
    function = parse_function(
        f'def f(settings: Settings):\n    """Do.\n\n    Args:\n        settings: {said}\n    """'
    )
    assert bool(find_empty_lines(function)) == is_empty


@pytest.mark.parametrize("room", ["pipelines", "udfs"])
def test_no_line_repeats_the_signature(room):
    empty = [
        f"{path.relative_to(ROOT)}: {function.name}: {line}"
        for path in sorted((ROOT / room).rglob("*.py"))
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for line in find_empty_lines(function)
    ]
    assert empty == []
