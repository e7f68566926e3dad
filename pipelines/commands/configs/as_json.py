"""Rows as JSON, for programs."""

import json
import math
from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import Row

from .lines import show_time


def format_json(rows: Sequence[Row]) -> str:
    """Return rows as a JSON array of objects.

    Args:
        rows: Of what the views hold.
    Returns: JSON as RFC 8259 has it: moments are texts, and so are the numbers that it
        does not know, "NaN", "Infinity" and "-Infinity".
    Raises: TypeError for a value that no view holds.
    """
    documents = [_as_json(row.asDict(recursive=True)) for row in rows]
    return json.dumps(documents, indent=2, allow_nan=False)


def _as_json(value: object) -> object:
    if isinstance(value, dict):
        return {name: _as_json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(one) for one in value]
    if isinstance(value, datetime):
        return show_time(value)
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value
