"""Run a notebook outside Databricks, and keep what it shows, as a page of HTML."""

import base64
import html
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from markdown_it import MarkdownIt
from matplotlib.figure import Figure
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from pipelines.commands.failures import describe
from pipelines.commands.refused_queries import refuse_query
from pipelines.errors import InvalidSetting, PipelineError
from pipelines.reading import views
from pipelines.settings.records import Settings

from .cells import Cell, InvalidNotebook, list_widgets
from .tables import format_table

# As many rows as Databricks itself displays.
_MAX_ROWS = 1000
_DPI = 110
_STYLE = """
:root { --ink: #1b1b1b; --soft: #5c5c5c; --paper: #ffffff; --line: #dddddd; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eaf0; --soft: #a3adbb; --paper: #12161c; --line: #343d49; }
  img { background: #ffffff; border-radius: 6px; }
}
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 78rem; margin: 2rem auto;
       padding: 0 1rem; color: var(--ink); background: var(--paper); }
.table { overflow: auto; max-height: 36rem; }
table { border-collapse: collapse; font-size: 13px; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: left;
         vertical-align: top; }
td { white-space: nowrap; }
td.long { white-space: normal; min-width: 20rem; overflow-wrap: anywhere; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
th { position: sticky; top: 0; background: var(--paper); vertical-align: bottom; }
img { display: block; max-width: 100%; margin: .6rem 0; }
.note { color: var(--soft); font-size: 13px; }
.picture { overflow-x: auto; }
@media (max-width: 640px) {
  body { margin: 1rem auto; }
  .table { max-height: 75vh; }
  img { max-width: none; width: 40rem; }
}
@media print {
  :root { --ink: #000000; --soft: #444444; --paper: #ffffff; --line: #bbbbbb; }
  body { max-width: none; margin: 0; }
  .table { max-height: none; overflow: visible; }
  table { font-size: 8pt; }
  th, td { padding: .15rem .3rem; }
  td { white-space: normal; }
  td.number { white-space: nowrap; }
  img, tr { break-inside: avoid; }
}
"""


Shown = dict[str, str]
"""One thing that is shown, by its forms: HTML, or PNG (base64) with TEXT beside it."""
HTML, PNG, TEXT = "text/html", "image/png", "text/plain"


@dataclass(slots=True)
class RanCell:
    """A cell, and what it showed."""

    cell: Cell
    shown: list[Shown] = field(default_factory=list)


@dataclass(slots=True)
class Widgets:
    """`dbutils.widgets` of Databricks, with values given on the command line."""

    given: dict[str, str]
    named: tuple[str, ...] = ()
    """Those given by their name on the command line."""
    defaults: dict[str, str] = field(default_factory=dict)

    def text(self, name: str, default: str, label: str = "") -> None:
        """Declare a widget of free text."""
        del label  # a page has no place to edit it
        self.defaults[name] = default

    def dropdown(
        self, name: str, default: str, choices: Sequence[str], label: str = ""
    ) -> None:
        """Declare a widget with one choice."""
        value = self.given.get(name, default)
        if value not in choices:
            known = ", ".join(choices)
            raise InvalidSetting(f"--widget {name}: must be one of {known}")
        self.text(name, default, label)

    combobox = dropdown

    def check_names(self, path: Path, cells: Sequence[Cell]) -> None:
        """Refuse a value for a widget that the notebook does not have.

        Args:
            path: The notebook, for the message.
            cells: Its cells, which declare the widgets.
        Raises: InvalidSetting, naming those that there are.
        """
        declared = list_widgets(path, cells)
        if declared is None:
            return
        for name in self.named:
            if name not in declared:
                known = ", ".join(declared) or "none"
                raise InvalidSetting(
                    f"--widget {name}: {path} has no such widget; it has {known}"
                )

    def get(self, name: str) -> str:
        """Return the value given, or the default."""
        if name not in self.defaults:
            raise InvalidSetting(f"widget {name}: the notebook does not declare it")
        return self.given.get(name, self.defaults[name])


@dataclass(slots=True)
class Utilities:
    """The part of `dbutils` that a portable notebook may use."""

    widgets: Widgets


