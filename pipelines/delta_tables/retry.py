"""Again, where somebody else has changed meanwhile what a write stands on."""

import logging
from collections.abc import Callable
from typing import TypeVar

from delta.exceptions import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    MetadataChangedException,
    ProtocolChangedException,
)

from pipelines.errors import TooManyConflicts

CONFLICTS = (
    # Of a table without partitions Delta takes any removal for a read of all of it.
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    MetadataChangedException,
    ProtocolChangedException,
)
"""Raised by a commit where somebody else has changed what it stands on: look again."""
ATTEMPTS = 5
_logger = logging.getLogger(__name__)
Result = TypeVar("Result")


def repeat_on_conflict(
    write: Callable[[], Result],
    *,
    what: str,
    advice: str = "",
    attempts: int = ATTEMPTS,
    conflicts: tuple[type[Exception], ...] = CONFLICTS,
) -> Result:
    """Write, again where somebody else was quicker.

    Args:
        write: Takes what there is as it is now, and commits.
        what: Names what is written.
        advice: What to do where that happens each time.
        attempts: Their number at most.
        conflicts: What says that it was somebody else.
    Raises: TooManyConflicts; without advice the last conflict itself.
    """
    for attempt in range(1, attempts):
        try:
            return write()
        except conflicts as conflict:
            name = type(conflict).__name__
            _logger.info("%s: attempt %d: %s", what, attempt, name)
    try:
        return write()
    except conflicts as conflict:
        if not advice:
            raise
        raise TooManyConflicts(
            f"{what}: others changed the same files {attempts} times; {advice}"
        ) from conflict
