"""Tables of a notebook as HTML: numbers and times that people read."""

import html
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from pipelines.counted import counted

_WHOLE_FROM = 10_000
"""Larger numbers are shown without decimals."""
_LONG_LETTERS = 60
_NAME = re.compile(r"(^|_)(id|ids|port|broker|version|level|revision)$")
"""Columns whose numbers are names: without separators."""


def format_table(frame: pd.DataFrame) -> str:
    """Return a frame as a table with the number of its rows."""
    columns = [_format_column(str(name), frame[name]) for name in frame.columns]
    heads = "".join(
        f"<th{_write_class(kind)}>{_break_name(str(name))}</th>"
        for name, (kind, _) in zip(frame.columns, columns, strict=True)
    )
    rows = "\n".join(
        f"<tr>{''.join(cells)}</tr>"
        for cells in zip(*(cells for _, cells in columns), strict=True)
    )
    has_times = any(pd.api.types.is_datetime64_any_dtype(kind) for kind in frame.dtypes)
    zone = ", times in UTC" if has_times else ""
    return (
        f'<div class="table"><table>\n<thead><tr>{heads}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody>\n</table></div>\n"
        f'<p class="note">{counted(len(frame), "row")}{zone}</p>'
    )


def _break_name(name: str) -> str:
    """Return the name of a column that may break after each underscore."""
    return html.escape(name).replace("_", "_<wbr>")


def _write_class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _format_column(name: str, values: pd.Series) -> tuple[str, list[str]]:
    """Return the class of a column, and its cells."""
    kind, write = _choose_writer(name, values)
    cells = []
    for value in values:
        text = "" if _is_null(value) else write(value)
        is_long = not kind and len(text) > _LONG_LETTERS
        shown = _write_class("long" if is_long else kind)
        cells.append(f"<td{shown}>{html.escape(text, quote=False)}</td>")
    return kind, cells


def _is_null(value: Any) -> bool:  # noqa: ANN401 - cells are of any type
    return pd.api.types.is_scalar(value) and bool(pd.isna(value))


def _choose_writer(name: str, values: pd.Series) -> tuple[str, Callable[[Any], str]]:
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        is_date = bool((values.dropna() == values.dropna().dt.normalize()).all())
        form = "%Y-%m-%d" if is_date else "%Y-%m-%d %H:%M:%S"
        return "", lambda value: str(value.strftime(form))
    is_bool = pd.api.types.is_bool_dtype(values.dtype)
    if is_bool or not pd.api.types.is_numeric_dtype(values.dtype):
        return "", str
    if _NAME.search(name):
        return "number", lambda value: f"{value:.0f}"
    return "number", write_number


def write_number(value: float) -> str:
    """Return a number with four digits, or whole if it is large; a name if infinite."""
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    return f"{value:,.4g}" if abs(value) < _WHOLE_FROM else f"{value:,.0f}"
