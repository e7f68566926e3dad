"""KIP-714's broker metrics of single client instances, for a bounded number of them.

Strategy: a million clients must not become eight million time series, so there are
so many seats. A client instance that comes while a seat is free takes it; later ones
get a seat only by trouble (throttled, or not exported), from the instance that has
had less of it. What a connection without a seat costs per push is one look at a field.
Counts begin when the seat is taken, and end with the connection that took it.
Rates, averages and maxima cover the last 30 to 60 s, as Kafka's own do.
Source: KIP-714; Kafka, ClientMetricsManager.java, SampledStat.java.
"""

import math
import uuid
from collections.abc import Callable, Iterator
from typing import Protocol

WINDOW_S = 30.0
"""Kafka's metrics.sample.window.ms; a value covers one to two windows."""
_NO_TIME = -1


class Marks:
    """What some counts were one to two windows ago."""

    __slots__ = ("_newer", "_older")

    def __init__(self, now_s: float, *counts: int) -> None:
        self._older = self._newer = (now_s, counts)

    def turn(self, now_s: float, *counts: int) -> None:
        """Begin a window."""
        self._older, self._newer = self._newer, (now_s, counts)

    def increases(self, *counts: int) -> tuple[int, ...]:
        """Return by how much each count has grown."""
        before = self._older[1]
        return tuple(now - then for now, then in zip(counts, before, strict=True))

    def rates(self, now_s: float, *counts: int) -> tuple[float, ...]:
        """Return the growth of each count per second.

        Less than a window old is counted as a whole window, as Kafka does, so that
        the first count is no burst.
        """
        seconds = max(now_s - self._older[0], WINDOW_S)
        return tuple(increase / seconds for increase in self.increases(*counts))


class InstanceMetrics:
    """What is counted of one client instance."""

    __slots__ = (
        "_marks",
        "_max_ms",
        "_max_ms_before",
        "client_instance_id",
        "connection_id",
        "export_errors",
        "export_ms",
        "exports",
        "number",
        "throttles",
    )

    def __init__(
        self, client_instance_id: uuid.UUID, connection_id: int, now_s: float
    ) -> None:
        self.client_instance_id = client_instance_id
        self.number = client_instance_id.int
        """The id as a number, which compares faster."""
        self.connection_id = connection_id
        self.throttles = 0
        self.exports = 0
        self.export_errors = 0
        self.export_ms = 0
        """Milliseconds of all exports together."""
        self._max_ms = self._max_ms_before = _NO_TIME
        self._marks = Marks(now_s, *self._counts)

    @property
    def trouble(self) -> int:
        """How often this instance was throttled or not exported."""
        return self.throttles + self.export_errors

    @property
    def _counts(self) -> tuple[int, int, int, int]:
        return self.throttles, self.exports, self.export_errors, self.export_ms

    def count_export(self, took_ms: int) -> None:
        """Count a push that Kafka has acknowledged."""
        self.exports += 1
        self.export_ms += took_ms
        self._max_ms = max(self._max_ms, took_ms)

    def turn(self, now_s: float) -> None:
        """Begin a window."""
        self._marks.turn(now_s, *self._counts)
        self._max_ms_before, self._max_ms = self._max_ms, _NO_TIME

    def values(self, now_s: float) -> Iterator[tuple[str, float]]:
        """Return Kafka's metric names and their values.

        Nulls: Average and maximum are NaN while nothing was exported.
        """
        _, exports, _, export_ms = self._marks.increases(*self._counts)
        throttle_rate, export_rate, error_rate, _ = self._marks.rates(
            now_s, *self._counts
        )
        max_ms = max(self._max_ms, self._max_ms_before)
        yield "throttle-count", self.throttles
        yield "throttle-rate", throttle_rate
        yield "plugin-export-count", self.exports
        yield "plugin-export-rate", export_rate
        yield "plugin-error-count", self.export_errors
        yield "plugin-error-rate", error_rate
        yield "plugin-export-time-avg", export_ms / exports if exports else math.nan
        yield "plugin-export-time-max", math.nan if max_ms == _NO_TIME else max_ms


class Seated(Protocol):
    """What is needed of a connection."""

    connection_id: int
    seat: InstanceMetrics | None
    trouble: int


class TopInstances:
    """Who has a seat."""

    def __init__(self, limit: int, now_s: Callable[[], float]) -> None:
        """Take the number of seats, and a clock that never steps back."""
        self._limit = limit
        self._now_s = now_s
        self._seats: dict[int, InstanceMetrics] = {}
        self._least_trouble = 0
        """No seat has less trouble; spares looking through them."""

    def __iter__(self) -> Iterator[InstanceMetrics]:
        return iter(self._seats.values())

    def seat(self, connection: Seated, instance_id: uuid.UUID) -> None:
        """Give a connection's instance its seat, or a free one."""
        seat = self._seats.get(instance_id.int)
        if seat is None and len(self._seats) < self._limit:
            seat = self._take(connection, instance_id)
        if seat is not None:
            connection.seat = seat

    def count_throttle(self, connection: Seated, instance_id: uuid.UUID) -> None:
        """Count a request that came too early."""
        seat = self._find_in_trouble(connection, instance_id)
        if seat is not None:
            seat.throttles += 1

    def count_export(
        self, connection: Seated, instance_id: uuid.UUID, took_ms: int
    ) -> None:
        """Count a push that Kafka has acknowledged, if its instance has a seat."""
        seat = connection.seat
        if seat is not None and seat.number == instance_id.int:
            seat.count_export(took_ms)

    def count_export_error(self, connection: Seated, instance_id: uuid.UUID) -> None:
        """Count a push that Kafka has not acknowledged."""
        seat = self._find_in_trouble(connection, instance_id)
        if seat is not None:
            seat.export_errors += 1

    def release(self, connection: Seated) -> None:
        """Free the seat that a closed connection has taken."""
        seat = connection.seat
        if seat is not None and seat.connection_id == connection.connection_id:
            self._remove(seat)

    def turn(self) -> None:
        """Begin a window; call it every WINDOW_S."""
        now_s = self._now_s()
        for seat in self._seats.values():
            seat.turn(now_s)

    def _find_in_trouble(
        self, connection: Seated, instance_id: uuid.UUID
    ) -> InstanceMetrics | None:
        """Return the instance's seat, if need be from one with less trouble."""
        connection.trouble += 1
        seat = self._seats.get(instance_id.int)
        if seat is None and self._has_room_for(connection.trouble):
            seat = self._take(connection, instance_id)
        if seat is not None:
            connection.seat = seat
        return seat

    def _has_room_for(self, trouble: int) -> bool:
        if len(self._seats) < self._limit:
            return True
        if not self._limit or trouble <= self._least_trouble:
            return False
        calmest = min(self._seats.values(), key=lambda seat: seat.trouble)
        self._least_trouble = calmest.trouble
        if trouble <= calmest.trouble:
            return False
        self._remove(calmest)
        return True

    def _take(self, connection: Seated, instance_id: uuid.UUID) -> InstanceMetrics:
        seat = InstanceMetrics(instance_id, connection.connection_id, self._now_s())
        self._seats[seat.number] = seat
        self._least_trouble = 0
        return seat

    def _remove(self, seat: InstanceMetrics) -> None:
        if self._seats.get(seat.number) is seat:
            del self._seats[seat.number]
