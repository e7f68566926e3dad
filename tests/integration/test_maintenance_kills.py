"""Maintenance dies by kill -9 between two of its commits, and is run again.

`python tests/long/maintenance_kills.py` is the long form: every point, and at random.
In one process `tests/spark/test_maintain_tables.py` ends a run at every point.
"""

import random

import pytest

from tests.long.maintenance_kills import run


@pytest.mark.long
def test_what_is_left_after_a_kill_is_what_should_be(spark, tmp_path):
    told = []
    faults = run(
        spark,
        tmp_path,
        told.append,
        tables=["client_metrics"],
        most_points=2,
        random_kills=0,
        chance=random.Random(7),  # noqa: S311 - to be repeatable
    )
    assert faults == []
    assert told[-1] == "0 runs killed at random, 2 at a point each"
