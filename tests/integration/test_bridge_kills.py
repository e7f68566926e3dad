"""Kafka is frozen, bridge and broker are killed: nothing accepted is lost or twice.

`python tests/long/bridge_kills.py` and `python tests/bench/outage.py` are
the long forms of this.
"""

import random
from collections import Counter

import pytest

from tests.bench.outage import run as run_outage
from tests.long.bridge_kills import plan_kills, run
from tests.support.clients.raw_pushers import THROTTLED, Outcomes, compare


def test_each_accepted_push_is_there_once_after_kills(tmp_path):
    chance = random.Random(7)  # noqa: S311 - to be repeatable
    told = []
    outcomes, comparison = run(
        plan_kills(3, 1, chance), 20, tmp_path, chance, told.append
    )
    assert comparison.is_exact
    assert len(told) == 4
    assert outcomes.connections_lost >= 20


@pytest.mark.long
def test_outage_under_load_is_refused_within_the_bound_and_nothing_is_lost(tmp_path):
    bound = 1_200_000
    outcomes, comparison, samples = run_outage(
        5, 40, 65_536, bound, tmp_path, lambda _: None, phase_s=3
    )
    assert comparison.is_exact
    assert outcomes.count()[THROTTLED] > 40
    assert 0 < max(samples.held["frozen"]) <= bound


def test_comparison_finds_what_is_lost_twice_or_unknown():
    outcomes = Outcomes({1: 0, 2: 0, 3: 89, 4: None, 5: None})
    exact = compare(outcomes, Counter({1: 1, 2: 1, 4: 1}))
    assert exact.is_exact
    assert (exact.accepted, exact.refused, exact.unanswered) == (2, 1, 2)
    assert (exact.unanswered_and_stored, exact.refused_and_stored) == (1, 0)
    assert compare(outcomes, Counter({1: 1})).lost == 1
    assert compare(outcomes, Counter({1: 1, 2: 2})).twice == 1
    assert compare(outcomes, Counter({1: 1, 2: 1, 9: 1})).unknown == 1
    assert not compare(outcomes, Counter({1: 1, 2: 1, 9: 1})).is_exact
