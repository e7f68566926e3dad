"""Who loses a conflict looks again, a bounded number of times."""

import pytest

from pipelines.delta_tables.retry import repeat_on_conflict
from pipelines.errors import TooManyConflicts


class ConcurrentAppendException(Exception):
    """What Delta raises, by its name."""


def fail(count, error=ConcurrentAppendException):
    """Return a write that fails so many times, and how often it was tried."""
    tried = []

    def write():
        tried.append(1)
        if len(tried) <= count:
            raise error
        return "written"

    return write, tried


def test_a_write_comes_through_where_others_have_ended():
    write, tried = fail(2)
    assert repeat_on_conflict(write, what="table t", attempts=3) == "written"
    assert len(tried) == 3


def test_who_never_comes_through_is_told_what_to_do():
    write, tried = fail(9)
    reason = "table t: others changed the same files 3 times; stop the job"
    with pytest.raises(TooManyConflicts, match=reason):
        repeat_on_conflict(write, what="table t", attempts=3, advice="stop the job")
    assert len(tried) == 3


def test_without_advice_the_conflict_itself_is_raised():
    write, tried = fail(9)
    with pytest.raises(ConcurrentAppendException):
        repeat_on_conflict(write, what="table t", attempts=2)
    assert len(tried) == 2


def test_what_is_no_conflict_is_not_tried_again():
    write, tried = fail(9, KeyError)
    with pytest.raises(KeyError):
        repeat_on_conflict(write, what="table t", advice="stop the job")
    assert len(tried) == 1
