"""What is compacted and what may go, by numbers alone."""

from datetime import UTC, datetime

import pytest

from pipelines.delta_tables.compaction import Clusterings
from pipelines.delta_tables.old_versions import (
    FILES_PROPERTY,
    LOG_PROPERTY,
    parse_hours,
    plan_retention,
)
from pipelines.delta_tables.stored_files import WHOLE, StoredFile
from pipelines.jobs.maintain.planning import CompactionRules, judge_dates
from pipelines.jobs.maintain.results import (
    COMPACTION,
    FAILED,
    RETENTION,
    VACUUM,
    Action,
    Amount,
    Outcome,
    format_action,
)
from pipelines.jobs.maintain.retention import (
    NOTHING,
    Position,
    closed_rows,
    describe_old_rows,
    kept_rows,
    old_rows,
)
from pipelines.settings.retention import TableRetention
from pipelines.streaming.unread_records import UnreadRecords
from pipelines.tables.cluster import CLIENT_QUOTAS
from pipelines.tables.registry import ALL_CONTRACTS
from pipelines.tables.telemetry import CLIENT_METRICS, QUARANTINE
from pipelines.tables.traffic import CLIENT_TRAFFIC

RULES = CompactionRules(file_bytes=100, min_spare_files=8, quiet_minutes=60)
HOUR_MS = 3_600_000
NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1_000)
DAY = "2026-03-01"
UNKNOWN = Clusterings(ordered=frozenset(), since_ms=NOW_MS)
"""A history that no longer tells of the files."""


def files(count, size=10, *, hours_ago=5):
    return [StoredFile(size, NOW_MS - int(hours_ago * HOUR_MS))] * count


def judge(held, clusterings=UNKNOWN):
    return judge_dates(
        {DAY: held}, RULES, now_ms=NOW_MS, read_clusterings=lambda: clusterings
    )


@pytest.mark.parametrize(
    ("held", "is_due"),
    [
        (files(9), True),  # one would do: eight are spare
        (files(8), False),
        (files(20, 100), False),  # each is as large as it should be
        (files(20, 100) + files(15, 1), False),  # all would be written for a few
        (files(20, 100) + files(42, 1), True),
        (files(1), False),
        ([], False),
    ],
)
def test_a_date_is_compacted_for_its_spare_files(held, is_due):
    assert bool(judge(held) if held else []) == is_due


