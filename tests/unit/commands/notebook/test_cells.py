"""Databricks source format is read as Databricks writes it."""

import pytest

from pipelines.commands.notebook.cells import (
    Cell,
    InvalidNotebook,
    list_widgets,
    load_cells,
)

NOTEBOOK = """\
# Databricks notebook source
# MAGIC %md
# MAGIC # Title
# MAGIC
# MAGIC Text.

# COMMAND ----------

x = 1

# COMMAND ----------

# MAGIC %sql select 1

# COMMAND ----------

"""


def write(tmp_path, text):
    path = tmp_path / "notebook.py"
    path.write_text(text)
    return path


def test_cells_have_a_language_and_their_place(tmp_path):
    assert load_cells(write(tmp_path, NOTEBOOK)) == [
        Cell(language="markdown", text="# Title\n\nText.", first_line=2),
        Cell(language="python", text="x = 1\n", first_line=9),
        Cell(language="sql", text="select 1", first_line=13),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = 1\n", "the first line must be"),
        ("", "the first line must be"),
        (NOTEBOOK.replace("%sql select 1", "%pip install x"), "line 13: %pip needs Databricks"),
    ],
)  # fmt: skip
def test_what_cannot_run_here_is_refused_with_its_line(tmp_path, text, reason):
    with pytest.raises(InvalidNotebook, match=reason):
        load_cells(write(tmp_path, text))


def test_a_missing_notebook_is_named(tmp_path):
    with pytest.raises(InvalidNotebook, match=r"missing\.py: cannot be read"):
        load_cells(tmp_path / "missing.py")


DECLARED = """\
# Databricks notebook source
dbutils.widgets.text("hours", "24")
dbutils.widgets.dropdown(name="env", defaultValue="local", choices=["local"])

# COMMAND ----------

dbutils.widgets.get("other")
"""


def test_widgets_are_found_without_a_run(tmp_path):
    path = write(tmp_path, DECLARED)
    assert list_widgets(path, load_cells(path)) == ["hours", "env"]


def test_a_widget_whose_name_is_computed_is_left_to_the_run(tmp_path):
    path = write(tmp_path, DECLARED.replace('"hours"', 'f"{1}"'))
    assert list_widgets(path, load_cells(path)) is None


def test_a_cell_that_is_no_python_is_named_with_its_line(tmp_path):
    path = write(tmp_path, f"{DECLARED}\nx = (\n")
    with pytest.raises(InvalidNotebook, match=r"line 9: .* was never closed"):
        list_widgets(path, load_cells(path))
