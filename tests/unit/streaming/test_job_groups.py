"""When a job of a group is started again, and how soon."""

import pytest

from pipelines.errors import (
    DamagedTable,
    FullDisk,
    InvalidSetting,
    LostRecords,
    MissingService,
    MissingTable,
    TablesInUse,
    TooManyConflicts,
    UnsafeStart,
)
from pipelines.streaming.job_groups import (
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    STEADY_S,
    Pauses,
    takes_a_person,
)


def test_pauses_double_up_to_a_bound_and_begin_anew_after_a_steady_run():
    pauses = Pauses()
    assert [pauses.take(0.5) for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert (FIRST_PAUSE_S, LONGEST_PAUSE_S) == (1, 60)
    assert pauses.take(STEADY_S) == FIRST_PAUSE_S
    assert pauses.take(STEADY_S - 1) == 2


@pytest.mark.parametrize(
    "error", [FullDisk(), MissingService(), TooManyConflicts(), OSError()], ids=repr
)
def test_what_may_be_over_by_itself_is_tried_again(error):
    assert not takes_a_person(error, has_run=False)
    assert not takes_a_person(error, has_run=True)


@pytest.mark.parametrize(
    "error",
    [DamagedTable(), InvalidSetting(), LostRecords(), TablesInUse(), UnsafeStart()],
    ids=repr,
)
def test_a_start_that_is_refused_takes_a_person_and_an_end_asks_for_a_start(error):
    assert takes_a_person(error, has_run=False)
    assert not takes_a_person(error, has_run=True)


def test_a_table_that_was_deleted_below_a_job_is_not_made_anew_by_itself():
    assert takes_a_person(MissingTable(), has_run=True)
