"""Faults of what stands on the wire. Messages hold names and numbers only."""


class WireError(Exception):
    """Base of everything that a peer's bytes can raise."""


class MalformedRequest(WireError):
    """Raised when a request cannot be read; the peer's fault, its connection's end."""


class UnsupportedRequest(WireError):
    """Raised when an API key or version is not served here."""


class MalformedResponse(WireError):
    """Raised when what a broker of the cluster sends is no answer to our request."""


class MalformedBatches(WireError):
    """Raised when bytes are no record batch; where the next one begins is unknown."""


class UnreadableBatch(WireError):
    """Raised when one record batch cannot be read; the next one is not concerned."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(f"{reason}: {text}")
        self.reason = reason
        """A word to count by."""
