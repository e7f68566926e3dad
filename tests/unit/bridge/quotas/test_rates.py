"""Rates and waits; that they are a broker's is shown by test_quota_rates_java.py."""

import random

from pipelines.bridge.quotas.rates import MAX_WAIT_MS, QuotaRate, QuotaWindows

WINDOWS = QuotaWindows()
LIMIT = 1_000


def test_ten_seconds_may_be_used_at_once_and_no_more():
    rate = QuotaRate(LIMIT, WINDOWS)
    assert rate.record(10 * LIMIT, 5_000) == 0
    assert rate.record(LIMIT, 5_000) == 1_000


def test_what_waited_long_enough_is_within_the_limit():
    rate = QuotaRate(LIMIT, WINDOWS)
    now_ms, sent = 0, 0
    while now_ms < 60_000:
        sent += 500
        now_ms += rate.record(500, now_ms) or 1
    assert abs(sent / LIMIT / 70 - 1) < 0.02


def test_another_limit_counts_from_the_next_record_on():
    rate = QuotaRate(LIMIT, WINDOWS)
    rate.record(10 * LIMIT, 0)
    rate.limit = LIMIT / 2
    assert rate.record(0.0, 1) > 0
    rate.limit = 2 * LIMIT
    assert rate.record(0.0, 2) == 0


def test_a_wait_is_no_longer_than_it_may_be():
    assert QuotaRate(1, WINDOWS).record(1e15, 0) == MAX_WAIT_MS
    assert QuotaRate(1, WINDOWS, most_ms=1_000).record(1e15, 0) == 1_000


def test_a_clock_that_steps_back_never_lengthens_a_wait():
    choose = random.Random(7)  # noqa: S311 - no secret is made of it
    for _ in range(300):
        stepping, standing = QuotaRate(LIMIT, WINDOWS), QuotaRate(LIMIT, WINDOWS)
        now_ms = latest_ms = 10**6
        assert stepping.record(1, now_ms) == standing.record(1, now_ms)
        for _ in range(30):
            now_ms += choose.choice((-50_000, -700, 0, 5, 300, 1_200))
            latest_ms = max(latest_ms, now_ms)
            value = choose.randint(0, 5 * LIMIT)
            wait_ms = stepping.record(value, now_ms)
            assert wait_ms == standing.record(value, latest_ms)


def test_looking_at_a_rate_changes_nothing():
    looked, other = QuotaRate(LIMIT, WINDOWS), QuotaRate(LIMIT, WINDOWS)
    for now_ms in range(0, 40_000, 1_700):
        looked.measure(now_ms + 13_000)
        assert looked.record(2_000, now_ms) == other.record(2_000, now_ms)
    assert looked.measure(39_100) > 0
    assert looked.measure(60_000) == 0


def test_what_is_taken_back_was_never_recorded():
    rate = QuotaRate(1, WINDOWS)
    for _ in range(10):
        assert rate.record(1, 0) == 0
    for _ in range(5):
        assert rate.record(1, 0) == 1_000
        rate.take_back(1)
    assert rate.measure(0) == 1
