"""Where a job reads from, and what it has read, in words."""

import pytest

from pipelines.streaming.progress import BatchProgress
from pipelines.streaming.run_stream import describe_offsets


@pytest.mark.parametrize(
    ("offsets", "words"),
    [
        ({0: -2, 1: -2}, "its oldest records"),
        ({1: 70, 0: 5, 2: -2}, "offsets (partition: first) 0: 5, 1: 70, 2: oldest"),
    ],
)
def test_offsets_are_told_by_partition(offsets, words):
    assert describe_offsets(offsets) == words


def test_one_of_a_kind_is_told_as_one():
    progress = BatchProgress(
        batch_id=7,
        records=1,
        rows=1,
        rows_name="points",
        quarantined=0,
        duration_ms=400,
        lag=1,
    )
    assert progress.as_line() == (
        "batch 7: 1 record, 1 point, 0 quarantined, 0.4 s, 1 record behind"
    )