@dataclass(slots=True)
class Page:
    """What a notebook showed, as it grows."""

    title: str
    cells: list[RanCell] = field(default_factory=list)

    def begin(self, cell: Cell) -> None:
        """Let what is shown from now on be of a cell."""
        self.cells.append(RanCell(cell))

    def display(self, shown: object) -> None:
        """Add a table or a picture, as Databricks' `display` does.

        Raises: TypeError for anything that is neither.
        """
        self.cells[-1].shown.append(show(shown))

    @staticmethod
    def try_output(path: Path) -> None:
        """Make sure that a page can be written, before it takes its time.

        Raises: InvalidSetting.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not path.exists()
            with path.open("ab"):
                pass
            if is_new:
                path.unlink()
        except OSError as error:
            raise InvalidSetting(
                f"{path}: the page cannot be written ({error.strerror})"
            ) from None

    def format(self) -> str:
        """Return the page as HTML, complete in itself."""
        body = "\n".join(part for ran in self.cells for part in _format_cell(ran))
        return (
            f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            f"<title>{html.escape(self.title)}</title>\n<style>{_STYLE}</style>\n"
            f"<body>\n{body}\n</body>\n</html>\n"
        )


def _format_cell(ran: "RanCell") -> Iterator[str]:
    if ran.cell.language == "markdown":
        yield MarkdownIt("commonmark", {"html": False}).render(ran.cell.text)
    for one in ran.shown:
        picture = one.get(PNG)
        if picture is None:
            yield one[HTML]
        else:
            alt = html.escape(one[TEXT])
            source = f"data:{PNG};base64,{picture}"
            yield f'<div class="picture"><img alt="{alt}" src="{source}"></div>'


def parse_widgets(given: Mapping[str, str], texts: Sequence[str]) -> Widgets:
    """Return widgets with the values of the command line.

    Args:
        given: Values that the command itself supplies.
        texts: `name=value` of each --widget; these win.
    Raises: InvalidSetting.
    """
    values, named = dict(given), []
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator:
            raise InvalidSetting(f"--widget {text}: expects name=value")
        values[name] = value
        named.append(name)
    return Widgets(values, tuple(named))


def run_cells(
    spark: SparkSession,
    settings: Settings,
    path: Path,
    cells: Sequence[Cell],
    widgets: Widgets,
) -> Page:
    """Run every cell in order; return what they displayed.

    Args:
        spark: Session of the notebook's `spark`.
        settings: Tables to register for %sql cells.
        path: The notebook, for progress and errors.
        cells: From load_cells.
        widgets: Values of its widgets.
    Raises: InvalidNotebook, naming file and line of a cell that failed; the
        PipelineError of a cell.
    """
    page = Page(title=path.stem)
    names: dict[str, Any] = {
        "__name__": "__main__",
        "spark": spark,
        "sc": spark.sparkContext,
        "dbutils": Utilities(widgets),
        "display": page.display,
    }
    text = "\n".join(cell.text for cell in cells)
    # A cell of Python may make up a name; most register everything themselves.
    named = views.find_names_in(text) if "views.register(" in text else None
    views.register(spark, settings, named)
    for number, cell in enumerate(cells, start=1):
        print(f"{path.name}: cell {number} of {len(cells)}", file=sys.stderr)
        try:
            _run_cell(path, cell, page, names, spark)
        except PySparkException as error:
            place = f"{path}, cell at line {cell.first_line}"
            told = refuse_query(error, settings)
            raise InvalidNotebook(f"{place}: {told}") from error
    return page


def _run_cell(
    path: Path, cell: Cell, page: Page, names: dict[str, Any], spark: SparkSession
) -> None:
    page.begin(cell)
    if cell.language == "markdown":
        return
    try:
        if cell.language == "sql":
            page.display(spark.sql(cell.text))
            return
        # Blank lines in front, so that a traceback names the line of the file.
        source = "\n" * (cell.first_line - 1) + cell.text
        exec(compile(source, str(path), "exec"), names)  # noqa: S102 - that is its job
    except (PipelineError, PySparkException):
        raise
    except Exception as error:
        place = f"{path}, cell at line {cell.first_line}"
        raise InvalidNotebook(f"{place}: {describe(error)}") from error


def show(shown: object) -> Shown:
    """Return a table or a picture as a page has it.

    Args:
        shown: A DataFrame of Spark or pandas, whose first thousand rows are shown, or
            a Figure.
    Raises: TypeError for anything else.
    """
    if isinstance(shown, DataFrame):
        return {HTML: format_table(shown.limit(_MAX_ROWS).toPandas())}
    if isinstance(shown, pd.DataFrame):
        return {HTML: format_table(shown.head(_MAX_ROWS))}
    if isinstance(shown, Figure):
        title = shown.axes[0].get_title(loc="left") if shown.axes else ""
        return {PNG: _draw(shown), TEXT: title}
    kind = type(shown).__name__
    raise TypeError(f"display takes a DataFrame or a Figure, not {kind}")


def _draw(figure: Figure) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_DPI)
    return base64.b64encode(buffer.getvalue()).decode("ascii")
