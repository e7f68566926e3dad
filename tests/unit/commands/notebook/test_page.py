"""The page of a notebook: that it can be written is known early, numbers stay numbers."""

import re

import pandas as pd
import pytest

from pipelines.commands.notebook.cells import Cell
from pipelines.commands.notebook.page import Page, show
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
    assert '<td class="number">1e-05</td>' in told["text/html"]
    assert '<td class="number">1,234,567</td>' in told["text/html"]
    assert "1 row, times in UTC" in told["text/html"]


def test_table_with_whole_numbers_shows_no_decimals():
    frame = pd.DataFrame({"members": [6.0, None], "broker_id": [10_000.0, 2.0]})
    told = show(frame)["text/html"]
    assert '<td class="number">6</td>' in told
    assert '<td class="number"></td>' in told
    assert '<td class="number">10000</td>' in told
    assert "broker_<wbr>id" in told


def test_table_with_infinity_says_it_in_words():
    told = show(pd.DataFrame({"latency": [float("inf"), -float("inf"), 2.5]}))
    cells = re.findall(r'number">([^<]*)</td>', told["text/html"])
    assert cells == ["infinite", "-infinite", "2.5"]


def test_table_escapes_texts():
    told = show(pd.DataFrame({"<b>": ["<script>", None], "n": [[1, "<i>"], None]}))
    assert "<script>" not in told["text/html"]
    assert "<b>" not in told["text/html"]
    assert "<i>" not in told["text/html"]
