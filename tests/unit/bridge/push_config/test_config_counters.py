"""What is counted of pushed configurations, and Kafka's windows; the clock is a number."""

import math

import pytest

from pipelines.bridge.core.sampled_stats import Meter, SampledStat
from pipelines.bridge.push_config.config_counters import ClientConfigCounters


class Clock:
    def __init__(self):
        self.now_s = 1_000.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


def test_nothing_has_happened_yet(clock):
    numbers = ClientConfigCounters(10, clock).snapshot()
    assert {name for name, value in numbers.items() if isinstance(value, dict)} == {
        "policy-invocation-count", "policy-invocation-rate", "policy-error-count",
        "policy-error-rate", "policy-time-avg", "policy-time-max",
    }  # fmt: skip
    assert not any(numbers.values())


def test_numbers_per_instance_are_those_of_its_calls(clock):
    counters = ClientConfigCounters(10, clock)
    counters.note_policy("a", 4.0, has_failed=False)
    counters.note_policy("b", 1.0, has_failed=True)
    counters.note_policy("a", 2.0, has_failed=True)
    numbers = counters.snapshot()
    assert numbers["policy-invocation-count"] == {"a": 2, "b": 1}
    assert numbers["policy-error-count"] == {"a": 1, "b": 1}
    assert numbers["policy-time-avg"] == {"a": 3.0, "b": 1.0}
    assert numbers["policy-time-max"] == {"a": 4.0, "b": 1.0}


def test_only_the_instances_that_pushed_last_have_numbers(clock):
    counters = ClientConfigCounters(2, clock)
    for name in ("a", "b", "a", "c"):
        counters.note_policy(name, 1.0, has_failed=False)
    assert counters.snapshot()["policy-invocation-count"] == {"a": 2, "c": 1}


def test_an_instance_counts_once_however_many_connections_it_has(clock):
    counters = ClientConfigCounters(1, clock)
    for name in ("a", "a", "b"):
        counters.note_present(name)
    assert counters.snapshot()["instance-count"] == 2
    counters.note_gone("a")
    assert counters.snapshot()["instance-count"] == 2
    counters.note_gone("a")
    counters.note_gone("b")
    assert counters.snapshot()["instance-count"] == 0


def test_rates_are_those_of_kafkas_windows(clock):
    """A rate is over one full window at least, and two windows and a part at most."""
    counters = ClientConfigCounters(10, clock)
    counters.note_too_large()
    counters.note_violations(3)
    counters.note_violations(0)
    counters.note_policy("a", 4.0, has_failed=True)
    counters.note_policy("a", 2.0, has_failed=False)

    def rates():
        numbers = counters.snapshot()
        one = {name: numbers[name] for name in ("too-large-rate", "violation-rate")}
        each = ("policy-invocation-rate", "policy-error-rate")
        return one | {name: numbers[name]["a"] for name in each}

    for after_s, over_s in ((0, 30), (15, 45), (30, 30), (45, 45), (59.5, 59.5)):
        clock.now_s = 1_000.0 + after_s
        assert rates() == pytest.approx({
            "too-large-rate": 1 / over_s, "violation-rate": 3 / over_s,
            "policy-invocation-rate": 2 / over_s, "policy-error-rate": 1 / over_s,
        })  # fmt: skip
    clock.now_s = 1_060.0
    assert not any(rates().values())
    numbers = counters.snapshot()
    assert (numbers["too-large-count"], numbers["violation-count"]) == (1, 3)
    assert numbers["policy-invocation-count"] == {"a": 2}
    assert numbers["policy-error-count"] == {"a": 1}


def test_time_of_the_policy_is_forgotten_after_two_windows(clock):
    counters = ClientConfigCounters(10, clock)

    def times():
        numbers = counters.snapshot()
        return numbers["policy-time-avg"]["a"], numbers["policy-time-max"]["a"]

    counters.note_policy("a", 9.0, has_failed=False)
    clock.now_s += 30
    counters.note_policy("a", 1.0, has_failed=False)
    clock.now_s += 29
    assert times() == (5.0, 9.0)
    clock.now_s += 1
    assert times() == (1.0, 1.0)
    clock.now_s += 30
    assert all(math.isnan(one) for one in times())


def test_a_sample_takes_what_comes_in_its_window_and_old_ones_make_room():
    """Beginnings: 0, 30, 61, 95; what ended 60 s ago is out."""
    stat = SampledStat()
    for at_s, value in ((0, 8), (29, 1), (30, 2), (61, 3), (90, 4), (95, 5)):
        stat.record(value, float(at_s))
    assert stat.event_rate(95.0) == 3 / 34
    assert stat.total_rate(95.0) == 12 / 34
    assert (stat.average(95.0), stat.maximum(95.0)) == (4.0, 5.0)
    assert stat.average(150.0) == 5.0
    assert math.isnan(stat.maximum(155.0))
    meter = Meter()
    assert (meter.count, meter.rate(5.0)) == (0, 0.0)
