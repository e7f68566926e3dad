"""A thousand secrets go into the bridge and the job, and stand nowhere after it.

`tests/long/config_canaries.py` does the same with as many as it is told.
"""

import pytest

from tests.long.config_canaries import run_canaries

CANARIES = 1_000


@pytest.mark.long
def test_no_secret_is_anywhere_on_disk(spark, kafka, tmp_path):
    found = run_canaries(spark, kafka, tmp_path, canaries=CANARIES)
    assert found.planted >= 4 * CANARIES * 0.9
    assert found.pushes > CANARIES / 10
    assert found.quarantined >= found.malformed >= CANARIES / 10
    assert found.answers > CANARIES / 10
    assert found.files_with_ordinary > 3
    assert found.leaks == []
