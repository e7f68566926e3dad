"""What is told of a micro-batch, whatever Spark says of its source."""

from types import SimpleNamespace

import pytest

from pipelines.streaming.progress import BatchListener

END = '{"t": {"0": 7, "1": 3}}'


def tell(*, end, latest):
    """Let Spark tell of a batch; return what the observer is told."""
    told = []
    listener = BatchListener("job", told.append, rows_name="points")
    listener.note_counts(4, rows=2, quarantined=1)
    source = SimpleNamespace(endOffset=end, latestOffset=latest)
    progress = SimpleNamespace(
        name="job", batchId=4, numInputRows=3, batchDuration=9, sources=[source]
    )
    listener.onQueryProgress(SimpleNamespace(progress=progress))
    return told


def test_the_lag_is_what_lies_behind_the_batch():
    [batch] = tell(end=END, latest='{"t": {"0": 9, "1": 3, "2": 5}}')
    assert batch.lag == 7


@pytest.mark.parametrize(
    "offset", [None, "", "null", "not available", "[1]", '{"t": {"0": 9'], ids=repr
)
def test_a_lag_that_spark_does_not_tell_is_unknown(offset):
    for end, latest in ((END, offset), (offset, END)):
        [batch] = tell(end=end, latest=latest)
        assert batch.lag is None
        assert batch.as_line().endswith("unknown lag")
