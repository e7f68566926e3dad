"""Limits of the registrations that clients may have written.

A registration is a record that stays until compaction. A client chooses the names in
it with every request, so its number is bounded per connection and per user and hour.
"""

from collections.abc import Callable

from pipelines.bridge.core.handlers import Connection

_HOUR_MS = 3_600_000
_MOST_USERS = 10_000
"""Users that are counted; certificates may name any number of them."""


class RegistrationLimits:
    """Counts of one bridge process."""

    def __init__(
        self, *, per_connection: int, per_hour: int, now_ms: Callable[[], int]
    ) -> None:
        """Start without any.

        Args:
            per_connection: Most registrations of one connection.
            per_hour: Most registrations of one user in an hour.
            now_ms: A clock, in milliseconds.
        """
        self._per_connection, self._per_hour = per_connection, per_hour
        self._now_ms = now_ms
        self._began_ms = now_ms()
        self._written: dict[str, int] = {}
        """User to the number of registrations in this hour."""

    def is_allowed(self, connection: Connection) -> bool:
        """Return whether one more registration may be written; count it if so."""
        now_ms = self._now_ms()
        if not 0 <= now_ms - self._began_ms < _HOUR_MS:
            self._began_ms = now_ms
            self._written.clear()
        user = connection.identity.principal
        written = self._written.get(user, 0)
        is_full = written == 0 and len(self._written) >= _MOST_USERS
        if (
            is_full
            or written >= self._per_hour
            or connection.registrations >= self._per_connection
        ):
            return False
        self._written[user] = written + 1
        connection.registrations += 1
        return True
