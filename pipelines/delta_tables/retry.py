"""Again, where somebody else has changed meanwhile what a write stands on."""

import logging
from collections.abc import Callable
from typing import TypeVar

from py4j.protocol import Py4JJavaError

from pipelines.errors import TooManyConflicts

CONFLICTS = frozenset(
    {
        # Delta Kernel's.
        "ConcurrentWriteException",
        "MaxCommitRetryLimitReachedException",
        # Of a table without partitions Delta takes any removal for a read of all of it.
        "ConcurrentAppendException",
        "ConcurrentDeleteDeleteException",
        "ConcurrentDeleteReadException",
        "MetadataChangedException",
        "ProtocolChangedException",
    }
)
"""Exceptions of Delta and Delta Kernel when another writer has changed what a commit is
based on: read the table again and repeat the commit."""
ATTEMPTS = 5
"""Of a command, whose user can run it again."""
JOB_ATTEMPTS = 10
"""Of a job, which would end."""
_logger = logging.getLogger(__name__)
Result = TypeVar("Result")


class LostRace(Exception):
    """Raised when another run has already changed the version that a run has read."""


class StaleVersion(Exception):
    """Raised when a table is no longer at the version that was read."""


def is_conflict(error: Exception) -> bool:
    """Say whether somebody else was quicker."""
    return isinstance(error, StaleVersion) or _name(error) in CONFLICTS


def is_lost_race(error: Exception) -> bool:
    """Say whether somebody else was quicker, perhaps one who does the same.

    Of two programs that write under one application id Delta fails the slower one. A
    job of a topic must end then: its twin has its records.
    """
    is_twin = _name(error) == "ConcurrentTransactionException"
    return is_conflict(error) or is_twin or isinstance(error, LostRace)


def repeat_on_conflict(
    write: Callable[[], Result],
    *,
    what: str,
    advice: str = "",
    attempts: int = ATTEMPTS,
    is_expected: Callable[[Exception], bool] = is_conflict,
) -> Result:
    """Write, again where somebody else was quicker.

    Args:
        write: Takes what there is as it is now, and commits.
        what: Names what is written.
        advice: What to do where that happens each time.
        attempts: Their number at most.
        is_expected: What says that it was somebody else.
    Raises: TooManyConflicts; without advice the last conflict itself.
    """
    for attempt in range(1, attempts + 1):
        try:
            return write()
        except Exception as error:
            if not is_expected(error) or (attempt == attempts and not advice):
                raise
            if attempt == attempts:
                raise TooManyConflicts(
                    f"{what}: others changed the same files {attempts} times; {advice}"
                ) from error
            _logger.info("%s: attempt %d: %s", what, attempt, _name(error))
    raise ValueError("there is no attempt")


def _name(error: Exception) -> str:
    """Return the name of an exception, of Java's where Delta's Python has no own."""
    if isinstance(error, Py4JJavaError):
        return str(error.java_exception.getClass().getSimpleName())
    return type(error).__name__
