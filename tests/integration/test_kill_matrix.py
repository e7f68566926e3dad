"""Twenty parts of a whole pipeline die at work; nothing is lost or twice.

`python tests/long/kill_matrix.py` is the long form of this: 300, and every point.
"""

import random

import pytest

from tests.long.kill_matrix import plan_kills, run


@pytest.mark.long
def test_nothing_is_lost_or_twice_whoever_dies(spark, tmp_path):
    chance = random.Random(7)  # noqa: S311 - to be repeatable
    told = []
    kills = plan_kills(20, chance)
    result = run(spark, kills, 4, tmp_path / "site", chance, told.append)
    assert result.differences == {}
    assert result.is_exact, (result.comparison, result.codes)
    assert result.matrix.died.total() + result.matrix.missed.total() == 20
