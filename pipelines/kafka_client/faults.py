"""What ends a request to Kafka, and what of it another attempt may change.

Texts hold names, codes and reasons. What a peer has said stands apart: whether it is
shown is for those who show it.
"""

import os

from .primitives import MalformedBytes

UNSUPPORTED_SASL_MECHANISM, UNSUPPORTED_VERSION = 33, 35
THROTTLING_QUOTA_EXCEEDED = 89
RETRIABLE_ERROR_CODES = frozenset(
    {
        2, 3, 5, 6, 7, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 70, 71, 72, 74, 75, 78,
        80, 83, 84, 88, THROTTLING_QUOTA_EXCEEDED, 100, 103, 106, 122, 123, 133,
    }
)  # fmt: skip
"""Source: Kafka 4.3, Errors.java: the codes whose exception is a RetriableException.
A test compares these, and the names, with those of kio."""
ERROR_NAMES = {
    UNSUPPORTED_SASL_MECHANISM: "unsupported_sasl_mechanism",
    34: "illegal_sasl_state",
    UNSUPPORTED_VERSION: "unsupported_version",
    58: "sasl_authentication_failed",
}
"""Of those that greetings and logins are answered with."""


class Refused(Exception):
    """Raised for what a peer says that no further attempt would change."""

    def __init__(self, text: str, said: str = "") -> None:
        super().__init__(text)
        self.said = said
        """The peer's own words; empty for none."""


class LoginRefused(Refused):
    """Raised when the client cannot log in or finds no trust."""


class NoToken(ConnectionError):
    """Raised when there is no token to log in with; the next attempt may have one."""


class NoAnswer(TimeoutError):
    """Raised when the time for a request is over; the text is the last fault."""


def name_error(error_code: int) -> str:
    """Return what to call an error of Kafka."""
    return ERROR_NAMES.get(error_code, f"error {error_code}")


def describe(error: Exception) -> str:
    """Return a fault in words, without what a peer has sent."""
    if isinstance(error, OSError):
        # Those of resolvers are negative, and asyncio has texts of its own.
        errno = error.errno or 0
        text = os.strerror(errno) if errno > 0 else error.strerror
        return text or str(error) or type(error).__name__
    if isinstance(error, MalformedBytes):
        return f"answer cannot be read: {error}"
    return str(error) or type(error).__name__
