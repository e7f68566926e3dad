"""Rows as JSON that every parser takes."""

import json
from datetime import UTC, datetime
from math import inf, nan

import pytest
from pyspark.sql import Row

from pipelines.commands.configs.as_json import format_json


def refuse(text):
    pytest.fail(f"{text} is not JSON")


def test_numbers_that_json_does_not_know_are_texts():
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    row = Row(
        value_double=nan,
        low=-inf,
        half=0.5,
        received_at=at,
        before=[Row(value=inf, is_default=None)],
        configs={"acks": Row(value="all")},
    )
    (found,) = json.loads(format_json([row]), parse_constant=refuse)
    assert found == {
        "value_double": "NaN",
        "low": "-Infinity",
        "half": 0.5,
        "received_at": "2026-03-01T12:00:00Z",
        "before": [{"value": "Infinity", "is_default": None}],
        "configs": {"acks": {"value": "all"}},
    }
    assert format_json([]) == "[]"