def test_what_compaction_leaves_is_not_compacted_again():
    for size_bytes in (1, 99, 101, 950, 12_345):
        needed = -(-size_bytes // RULES.file_bytes)
        assert judge(files(needed, size_bytes // needed)) == []


def test_a_date_that_was_never_put_in_order_is_where_the_history_tells():
    known = Clusterings(ordered=frozenset(), since_ms=NOW_MS - 6 * HOUR_MS)
    (found,) = judge(files(2), known)
    assert found.why == "never put in the order of its contract"
    assert judge(files(1), known) == []
    ordered = Clusterings(ordered=frozenset({DAY}), since_ms=known.since_ms)
    assert judge(files(2), ordered) == []


def test_a_date_that_is_written_to_is_left_alone_and_a_whole_table_is_not():
    (busy,) = judge(files(10, hours_ago=0.5))
    assert busy.is_left_alone
    assert busy.why == "10 files where 1 would do, but written to 30 minutes ago"
    (whole,) = judge_dates(
        {WHOLE: files(10, hours_ago=0)}, RULES, now_ms=NOW_MS, read_clusterings=None
    )
    assert not whole.is_left_alone


def test_describe_old_rows_of_quarantine_names_rows_dated_ahead():
    assert describe_old_rows(CLIENT_METRICS, 9) == "older than 9 days"
    assert describe_old_rows(QUARANTINE, 9) == (
        "older than 9 days or dated more than 100 years ahead"
    )


def test_rows_go_by_what_their_contract_says():
    kept = TableRetention(days=30, closed_days=7)
    assert old_rows(CLIENT_METRICS, kept, NOW) == "`event_date` < DATE'2026-03-01'"
    # A producer may have chosen a timestamp that never gets old.
    assert old_rows(QUARANTINE, kept, NOW) == (
        "(`event_date` < DATE'2026-03-01' OR `event_date` > DATE'2126-03-07')"
    )
    assert (
        old_rows(CLIENT_TRAFFIC, kept, NOW)
        == "`window_start` < TIMESTAMP'2026-03-01 12:00:00Z'"
    )
    assert (
        closed_rows(CLIENT_QUOTAS, kept, NOW)
        == "NOT is_current AND `valid_to` < TIMESTAMP'2026-03-24 12:00:00Z'"
    )
    for contract in (CLIENT_METRICS, CLIENT_QUOTAS):
        assert old_rows(contract, TableRetention(), NOW) == NOTHING
        assert closed_rows(contract, TableRetention(), NOW) == NOTHING


def test_what_jobs_need_stays():
    newest = {Position(topic="it's", partition=2): 7}
    place = r"(topic = 'it\'s' AND partition = 2 AND offset = 7)"
    assert kept_rows(CLIENT_METRICS, newest) == place
    assert kept_rows(QUARANTINE, newest) == (
        f"{place} OR reason IN ('data_loss', 'topic_made_anew')"
    )
    assert kept_rows(CLIENT_METRICS, {}) == NOTHING


@pytest.mark.parametrize("contract", ALL_CONTRACTS, ids=lambda one: one.name)
def test_what_contracts_say_of_rows_that_go_is_there(contract):
    kinds = {column.name: column.sql_type for column in contract.columns}
    assert [kinds[name] for name in contract.partition_by] in ([], ["DATE"])
    if contract.ages_by:
        assert kinds[contract.ages_by] in {"DATE", "TIMESTAMP"}
    if contract.closes_by:
        assert kinds[contract.closes_by] == "TIMESTAMP"
        assert "is_current" in kinds
    if contract.ends_with_instance:
        assert "client_instance_id" in contract.merge_key


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("interval 1 week", 168),
        ("interval 2 days 3 hours", 51),
        ("INTERVAL 30 DAYS", 720),
        ("interval 90 minutes", 1.5),
        ("interval 10 hours 30 minutes 1.5 seconds", pytest.approx(10.5, abs=0.001)),
        ("interval 0 seconds", 0),
        ("interval", None),
        ("interval 1 month", None),
    ],
)
def test_intervals_of_delta_are_read(text, hours):
    assert parse_hours(text) == hours


@pytest.mark.parametrize(
    ("files", "log", "hours", "planned"),
    [
        (None, None, (168, 720), None),
        (None, None, (168, 168), (168, 168)),
        (None, None, (48, 100), (48, 100)),
        ("2 hours", None, (168, 168), (168, 168)),
        ("5 minutes", "30 days", (168, 168), (168, "30 days")),
        ("1 month", "30 days", (168, 168), (168, "30 days")),
        ("168 hours", "168 hours", (168, 168), None),
        # Delta looks at the properties of one statement alone, the log never shorter.
        ("168 hours", "2000 hours", (1_000, 2_000), (1_000, 2_000)),
        ("168 hours", None, (1_000, 900), (1_000, 1_000)),
        # What its owner says more of stays, and the log that it needs.
        ("30 days", None, (168, 168), None),
        ("60 days", None, (168, 168), ("60 days", 1_440)),
        (None, "30 days", (168, 168), None),
    ],
)
def test_a_table_is_told_to_keep_what_it_does_not(files, log, hours, planned):
    names = FILES_PROPERTY, LOG_PROPERTY
    said = {n: f"interval {v}" for n, v in zip(names, (files, log), strict=True) if v}
    vacuum_hours, log_hours = hours
    wanted = plan_retention(said, vacuum_hours=vacuum_hours, log_hours=log_hours)
    if planned is None:
        assert wanted == {}
    else:
        assert wanted == {
            name: f"interval {one}" if isinstance(one, str) else f"interval {one} hours"
            for name, one in zip(names, planned, strict=True)
        }


def test_lines_say_what_was_done_and_to_what():
    action = Action(
        table="client_metrics",
        action=COMPACTION,
        why="10 files where 1 would do",
        started_at=NOW,
        seconds=1.25,
        partitions=["2026-03-02", "2026-03-01"],
        before=Amount(files=10, size_bytes=12_345),
        after=Amount(files=1, size_bytes=9_999),
    )
    assert format_action(action) == (
        "client_metrics: compacted 2 dates from 2026-03-01 to 2026-03-02, 10 files of "
        "12,345 bytes to 1 file of 9,999 bytes in 1.2 s: 10 files where 1 would do"
    )
    gone = Action(
        table="quarantine", action=RETENTION, why="old", started_at=NOW, rows_deleted=3
    )
    assert format_action(gone, is_dry_run=True) == (
        "quarantine: would delete 3 rows: old"
    )
    failed = Action(
        table="quarantine", action=VACUUM, why="busy", outcome=FAILED, started_at=NOW
    )
    assert format_action(failed) == "quarantine: vacuum failed: busy"
    outcome = Outcome(tables=["a", "b"], actions=[action, failed])
    assert outcome.has_failed
    assert outcome.summary() == "2 tables, 1 action done, 1 action failed"


def unread(**known):
    nothing = {"behind": 5, "deleted": 0, "aged": 0, "retention_ms": 168 * HOUR_MS}
    return UnreadRecords(job_name="job", topic="things", **nothing | known)


def test_what_a_topic_deletes_unread_is_loud():
    assert unread().as_line() == (
        "job, topic things: 5 records behind; the topic deletes after 168 h"
    )
    assert unread(retention_ms=None).as_line().endswith("nothing by age")
    untold = unread(retention_ms=None, is_told=False)
    assert untold.as_line().endswith("is told to who has DESCRIBE_CONFIGS on it")
    assert not unread().is_endangered
    aged, deleted = unread(aged=2), unread(aged=2, deleted=1_000)
    assert aged.is_endangered
    assert deleted.is_endangered
    assert aged.as_line().startswith(
        "!!! job, topic things: will delete what the job has not read: 2 of 5 "
        "records are older than 84 h of the 168 h that the topic keeps; start the job"
    )
    assert deleted.as_line().startswith(
        "!!! job, topic things: 1,000 records were deleted by retention before the job "
        "has read them, and 5 records are to be read"
    )
