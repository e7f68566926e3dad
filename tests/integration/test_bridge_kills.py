"""Bridge and broker die by kill -9 under load; nothing accepted is lost or twice.

`python tests/integration/bridge_kill_run.py` is the long form of this.
"""

import random
from collections import Counter

from tests.integration.bridge_kill_run import plan_kills, run
from tests.integration.raw_pushers import Outcomes, compare


def test_each_accepted_push_is_there_once_after_kills(tmp_path):
    chance = random.Random(7)  # noqa: S311 - to be repeatable
    told = []
    outcomes, comparison = run(
        plan_kills(3, 1, chance), 20, tmp_path, chance, told.append
    )
    assert comparison.is_exact
    assert len(told) == 4
    assert outcomes.connections_lost >= 20


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
