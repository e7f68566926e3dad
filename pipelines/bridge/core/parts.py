"""The parts of a bridge, and their life.

    prepare() ──▶ run() ──▶ close()
        └── raises ──────────▲

The server prepares all parts in order, runs them together, cancels run() at the end
and closes them in the reverse order. The listeners and the proxy are the last parts:
their prepare() collects the handlers of the others.
"""

from collections.abc import Iterable
from typing import Protocol

from prometheus_client.metrics_core import Metric

from pipelines.readiness import READY, Readiness

from .handlers import ServedRequest


class Part(Protocol):
    """One part of a bridge process; lives in one event loop."""

    async def prepare(self) -> None:
        """Find or create what the first clients need.

        Raises: InvalidSetting, MissingService.
        """

    async def run(self) -> None:
        """Work until cancelled; return early if there is nothing to do."""

    async def close(self) -> None:
        """Release everything; also after a prepare that raised or never ran."""

    def handlers(self) -> Iterable[ServedRequest]:
        """Return the APIs that this part answers; may be called again."""

    def metrics(self) -> Iterable[Metric]:
        """Return the families of this part for /metrics."""

    def readiness(self) -> Readiness:
        """Return whether clients may use this bridge."""


class QuietPart:
    """Defaults for parts that do not need each step."""

    async def prepare(self) -> None:
        """Need nothing."""

    async def run(self) -> None:
        """Return at once."""

    async def close(self) -> None:
        """Hold nothing."""

    def handlers(self) -> Iterable[ServedRequest]:
        """Answer no API."""
        return ()

    def metrics(self) -> Iterable[Metric]:
        """Show no metrics."""
        return ()

    def readiness(self) -> Readiness:
        """Be ready at all times."""
        return READY
