"""Lines of commands and jobs are those of the bridge, in UTC whatever the zone is."""

import logging
import time

import pytest

from pipelines.bridge.operations.logs import ConsoleFormatter
from pipelines.commands.log_lines import LineFormatter


@pytest.fixture
def far_zone(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("far_zone")
def test_a_line_of_a_job_is_one_of_the_bridge():
    record = logging.LogRecord("a.b", logging.WARNING, "f.py", 1, "x %d", (1,), None)
    record.created = 1_700_000_000.5
    line = LineFormatter().format(record)
    assert line == "2023-11-14T22:13:20.500Z WARNING a.b: x 1"
    assert line == ConsoleFormatter().format(record)
