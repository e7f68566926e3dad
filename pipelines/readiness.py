"""Answer of one part of a process to /readyz."""

from typing import NamedTuple


class Readiness(NamedTuple):
    """Whether clients may use this process."""

    fault: str | None = None
    """Reason to send clients elsewhere; None if there is none."""
    note: str | None = None
    """Restriction that clients can live with; None if there is none."""


READY = Readiness()
