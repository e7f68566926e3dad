"""A notebook as Jupyter has it: its cells, what they showed, and how to run them again.

Source: nbformat 4.5, "The Notebook file format".
"""

import json
from collections.abc import Mapping
from typing import Any

from .page import Page, RanCell

_START = """\
# What Databricks has by itself. Python must find pipelines: install it by pip, or start
# Jupyter with PYTHONPATH at the checkout.
from os import environ

from pipelines.commands.notebook.jupyter import start

spark, dbutils, display = start(display, environ, {widgets})
"""


def format_ipynb(page: Page, widgets: Mapping[str, str]) -> str:
    """Return a notebook that ran as the text of an .ipynb.

    Args:
        page: What it showed.
        widgets: Values that it was run with, which its first cell has.
    """
    values = json.dumps(dict(widgets), ensure_ascii=False)
    cells = [_code_cell(_START.format(widgets=values), number=0)]
    for number, ran in enumerate(page.cells, start=1):
        cells.append(_format_cell(ran, number))
    made = {
        "cells": cells,
        "metadata": {
            "kernelspec": {
                "display_name": "Python 3",
                "language": "python",
                "name": "python3",
            },
            "language_info": {"name": "python"},
            "title": page.title,
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(made, ensure_ascii=False, indent=1) + "\n"


def _format_cell(ran: RanCell, number: int) -> dict[str, Any]:
    text = ran.cell.text.strip("\n")
    if ran.cell.language == "markdown":
        return {
            "cell_type": "markdown",
            "id": f"cell-{number}",
            "metadata": {},
            "source": text,
        }
    if ran.cell.language == "sql":
        text = f"display(spark.sql({text!r}))"
    cell = _code_cell(text, number)
    cell["outputs"] = [
        {"output_type": "display_data", "data": dict(one), "metadata": {}}
        for one in ran.shown
    ]
    return cell


def _code_cell(text: str, number: int) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": f"cell-{number}",
        "metadata": {},
        "execution_count": number + 1,
        "source": text,
        "outputs": [],
    }
