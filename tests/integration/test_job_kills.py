"""The driver dies by kill -9 between its writes; nothing is lost or twice.

`python tests/long/job_kills.py` is the long form of this: every point, many times.
"""

import random

from tests.long.job_kills import WAYS, Kill, run

KILLS = [Kill(point="after client_metrics", occurrence=1)]


def test_each_key_is_there_once_after_kills_between_the_writes(spark, tmp_path):
    chance = random.Random(7)  # noqa: S311 - to be repeatable
    told = []
    differences, expected = run(
        spark,
        KILLS,
        tmp_path / "run",
        chance,
        told.append,
        writers=WAYS,
        slice_bytes=4096,
    )
    assert differences == {}
    assert expected.pushes
    assert len(told) == len(KILLS)
