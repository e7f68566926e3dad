"""The Kafka that takes what clients send: at the start, or later behind a proxy.

A bridge that only takes telemetry is no use without it and does not start. A proxy in
front of another cluster carries data, which must not wait for it: telemetry is refused
until it is there.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from pipelines.errors import MissingService

from .publisher import Publisher

logger = logging.getLogger(__name__)

RETRY_S = 5.0


class TelemetryKafka:
    """Whether topics and subscriptions have been found."""

    def __init__(
        self, prepare: Callable[[], Awaitable[None]], *, is_needed: bool
    ) -> None:
        """Ask nothing yet.

        Args:
            prepare: Finds or makes what is needed; may raise MissingService.
            is_needed: Whether nothing goes on without it.
        """
        self._prepare = prepare
        self._is_needed = is_needed
        self.is_found = False
        self._last_fault = ""

    async def find(self) -> bool:
        """Look once; return whether it is there.

        Raises: MissingService where it is needed.
        """
        try:
            await self._prepare()
        except MissingService as error:
            if self._is_needed:
                raise
            if str(error) != self._last_fault:
                self._last_fault = str(error)
                logger.error("telemetry is refused, data passes: %s", error)  # noqa: TRY400 - its text is for operators
            return False
        self.is_found = True
        return True

    async def find_later(self, publisher: Publisher) -> None:
        """Look until it is there, and open a publisher; ends at once where it was."""
        if self.is_found:
            return
        is_found = False
        while not is_found:
            await asyncio.sleep(RETRY_S)
            is_found = await self.find()
        publisher.open()
        logger.info("the telemetry Kafka is there")
