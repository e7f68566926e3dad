"""The driver dies by kill -9 between any two of its writes; nothing is lost or twice.

`python tests/integration/kill_run.py` is the long form of this.
"""

import random

from tests.integration.kill_run import plan_kills, run


def test_each_key_is_there_once_after_kills_at_every_point(tmp_path):
    chance = random.Random(7)  # noqa: S311 - to be repeatable
    kills = plan_kills(1, 2, 1, chance)
    told = []
    differences, expected = run(kills, tmp_path / "run", chance, told.append)
    assert differences == {}
    assert expected.pushes
    assert len(told) == len(kills)
