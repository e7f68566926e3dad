"""Databricks source format to cells.

A notebook is a Python file: cells are parted by `# COMMAND ----------`, and a cell of
another language has `# MAGIC ` before each line, the first of which names it.
Source: Databricks documentation, "Export and import Databricks notebooks".
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.errors import PipelineError

FIRST_LINE = "# Databricks notebook source"
_SEPARATOR = "# COMMAND ----------"
_MAGIC = "# MAGIC"
_WIDGETS = "dbutils.widgets"
_DECLARE = frozenset({"text", "dropdown", "combobox", "multiselect"})
_LANGUAGES = {"%md": "markdown", "%sql": "sql", "%python": "python"}


class InvalidNotebook(PipelineError):
    """Raised when a file is no notebook, or a cell needs what only Databricks has."""

    exit_code = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell."""

    language: str
    """`python`, `markdown` or `sql`."""
    text: str
    first_line: int
    """Line of the file that the text begins at, from 1."""


def load_cells(path: Path) -> list[Cell]:
    """Read a notebook.

    Raises: InvalidNotebook, naming file and line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InvalidNotebook(f"{path}: cannot be read ({error.strerror})") from None
    if not lines or lines[0].strip() != FIRST_LINE:
        raise InvalidNotebook(f"{path}: the first line must be `{FIRST_LINE}`")
    return list(_split_cells(path, lines))


def _split_cells(path: Path, lines: list[str]) -> Iterator[Cell]:
    begin = 1
    for number in range(1, len(lines) + 1):
        if number == len(lines) or lines[number].strip() == _SEPARATOR:
            cell = _make_cell(path, lines[begin:number], begin + 1)
            if cell:
                yield cell
            begin = number + 1


def _make_cell(path: Path, lines: list[str], first_line: int) -> Cell | None:
    while lines and not lines[0].strip():
        lines, first_line = lines[1:], first_line + 1
    if not any(line.strip() for line in lines):
        return None
    if not lines[0].startswith(_MAGIC):
        return Cell(language="python", text="\n".join(lines), first_line=first_line)
    magic = [line.removeprefix(_MAGIC).removeprefix(" ") for line in lines]
    word, _, rest = magic[0].partition(" ")
    if word not in _LANGUAGES:
        raise InvalidNotebook(
            f"{path}, line {first_line}: {word} needs Databricks; here a notebook has "
            f"{', '.join(_LANGUAGES)}"
        )
    text = "\n".join([rest, *magic[1:]]).strip("\n")
    return Cell(language=_LANGUAGES[word], text=text, first_line=first_line)


def list_widgets(path: Path, cells: Sequence[Cell]) -> list[str] | None:
    """Return the widgets that a notebook declares, in order.

    Nulls: None where it computes the name of one, which only a run can tell.
    Raises: InvalidNotebook, naming file and line of a cell that is no Python.
    """
    names: list[str] = []
    for cell in cells:
        if cell.language != "python":
            continue
        for node in ast.walk(_parse_cell(path, cell)):
            if not (isinstance(node, ast.Call) and _declares_widget(node.func)):
                continue
            keywords = {one.arg: one.value for one in node.keywords}
            name = node.args[0] if node.args else keywords.get("name")
            if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
                return None
            names.append(name.value)
    return names


def _parse_cell(path: Path, cell: Cell) -> ast.Module:
    try:
        return ast.parse(cell.text)
    except SyntaxError as error:
        line = cell.first_line + (error.lineno or 1) - 1
        raise InvalidNotebook(f"{path}, line {line}: {error.msg}") from None


def _declares_widget(called: ast.expr) -> bool:
    return (
        isinstance(called, ast.Attribute)
        and called.attr in _DECLARE
        and ast.unparse(called.value) == _WIDGETS
    )
