"""How a key of conf/ is declared: once, with what its users must know."""

from collections.abc import Sequence
from dataclasses import field
from typing import Any

MAX_PORT = 65_535
MAX_INT32 = 2**31 - 1
SET_ORIGIN = "--set"
"""Where a value is from that no file of conf/ says."""
REQUIRED = object()
"""The default of a key that every table must have."""


def key(
    meaning: str,
    *,
    unit: str = "",
    low: int | None = None,
    high: int | None = None,
    choices: Sequence[str] = (),
    default: object = REQUIRED,
) -> Any:
    """Declare one key of conf/ with what its users must know.

    Args:
        meaning: One sentence for the page of settings.
        unit: Unit of a number.
        low: Smallest number.
        high: Largest number.
        choices: The only texts allowed, when there are any.
        default: For keys of lists of tables, which base.toml cannot fill.
    """
    return field(
        metadata={
            "meaning": meaning,
            "unit": unit,
            "low": low,
            "high": high,
            "choices": tuple(choices),
            "default": default,
        }
    )
