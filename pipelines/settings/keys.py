"""How a key of conf/ is declared: once, with what its users must know."""

from collections.abc import Sequence
from dataclasses import field
from typing import Any

MAX_PORT = 65_535
MAX_INT32 = 2**31 - 1
SET_ORIGIN = "--set"
"""Where a value is from that no file of conf/ says."""
REQUIRED = object()
"""The default of a key that must be given."""


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
        meaning: Sentences for base.toml and the page of settings.
        unit: Unit of a number.
        low: Smallest number.
        high: Largest number.
        choices: The only texts allowed, when there are any.
        default: As TOML has it; keys of a list of tables may go without.
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
