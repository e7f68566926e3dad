"""Who of many client instances is shown, and Kafka's windows; the clock is a number."""

import math
import uuid
from types import SimpleNamespace

import pytest

from pipelines.bridge.core.instance_metrics import WINDOW_S, Marks, TopInstances

A, B, C = (uuid.UUID(int=number) for number in (101, 102, 103))
NAMES = [
    "throttle-count", "throttle-rate", "plugin-export-count", "plugin-export-rate",
    "plugin-error-count", "plugin-error-rate", "plugin-export-time-avg",
    "plugin-export-time-max",
]  # fmt: skip


class Clock:
    def __init__(self):
        self.now_s = 1_000.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


def connect(number=1):
    return SimpleNamespace(connection_id=number, seat=None, trouble=0)


def shown(top):
    return {seat.client_instance_id for seat in top}


def values(top, clock, instance_id=A):
    (seat,) = [seat for seat in top if seat.client_instance_id == instance_id]
    return dict(seat.values(clock.now_s))


def test_first_instances_take_the_seats_and_keep_them(clock):
    top = TopInstances(2, clock)
    connections = [connect(number) for number in range(3)]
    for connection, instance_id in zip(connections, (A, B, C), strict=True):
        top.seat(connection, instance_id)
    assert shown(top) == {A, B}
    assert connections[2].seat is None


def test_nobody_is_shown_without_seats(clock):
    top, connection = TopInstances(0, clock), connect()
    top.seat(connection, A)
    top.count_throttle(connection, A)
    top.count_export_error(connection, A)
    assert shown(top) == set()
    assert connection.seat is None


def test_instance_in_trouble_takes_the_seat_of_a_calm_one(clock):
    top, calm, other = TopInstances(1, clock), connect(1), connect(2)
    top.seat(calm, A)
    top.count_throttle(other, B)
    assert shown(top) == {B}
    assert values(top, clock, B)["throttle-count"] == 1
    # What the calm one does now is counted nowhere, and does no harm.
    top.count_export(calm, A, 5)
    assert shown(top) == {B}


def test_seat_goes_to_the_one_with_more_trouble_only(clock):
    top, first, second = TopInstances(1, clock), connect(1), connect(2)
    for _ in range(3):
        top.count_throttle(first, A)
    for _ in range(3):
        top.count_export_error(second, B)
        assert shown(top) == {A}
    top.count_export_error(second, B)
    assert shown(top) == {B}
    # The count begins with the seat.
    assert values(top, clock, B)["plugin-error-count"] == 1


def test_seat_is_free_when_the_connection_closes_that_took_it(clock):
    top, first, second = TopInstances(1, clock), connect(1), connect(2)
    top.seat(first, A)
    top.seat(second, A)
    assert second.seat is first.seat
    top.release(second)
    assert shown(top) == {A}
    top.release(first)
    assert shown(top) == set()
    top.release(connect(3))


def test_pushes_of_another_instance_on_the_connection_are_not_its_own(clock):
    top, connection = TopInstances(1, clock), connect()
    top.seat(connection, A)
    top.count_export(connection, B, 7)
    top.count_export(connection, A, 9)
    seen = values(top, clock)
    assert (seen["plugin-export-count"], seen["plugin-export-time-avg"]) == (1, 9)


def test_every_name_of_kafka_has_a_value_and_times_are_nan_before_an_export(clock):
    top, connection = TopInstances(1, clock), connect()
    top.seat(connection, A)
    seen = values(top, clock)
    assert list(seen) == NAMES
    assert all(seen[name] == 0 for name in NAMES[:6])
    assert math.isnan(seen["plugin-export-time-avg"])
    assert math.isnan(seen["plugin-export-time-max"])


def test_export_that_took_no_time_has_a_maximum_of_zero(clock):
    top, connection = TopInstances(1, clock), connect()
    top.seat(connection, A)
    top.count_export(connection, A, 0)
    assert values(top, clock)["plugin-export-time-max"] == 0


def test_average_and_maximum_are_of_the_last_two_windows(clock):
    top, connection = TopInstances(1, clock), connect()
    top.seat(connection, A)
    for took_ms in (10, 90):
        top.count_export(connection, A, took_ms)
    seen = values(top, clock)
    assert (seen["plugin-export-time-avg"], seen["plugin-export-time-max"]) == (50, 90)
    top.turn()
    top.count_export(connection, A, 20)
    seen = values(top, clock)
    assert (seen["plugin-export-time-avg"], seen["plugin-export-time-max"]) == (40, 90)
    top.turn()
    seen = values(top, clock)
    assert (seen["plugin-export-time-avg"], seen["plugin-export-time-max"]) == (20, 20)
    top.turn()
    assert math.isnan(values(top, clock)["plugin-export-time-avg"])
    assert values(top, clock)["plugin-export-count"] == 3


def test_rate_is_per_second_of_the_time_that_the_marks_cover(clock):
    marks = Marks(clock.now_s, 5)
    # Younger than a window counts as a window.
    assert marks.rates(clock.now_s + 1, 8) == (3 / WINDOW_S,)
    clock.now_s += WINDOW_S
    marks.turn(clock.now_s, 8)
    clock.now_s += WINDOW_S
    assert marks.rates(clock.now_s, 65) == (60 / (2 * WINDOW_S),)
    marks.turn(clock.now_s, 65)
    assert marks.rates(clock.now_s, 65) == (57 / WINDOW_S,)
