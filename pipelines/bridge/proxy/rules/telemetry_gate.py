"""Whether a push may be tried now, or is refused at once; pure, the clock comes in.

A push shares its connection with data, whose answers must wait for it. So while the
telemetry Kafka is known not to answer, pushes are refused at once. Records that the
publisher still holds tell when it answers again; only where it holds none, one push in
a while is tried.
"""

from collections.abc import Callable
from dataclasses import dataclass

RETRY_S = 1.0
"""Between two pushes that are tried while Kafka does not answer and nothing is held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherSigns:
    """What a publisher knows; seconds of one clock, None for never."""

    waits_since_s: float | None
    """When the oldest record was sent that Kafka has not answered."""
    acknowledged_s: float | None
    refused_s: float | None
    holds_records: bool
    """Records are on their way to Kafka, also such whose push has been refused."""


class TelemetryGate:
    """One bridge's opinion of its telemetry Kafka."""

    __slots__ = ("_answer_s", "_read_signs", "_tried_s")

    def __init__(
        self, read_signs: Callable[[], PublisherSigns], *, answer_s: float
    ) -> None:
        """Take what it is judged by.

        Args:
            read_signs: Looks at the publisher.
            answer_s: So long a push may take, in seconds.
        """
        self._read_signs = read_signs
        self._answer_s = answer_s
        self._tried_s: float | None = None

    def is_open(self, now_s: float) -> bool:
        """Say whether a push that comes now is tried."""
        signs = self._read_signs()
        if not self._is_silent(signs, now_s):
            self._tried_s = None
            return True
        if signs.holds_records:
            return False
        if self._tried_s is not None and now_s - self._tried_s < RETRY_S:
            return False
        self._tried_s = now_s
        return True

    def _is_silent(self, signs: PublisherSigns, now_s: float) -> bool:
        if signs.waits_since_s is not None:
            since_s = signs.waits_since_s
            if signs.acknowledged_s is not None:
                since_s = max(since_s, signs.acknowledged_s)
            if now_s - since_s > self._answer_s:
                return True
        if signs.refused_s is None:
            return False
        return signs.acknowledged_s is None or signs.acknowledged_s < signs.refused_s
