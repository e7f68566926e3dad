"""The page of a notebook: that it can be written is known early, numbers stay numbers."""

import pandas as pd
import pytest

from pipelines.commands.notebook.cells import Cell
from pipelines.commands.notebook.page import Page
from pipelines.errors import InvalidSetting


def test_an_output_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    for path in (tmp_path, tmp_path / "file" / "page.html"):
        with pytest.raises(InvalidSetting, match="the page cannot be written"):
            Page.try_output(path)


def test_trying_leaves_things_as_they_are(tmp_path):
    page = tmp_path / "folder" / "page.html"
    Page.try_output(page)
    assert list(page.parent.iterdir()) == []
    page.write_text("of yesterday")
    Page.try_output(page)
    assert page.read_text() == "of yesterday"


def test_a_small_number_is_no_zero_and_times_are_utc():
    page = Page(title="a")
    page.begin(Cell(language="python", text="", first_line=1))
    times = pd.to_datetime(["2026-03-01T06:00"])
    page.display(pd.DataFrame({"at": times, "value": [0.00001], "large": [1234567.0]}))
    (told,) = page.cells[0].shown
    assert "<td>1e-05</td>" in told["text/html"]
    assert "<td>1234567.000</td>" in told["text/html"]
    assert "1 row, times in UTC" in told["text/html"]
