"""Half-open ranges of time, in UTC, and how they are cut into parts of bounded size."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, order=True)
class TimeRange:
    """Moments from start (included) to end (excluded); both know their zone."""

    start: datetime
    end: datetime

    @property
    def start_us(self) -> int:
        """Return the start in microseconds since 1970."""
        return (self.start - EPOCH) // MICROSECOND

    @property
    def end_us(self) -> int:
        """Return the end in microseconds since 1970."""
        return (self.end - EPOCH) // MICROSECOND

    @property
    def dates(self) -> Iterator[date]:
        """Return the dates in UTC that the range has a part of."""
        day = self.start.astimezone(UTC).date()
        while midnight(day) < self.end:
            yield day
            day += timedelta(days=1)

    def within(self, day: date) -> "TimeRange":
        """Return the part of the range that lies on one of its dates."""
        return TimeRange(
            max(self.start, midnight(day)),
            min(self.end, midnight(day + timedelta(days=1))),
        )

    def __str__(self) -> str:
        """Return both ends as ISO 8601 has them, in UTC."""
        return f"{_format(self.start)} to {_format(self.end)}"


def parse_moment(text: str) -> datetime:
    """Return the moment that a text of ISO 8601 names, in UTC.

    Args:
        text: 2026-03-01 (its midnight), 2026-03-01T06:30, 2026-03-01T06:30:00+01:00;
            without an offset it is UTC.
    Raises: ValueError where it is none, or where its UTC lies outside of the calendar.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(text) from None


def parse_date(text: str) -> datetime:
    """Return the first moment in UTC of a date, such as 2026-03-01.

    Raises: ValueError where it is none.
    """
    return midnight(date.fromisoformat(text))


def midnight(day: date) -> datetime:
    """Return the first moment of a date in UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


class Held(NamedTuple):
    """Things from a moment on."""

    start_us: int
    """Microseconds since 1970."""
    things: int
    size_bytes: int


def cut_by_count(
    whole: TimeRange, held: Sequence[Held], limit: int, max_bytes: int
) -> list[tuple[TimeRange, int]]:
    """Cut a range into parts that hold at most so many things each, and bytes.

    Args:
        held: By time; a part begins at such a time only, so that what is above a limit
            by itself is a part of its own.
        limit: Things in a part, at most.
        max_bytes: Of all things of a part.
    Returns: Each part and how many things it holds.
    Shape: The parts follow each other without a gap and cover the whole; none where
        there are no counts.
    """
    if not held:
        return []
    starts, counts, size_bytes = [whole.start], [0], 0
    for one in held:
        is_full = counts[-1] + one.things > limit
        if counts[-1] and (is_full or size_bytes + one.size_bytes > max_bytes):
            starts.append(EPOCH + one.start_us * MICROSECOND)
            counts.append(0)
            size_bytes = 0
        counts[-1] += one.things
        size_bytes += one.size_bytes
    ends = [*starts[1:], whole.end]
    return [
        (TimeRange(start, end), count)
        for start, end, count in zip(starts, ends, counts, strict=True)
    ]


def _format(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
