"""What the publisher remembers of a record until Kafka's outcome is known."""

from .telemetry_handlers import Acknowledge


class Waiting:
    """One record that Kafka has not acknowledged."""

    __slots__ = ("acknowledge", "deadline_s", "size_bytes")

    def __init__(
        self, acknowledge: Acknowledge, deadline_s: float, size_bytes: int
    ) -> None:
        self.acknowledge: Acknowledge | None = acknowledge
        self.deadline_s = deadline_s
        self.size_bytes = size_bytes

    def answer(self, *, is_stored: bool) -> bool:
        """Say the outcome once; False when it has been said before."""
        acknowledge, self.acknowledge = self.acknowledge, None
        if acknowledge is None:
            return False
        acknowledge(is_stored)
        return True
