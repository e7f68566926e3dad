"""The logger of every librdkafka client, with repeated lines summarized.

librdkafka repeats a line for each client, broker, thread and attempt. The first line of
a reason is logged at once; later ones are counted, and one line a minute has the count.
A client logs only while it is polled, so a caller that waits must poll in between.
"""

import logging
import re
import threading
from dataclasses import dataclass

_EVERY_S = 60.0
_MAX_REASONS = 1000
_VARYING = re.compile(
    r"^(?:FAIL|ERROR)\b"  # one failure is logged under both
    r"|\[[^\]\s]+\]:?"  # client, thread
    r"|\S+#(?:producer|consumer)-\d+:?"  # client
    r"|\((?:[^()]|\([^()]*\))*\)"  # durations, counts
    r"|\S+:\d+(?:/\w+)?:?"  # broker
    r"|\d+"
)


@dataclass(slots=True)
class _Reason:
    """Lines of one reason since the last one that was logged."""

    since_s: float
    repeats: int = 0


class RepeatFilter(logging.Filter):
    """Filter that passes one line per reason and minute, with the number of repeats."""

    def __init__(self) -> None:
        """Start without a known reason."""
        super().__init__()
        self._lock = threading.Lock()
        self._reasons: dict[str, _Reason] = {}
        """By the part of a line that does not vary; the oldest is first."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Count a repeated line; pass the first one of a reason, and one a minute."""
        now_s, line = record.created, record.getMessage()
        reason = " ".join(_VARYING.sub(" ", line).split())
        with self._lock:
            known = self._reasons.get(reason)
            # The clock may have been set back.
            if known is not None and 0 <= now_s - known.since_s < _EVERY_S:
                known.repeats += 1
                return False
            self._reasons.pop(reason, None)
            if len(self._reasons) >= _MAX_REASONS:
                del self._reasons[next(iter(self._reasons))]
            self._reasons[reason] = _Reason(now_s)
        if known is not None and known.repeats:
            record.msg, record.args = (
                "%s (repeated %d times in %.0f s)",
                (line, known.repeats, now_s - known.since_s),
            )
        return True


kafka_logger = logging.getLogger(__name__)
"""Pass it as `logger=` to every client of confluent_kafka."""
kafka_logger.addFilter(RepeatFilter())
